//! What happened, as one number to compare runs by, and as lines for whoever reads a failure.

use std::fmt::Write as _;

use super::plan::{HOUR, MINUTE, SECOND, Tick};
use crate::queue_sim::dice::mix;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    Kept,
    NotKept,
}

#[derive(Debug)]
pub struct Trace {
    hash: u64,
    length: u64,
    /// What is being hashed, as text; kept for its room.
    text: String,
    lines: Option<Vec<String>>,
}

impl Trace {
    pub fn new(lines: Lines) -> Self {
        Self { hash: 0, length: 0, text: String::new(), lines: (lines == Lines::Kept).then(Vec::new) }
    }

    /// Counts in the hash.
    pub fn add(&mut self, what: &impl std::fmt::Debug) {
        self.text.clear();
        write!(self.text, "{what:?}").expect("text in memory takes everything");
        self.length += self.text.len() as u64;
        let (words, rest) = self.text.as_bytes().as_chunks::<8>();
        for word in words {
            self.hash = stir(self.hash, *word);
        }
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        self.hash = stir(self.hash, word);
    }

    /// For people only; made only if somebody wants to read it.
    pub fn note(&mut self, at: Tick, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            let (h, m, s) = (at / HOUR, at / MINUTE % 60, at / SECOND % 60);
            lines.push(format!("{h:02}:{m:02}:{s:02}.{:03}  {}", at % SECOND, line()));
        }
    }

    pub fn hash(&self) -> u64 {
        mix(self.hash ^ self.length)
    }

    pub fn into_lines(self) -> Vec<String> {
        self.lines.unwrap_or_default()
    }
}

fn stir(hash: u64, word: [u8; 8]) -> u64 {
    let hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}
