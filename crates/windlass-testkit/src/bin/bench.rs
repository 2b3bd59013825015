//! Runs one benchmark by name and prints its figures. `./bench` builds and starts it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[path = "../bench/mod.rs"]
mod bench;

use bench::error::BenchError;
use bench::place::{Place, last_results};
use bench::{BENCHES, Bench, Wishes, agents, find, readme, talk};

const HELP: &str = "Measures Windlass: the one way to all figures.

  ./bench NAME [--json]     measure; a table, or one JSON object
  ./bench NAME --build      also what takes minutes: a build from nothing
  ./bench queue --seeds N   simulate so many days in all
  ./bench figures           write the last results into README.md
  ./bench --list            name the benchmarks
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        [agents::TIMED_ASKER, folder] => {
            ended(agents::play_timed_asker(Path::new(folder)).map(|()| ExitCode::SUCCESS))
        }
        ["--list"] => {
            for bench in &BENCHES {
                println!("{:<10}  {}", bench.name, bench.what);
            }
            ExitCode::SUCCESS
        }
        ["--help" | "-h"] => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        ["figures"] => ended(figures()),
        [name, flags @ ..] => named(name, flags),
        [] => usage("which benchmark?"),
    }
}

fn named(name: &str, flags: &[&str]) -> ExitCode {
    let Some(bench) = find(name) else { return usage(&format!("there is no benchmark `{name}`")) };
    let (mut wishes, mut json) = (Wishes::default(), false);
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        match *flag {
            "--json" => json = true,
            "--build" => wishes.build = true,
            "--seeds" => match flags.next().and_then(|n| n.parse().ok()) {
                Some(seeds) => wishes.seeds = Some(seeds),
                None => return usage("`--seeds` takes a number"),
            },
            other => return usage(&format!("there is no option `{other}`")),
        }
    }
    ended(measure(bench, wishes, json))
}

fn measure(bench: &Bench, wishes: Wishes, json: bool) -> Result<ExitCode, BenchError> {
    let place = Place::find(&here()?)?;
    let sheet = (bench.measure)(&place, &wishes)?;
    let text = format!("{:#}\n", sheet.json());
    let path = place.results.join(format!("{}.json", bench.name));
    std::fs::write(&path, &text).map_err(BenchError::io("write", &path))?;
    print!("{}", if json { text } else { sheet.table() });
    Ok(if sheet.all_met() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn figures() -> Result<ExitCode, BenchError> {
    readme::write(&last_results()?, &here()?.join("README.md"))?;
    Ok(ExitCode::SUCCESS)
}

/// `./bench` starts us in the project's own checkout.
fn here() -> Result<PathBuf, BenchError> {
    std::env::current_dir().map_err(BenchError::io("find", Path::new(".")))
}

fn ended(result: Result<ExitCode, BenchError>) -> ExitCode {
    result.unwrap_or_else(|error| {
        let mut source = std::error::Error::source(&error);
        let mut text = error.to_string();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        talk(&text);
        ExitCode::FAILURE
    })
}

fn usage(problem: &str) -> ExitCode {
    let known: Vec<&str> = BENCHES.iter().map(|bench| bench.name).collect();
    talk(&format!("{problem}; known are: {}, figures", known.join(", ")));
    ExitCode::from(2)
}
