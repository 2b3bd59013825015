//! The part of a failed step's log that is said to the agent.

use super::clean;

const MAX_LINES: usize = 50;
const MAX_BYTES: usize = 8_000;
const LINES_CUT: &str = "[earlier lines left out]\n";
const LINE_CUT: &str = "[start of a long line left out] ";

/// The last lines, 50 and 8,000 bytes at most with the marker, without control characters.
pub fn excerpt(log: &str) -> String {
    let mut kept: Vec<String> = Vec::new();
    let mut room = MAX_BYTES - LINES_CUT.len();
    let mut lines = log.trim_end().rsplit('\n');
    let mut cut = false;
    for line in lines.by_ref().take(MAX_LINES) {
        let line = shown(line);
        if line.len() + 1 > room {
            // Only a last line that is too long by itself is cut inside; the others go whole.
            cut = !kept.is_empty();
            if kept.is_empty() {
                kept.push(tail(&line, room - LINE_CUT.len()));
                cut = lines.next().is_some();
            }
            break;
        }
        room -= line.len() + 1;
        kept.push(line);
    }
    kept.reverse();
    let text = kept.join("\n");
    if cut || lines.next().is_some() { format!("{LINES_CUT}{text}") } else { text }
}

/// A line as it stood on the screen at last, after all redrawing.
fn shown(line: &str) -> String {
    let line = clean::clean(line.trim_end_matches('\r'));
    let last = line.rsplit('\n').next().unwrap_or_default();
    last.chars().filter(|c| *c == '\t' || !c.is_control()).collect()
}

fn tail(line: &str, bytes: usize) -> String {
    let start = line.len().saturating_sub(bytes);
    let start = (start..=line.len()).find(|at| line.is_char_boundary(*at)).unwrap_or(line.len());
    format!("{LINE_CUT}{}", &line[start..])
}
