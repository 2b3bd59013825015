//! One daemon from its start to its end, while people act from outside.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::points::Line;
use super::stage::{Stage, now_ms};

/// Far above what a scenario needs, also on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at a daemon.
const PAUSE: Duration = Duration::from_millis(2);
const SIGKILL: i32 = 9;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Killed,
    /// By itself, because nothing was left to do.
    Idle,
    Failed(i32),
    /// Never; it was ended by us.
    Hung,
}

#[derive(Debug)]
pub struct Life {
    pub ended: Ended,
    pub trace: Vec<Line>,
    /// From the start of one that had a predecessor to the first thing that it did, in milliseconds.
    pub recovered: Option<f64>,
    /// Effects that were broken.
    pub broken: u32,
    pub took: Duration,
}

impl Stage {
    /// Lives until everything is done, or until it is killed. An effect that is to hang has it killed by us.
    pub fn live(&mut self, orders: &[(&str, &str)]) -> Life {
        self.lives += 1;
        let trace = self.path(&format!("trace-{}", self.lives));
        let hangs = orders.iter().any(|(_, order)| order.ends_with(":hang"));
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.path("daemon.log"));
        let mut command = self.command(&["up", "--foreground", "--quiet"]);
        command.stdout(Stdio::null()).stderr(log.expect("the log can be written"));
        command
            .env("WINDLASS_UNTIL_IDLE", "1")
            .env("WINDLASS_CRASH_TRACE", &trace)
            .envs(orders.iter().copied());
        let (begun, at) = (Instant::now(), now_ms());
        let daemon = command.spawn().expect("the daemon can be started");
        let ended = self.watch(daemon, hangs);
        let text = std::fs::read_to_string(&trace).unwrap_or_default();
        let trace: Vec<Line> = text.lines().filter_map(Line::parse).collect();
        let recovered = (self.lives > 1).then(|| recovery(&trace, at)).flatten();
        let broken = u32::try_from(text.lines().filter(|line| line.starts_with("fault")).count());
        Life { ended, trace, recovered, broken: broken.unwrap_or(0), took: begun.elapsed() }
    }

    fn watch(&mut self, mut daemon: Child, hangs: bool) -> Ended {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = daemon.try_wait().expect("the daemon is our child") {
                return ended(status);
            }
            let hung = hangs && self.path(&format!("trace-{}", self.lives)).exists() && self.is_hanging();
            if hung || Instant::now() > until {
                daemon.kill().expect("the daemon is our child");
                daemon.wait().expect("the daemon is our child");
                return if hung { Ended::Killed } else { Ended::Hung };
            }
            self.let_people_act();
            std::thread::park_timeout(PAUSE);
        }
    }

    fn is_hanging(&self) -> bool {
        let trace = std::fs::read_to_string(self.path(&format!("trace-{}", self.lives)));
        trace.is_ok_and(|text| text.lines().any(|line| line.starts_with("fault")))
    }
}

fn ended(status: ExitStatus) -> Ended {
    match (status.signal(), status.code()) {
        (Some(SIGKILL), _) => Ended::Killed,
        (_, Some(0)) => Ended::Idle,
        (_, code) => Ended::Failed(code.unwrap_or(-1)),
    }
}

/// The first point behind the start's own commit; of a daemon with nothing to do, its last.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of one run")]
fn recovery(trace: &[Line], spawned: i64) -> Option<f64> {
    let own = |line: &&Line| !line.is_start();
    let first = trace.iter().find(own).or(trace.last())?;
    Some((first.at - spawned) as f64)
}
