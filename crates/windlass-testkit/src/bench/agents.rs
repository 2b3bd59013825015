//! The agents of the benchmarks: they do next to nothing, so that what is measured is the factory.

use std::path::{Path, PathBuf};

use super::error::BenchError;
use super::factory::{now_ms, sh};
use super::place::Place;

/// The word by which this program is asked to play the agent of `timed_asker`.
pub const TIMED_ASKER: &str = "play-timed-asker";

/// Commits one file that no other task has, and signals.
pub fn dev() -> Vec<String> {
    sh("n=${WINDLASS_SESSION#dev-}
echo \"$n\" > \"work-$n.txt\"
git add \"work-$n.txt\" && git commit --quiet --message=\"work $n\"
echo PHASE:awaiting_ci > \"$WINDLASS_PHASE_FILE\"")
}

/// Changes one file of a sample repository that no other task changes, and signals.
pub fn editor() -> Vec<String> {
    sh("n=${WINDLASS_SESSION#dev-}; n=${n%%.*}
echo \"line of task $n\" >> \"part-$n/file-$((n * 50)).txt\"
git commit --quiet --all --message=\"work $n\"
echo PHASE:awaiting_ci > \"$WINDLASS_PHASE_FILE\"")
}

/// Approves whatever is checked out.
pub fn critic() -> Vec<String> {
    sh("read -r head < .git/HEAD
printf '{\"head\":\"%s\",\"verdict\":\"APPROVE\"}' \"$head\" > \"$WINDLASS_VERDICT_FILE\"")
}

/// Asks a person and ends.
pub fn asker() -> Vec<String> {
    sh("printf 'PHASE:escalate\\nReason: which colour?\\n' > \"$WINDLASS_PHASE_FILE\"")
}

/// The same, noting in a file of `folder` named by its session when it signalled.
pub fn timed_asker(place: &Place, folder: &Path) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    vec![text(&place.bench), TIMED_ASKER.to_owned(), text(folder)]
}

/// This program as that agent: a shell could not tell the time so well.
pub fn play_timed_asker(folder: &Path) -> Result<(), BenchError> {
    let given = |name: &str| PathBuf::from(std::env::var_os(name).unwrap_or_default());
    let (phase, note) = (given("WINDLASS_PHASE_FILE"), folder.join(given("WINDLASS_SESSION")));
    let before = now_ms();
    std::fs::write(&phase, "PHASE:escalate\nReason: which colour?\n")
        .map_err(BenchError::io("write", &phase))?;
    std::fs::write(&note, before.to_string()).map_err(BenchError::io("write", &note))
}
