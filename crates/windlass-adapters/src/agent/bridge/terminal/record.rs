//! What the terminal shows, kept in the session's folder: the last few megabytes, to be looked at when it is closed.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ChildStdout;

/// What was shown last, and what was shown before that.
pub const SCREEN: [&str; 2] = ["screen.log", "screen.old.log"];

/// Of each of the two files.
const MAX_BYTES: u64 = 4 << 20;

/// Keeps what a control client of tmux tells, until the server is gone.
pub(super) fn keep(from: ChildStdout, folder: &Path) -> io::Result<()> {
    let mut record = Record::open(folder, MAX_BYTES)?;
    std::thread::Builder::new()
        .name("screen".into())
        .spawn(move || {
            let mut line = Vec::new();
            let mut from = BufReader::new(from);
            while from.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                // A full disk must not end the agent: what is not kept is only not kept.
                drop(shown(&line).map(|bytes| record.put(&bytes)));
                line.clear();
            }
        })
        .map(drop)
}

#[derive(Debug)]
struct Record {
    folder: PathBuf,
    file: File,
    max: u64,
}

impl Record {
    fn open(folder: &Path, max: u64) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(folder.join(SCREEN[0]))?;
        Ok(Self { folder: folder.to_owned(), file, max })
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.metadata()?.len() + bytes.len() as u64 > self.max {
            std::fs::rename(self.folder.join(SCREEN[0]), self.folder.join(SCREEN[1]))?;
            *self = Self::open(&self.folder, self.max)?;
        }
        self.file.write_all(bytes)
    }
}

/// The bytes of a line `%output %0 text`, in which control characters and backslashes are octal numbers.
fn shown(line: &[u8]) -> Option<Vec<u8>> {
    let rest = line.strip_prefix(b"%output ")?;
    let at = rest.iter().position(|byte| *byte == b' ')? + 1;
    let text = rest[at..].strip_suffix(b"\n").unwrap_or(&rest[at..]);
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text;
    while let Some((first, rest)) = left.split_first() {
        let octal =
            rest.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                left = &rest[3..];
            }
            None => {
                bytes.push(*first);
                left = rest;
            }
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_shown_is_kept_as_it_was_and_the_oldest_goes_first() {
        assert_eq!(
            shown("%output %12 a\\033[1m\\134 ü\\015\\012\n".as_bytes()).unwrap(),
            "a\x1b[1m\\ ü\r\n".as_bytes()
        );
        assert_eq!(shown(b"%begin 1 2 3\n"), None);
        let folder = tempfile::tempdir().unwrap();
        let mut record = Record::open(folder.path(), 10).unwrap();
        for nth in 0..5 {
            record.put(format!("line {nth}").as_bytes()).unwrap();
        }
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!((read(SCREEN[1]), read(SCREEN[0])), ("line 3".to_owned(), "line 4".to_owned()));
    }
}
