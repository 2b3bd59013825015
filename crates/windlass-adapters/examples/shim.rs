//! What `windlass shim <folder>` does, for the tests of this crate.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let folder = std::env::args_os().nth(2).map(PathBuf::from).unwrap_or_default();
    windlass_adapters::shim::run(&folder)
}
