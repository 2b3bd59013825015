//! Reads test names, counts and the kind of a failure out of CI output.
