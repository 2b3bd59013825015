//! Files of one JSON value a line, written by one and read by another while either may be killed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files::{self, FileError};

/// How much of a file one call reads.
const READ_AT_ONCE: u64 = 16 << 20;

/// Opens a file of lines for appending. A line that a crash left unfinished is closed, so it spoils no other.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    mend(&mut file)?;
    Ok(file)
}

/// Closes an unfinished last line.
pub(super) fn mend(file: &mut File) -> io::Result<()> {
    let len = file.metadata()?.len();
    if len > 0 {
        let mut last = [0];
        file.seek(SeekFrom::Start(len - 1))?;
        file.read_exact(&mut last)?;
        if last != *b"\n" {
            file.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// One line, in one write.
pub(super) fn append<T: Serialize>(file: &mut File, value: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// Complete lines from `offset` on, and where to go on. An unfinished last line is left for the next time.
pub(crate) fn lines(path: &Path, offset: u64) -> Result<(Vec<String>, u64), FileError> {
    let Some(part) = files::read_from(path, offset, READ_AT_ONCE)? else { return Ok((Vec::new(), offset)) };
    let Some(end) = part.bytes.iter().rposition(|byte| *byte == b'\n') else {
        return Ok((Vec::new(), offset));
    };
    let text = String::from_utf8_lossy(&part.bytes[..end]);
    let lines = text.split('\n').map(str::to_owned).collect();
    Ok((lines, offset + end as u64 + 1))
}

/// Values from `offset` on. A line that is no such value is what is left of a torn write, and skipped.
pub(crate) fn values<T: DeserializeOwned>(path: &Path, offset: u64) -> Result<(Vec<T>, u64), FileError> {
    let (lines, next) = lines(path, offset)?;
    Ok((lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect(), next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_waited_for_and_then_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "1\n2\n[3, 4").unwrap();
        let (found, next) = values::<i32>(&path, 0).unwrap();
        assert_eq!((found, next), (vec![1, 2], 4));
        append(&mut open(&path).unwrap(), &5).unwrap();
        let (found, next) = values::<i32>(&path, next).unwrap();
        assert_eq!((found, next), (vec![5], 12));
        assert_eq!(values::<i32>(&path, next).unwrap(), (vec![], 12));
    }
}
