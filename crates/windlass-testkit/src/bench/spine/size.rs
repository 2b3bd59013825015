//! How large the program is, and how long it takes to build from nothing.

use std::path::Path;
use std::time::Instant;

use crate::bench::error::BenchError;
use crate::bench::place::{Place, run};
use crate::bench::sheet::{Op, Sheet};
use crate::bench::{Wishes, talk};

pub fn measure(place: &Place, wishes: &Wishes) -> Result<Sheet, BenchError> {
    let found = place.windlass.metadata().map_err(BenchError::io("look at", &place.windlass))?;
    #[expect(clippy::cast_precision_loss, reason = "a program has no 2^53 bytes")]
    let megabytes = found.len() as f64 / 1e6;
    let mut sheet = Sheet::new("spine");
    sheet.figure_with_goal("binary_mb", megabytes, Op::Below, 25.0, "the program, stripped");
    if wishes.build {
        talk("a release build from nothing; takes minutes");
        let what = "cargo build --release from nothing, sources of all packages at hand";
        sheet.figure_with_goal("build_s", build(place)?, Op::AtMost, 360.0, what);
    }
    Ok(sheet)
}

fn build(place: &Place) -> Result<f64, BenchError> {
    let target = place.folder()?;
    let mut cargo = place.command(Path::new("cargo"), &place.root);
    // Where the compiler and the packages' sources lie, if not in the usual place.
    for name in ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        if let Some(value) = std::env::var_os(name) {
            cargo.env(name, value);
        }
    }
    cargo.args(["build", "--release", "--locked", "--package=windlass", "--target-dir"]).arg(target);
    let start = Instant::now();
    run(&mut cargo)?;
    Ok(start.elapsed().as_secs_f64())
}
