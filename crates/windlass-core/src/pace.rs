//! How fast a model answers, against how fast it answered at first: one that gets slow may have too much to read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::Millis;

/// So many answers say what is usual for a conversation.
const FIRST: usize = 5;
/// And so many how it is now; one slow answer is no news.
const LAST: usize = 3;

/// The answers of one conversation, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Pace {
    /// The model was asked then, and has not answered.
    asked: Option<Millis>,
    answers: u32,
    first: [u32; FIRST],
    last: [u32; LAST],
}

impl Pace {
    pub fn asked(&mut self, at: Millis) {
        self.asked = Some(at);
    }

    /// An answer to a question that nobody saw says nothing.
    pub fn answered(&mut self, at: Millis) {
        // Before the question: another tool of the same answer, which was used at the same time.
        let Some(asked) = self.asked.take_if(|asked| *asked < at) else { return };
        let took = u32::try_from(at.since(asked).0).unwrap_or(u32::MAX);
        if let Some(place) = self.first.get_mut(self.answers as usize) {
            *place = took;
        }
        self.last.rotate_left(1);
        self.last[LAST - 1] = took;
        self.answers = self.answers.saturating_add(1);
    }

    /// Whether the last answers took so many times as long as the first.
    pub fn is_slow(&self, factor: u32) -> bool {
        let known = self.answers as usize >= FIRST + LAST;
        known && u64::from(middle(self.last)) > u64::from(middle(self.first).max(1)) * u64::from(factor)
    }
}

fn middle<const N: usize>(mut times: [u32; N]) -> u32 {
    times.sort_unstable();
    times[N / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_slow_when_most_of_its_last_answers_are() {
        let mut pace = Pace::default();
        let mut now = 0;
        let mut answer = |took: i64| {
            pace.asked(Millis(now));
            now += took;
            pace.answered(Millis(now));
            pace.is_slow(3)
        };
        for usual in [100, 90, 5_000, 110, 100] {
            assert!(!answer(usual), "nothing is known yet");
        }
        assert!(![9_000, 100, 290].map(&mut answer).contains(&true), "one slow answer is no news");
        assert_eq!([400, 400, 400].map(&mut answer), [false, true, true]);
        assert_eq!([100, 100].map(&mut answer), [true, false], "and it may recover");
        let mut both = Pace::default();
        both.asked(Millis(100));
        both.answered(Millis(90));
        assert_eq!(
            (both.answers, both.asked),
            (0, Some(Millis(100))),
            "of two tools at once the second says nothing"
        );
        let mut unseen = Pace::default();
        unseen.answered(Millis(9));
        assert_eq!(unseen, Pace::default());
    }
}
