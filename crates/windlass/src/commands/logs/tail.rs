//! Reads a file that others write, from its last lines on.

use std::path::PathBuf;

use windlass_adapters::files;

use crate::error::CliError;

/// As much of the end of a file as is ever looked at for its last lines.
const MAX_TAIL: u64 = 8 << 20;
const READ_AT_ONCE: u64 = 1 << 20;

#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    offset: u64,
}

impl Tail {
    pub fn of(path: PathBuf) -> Self {
        Self { path, offset: 0 }
    }

    /// The last `n` complete lines. A file that is not there yet has none.
    pub fn last(&mut self, n: usize) -> Result<Vec<String>, CliError> {
        let Some(part) = files::read_tail(&self.path, MAX_TAIL)? else { return Ok(Vec::new()) };
        let start = part.file_len - part.bytes.len() as u64;
        let mut lines = self.complete(&part.bytes, start);
        if start > 0 && !lines.is_empty() {
            // It began somewhere before.
            lines.remove(0);
        }
        Ok(lines.split_off(lines.len().saturating_sub(n)))
    }

    /// Complete lines since the last call.
    pub fn more(&mut self) -> Result<Vec<String>, CliError> {
        match files::read_from(&self.path, self.offset, READ_AT_ONCE)? {
            // A line longer than what is read at once is given in pieces, or it would never come.
            Some(part) if part.bytes.len() as u64 == READ_AT_ONCE && !part.bytes.contains(&b'\n') => {
                self.offset += READ_AT_ONCE;
                Ok(vec![String::from_utf8_lossy(&part.bytes).into_owned()])
            }
            Some(part) => Ok(self.complete(&part.bytes, self.offset)),
            None => Ok(Vec::new()),
        }
    }

    fn complete(&mut self, bytes: &[u8], start: u64) -> Vec<String> {
        let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            self.offset = start;
            return Vec::new();
        };
        self.offset = start + end as u64 + 1;
        bytes[..end]
            .split(|byte| *byte == b'\n')
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn only_whole_lines_are_given_and_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut tail = Tail::of(path.clone());
        assert!(tail.last(5).unwrap().is_empty() && tail.more().unwrap().is_empty());
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(b"1\n2\n3\nhal").unwrap();
        assert_eq!(tail.last(2).unwrap(), ["2", "3"]);
        assert!(tail.more().unwrap().is_empty());
        file.write_all(b"f\n\n4\n").unwrap();
        assert_eq!(tail.more().unwrap(), ["half", "", "4"]);
        assert!(tail.more().unwrap().is_empty());
        assert_eq!(Tail::of(path).last(1).unwrap(), ["4"]);
    }
}
