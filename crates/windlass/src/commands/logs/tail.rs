//! Reads a file that others write, from its last lines on or from where somebody was.

use std::path::PathBuf;

use windlass_adapters::files;

use crate::error::CliError;

/// As much of the end of a file as is ever looked at for its last lines, and for the beginning of one line.
const MAX_TAIL: u64 = 8 << 20;
const READ_AT_ONCE: u64 = 1 << 20;

#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    offset: u64,
}

/// A line, and where in the file it begins and ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub start: u64,
    pub end: u64,
    pub text: String,
}

impl Tail {
    pub fn of(path: PathBuf) -> Self {
        Self { path, offset: 0 }
    }

    /// From the beginning of the line that this byte is the end of, or in which it lies. A file that is not so long has none.
    pub fn from_line_at(path: PathBuf, offset: u64) -> Result<Option<Self>, CliError> {
        let from = offset.saturating_sub(MAX_TAIL);
        let before = files::read_from(&path, from, offset - from)?.map_or_else(Vec::new, |part| part.bytes);
        if (before.len() as u64) < offset - from {
            return Ok(None);
        }
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
        Ok(Some(Self { path, offset: from + start }))
    }

    /// The last `n` complete lines. A file that is not there yet has none.
    pub fn last(&mut self, n: usize) -> Result<Vec<Line>, CliError> {
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
    pub fn more(&mut self) -> Result<Vec<Line>, CliError> {
        match files::read_from(&self.path, self.offset, READ_AT_ONCE)? {
            // A line longer than what is read at once is given in pieces, or it would never come.
            Some(part) if part.bytes.len() as u64 == READ_AT_ONCE && !part.bytes.contains(&b'\n') => {
                let start = self.offset;
                self.offset += READ_AT_ONCE;
                let text = String::from_utf8_lossy(&part.bytes).into_owned();
                Ok(vec![Line { start, end: self.offset, text }])
            }
            Some(part) => Ok(self.complete(&part.bytes, self.offset)),
            None => Ok(Vec::new()),
        }
    }

    fn complete(&mut self, bytes: &[u8], start: u64) -> Vec<Line> {
        self.offset = start;
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some(text) = piece.strip_suffix(b"\n") else { break };
            let (start, end) = (self.offset, self.offset + piece.len() as u64);
            lines.push(Line { start, end, text: String::from_utf8_lossy(text).into_owned() });
            self.offset = end;
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn texts(lines: Vec<Line>) -> Vec<String> {
        lines.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn only_whole_lines_are_given_and_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut tail = Tail::of(path.clone());
        assert!(tail.last(5).unwrap().is_empty() && tail.more().unwrap().is_empty());
        let mut file = std::fs::File::create(&path).unwrap();
        file.write_all(b"1\n2\n3\nhal").unwrap();
        assert_eq!(texts(tail.last(2).unwrap()), ["2", "3"]);
        assert!(tail.more().unwrap().is_empty());
        file.write_all(b"f\n\n4\n").unwrap();
        assert_eq!(texts(tail.more().unwrap()), ["half", "", "4"]);
        assert!(tail.more().unwrap().is_empty());
        assert_eq!(texts(Tail::of(path).last(1).unwrap()), ["4"]);
    }

    #[test]
    fn a_line_is_found_again_by_its_end_and_by_what_lies_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "one\ntwo\nthr").unwrap();
        let from = |at| Tail::from_line_at(path.clone(), at).unwrap().map(|mut tail| tail.more().unwrap());
        let line = |start, end, text: &str| Line { start, end, text: text.into() };
        assert_eq!(from(0), Some(vec![line(0, 4, "one"), line(4, 8, "two")]));
        assert_eq!(from(4), Some(vec![line(4, 8, "two")]));
        assert_eq!(from(6), from(4));
        assert_eq!((from(8), from(11)), (Some(vec![]), Some(vec![])), "the last line is not whole yet");
        assert_eq!(from(12), None, "it is beyond the end");
        assert!(Tail::from_line_at(folder.path().join("none"), 0).unwrap().is_some());
    }

    /// Such a line comes in pieces, and a reader who was behind the first one finds the second.
    #[test]
    fn a_line_that_is_too_long_to_be_read_at_once_is_cut_at_the_same_places_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let long = usize::try_from(READ_AT_ONCE).unwrap() + 5;
        std::fs::write(&path, format!("a\n{}\n", "x".repeat(long))).unwrap();
        let mut tail = Tail::of(path.clone());
        assert_eq!(texts(tail.more().unwrap()), ["a"]);
        let first = tail.more().unwrap();
        assert_eq!((first[0].start, first[0].end), (2, 2 + READ_AT_ONCE));
        let again = Tail::from_line_at(path, first[0].end).unwrap().unwrap().more().unwrap();
        assert_eq!(again, first);
        assert_eq!(texts(tail.more().unwrap()), ["xxxxx"]);
    }
}
