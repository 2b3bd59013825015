//! The merge queue's rules, without a repository and without time.

mod people;
mod plan;
mod property;
mod support;
