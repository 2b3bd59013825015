//! One source that is read to its end, and then the one that came after it.

use std::collections::VecDeque;

use super::Args;
use super::places::{self, Place, Since};
use super::render::{self, Said};
use super::tail::{Line, Tail};
use crate::error::CliError;
use crate::out::Out;

#[derive(Debug)]
pub struct Source {
    place: Place,
    tail: Tail,
    /// What ends here or before was read already.
    after: u64,
}

impl Source {
    pub fn new(place: Place) -> Self {
        let tail = Tail::of(place.path.clone());
        Self { place, tail, after: 0 }
    }

    pub fn since(place: Place, since: &Since) -> Result<Self, CliError> {
        let tail = Tail::from_line_at(place.path.clone(), since.seq)?;
        let name = &place.name;
        let tail = tail.ok_or_else(|| since.is_nowhere(&format!("{name} has not said so much")))?;
        Ok(Self { place, tail, after: since.seq })
    }

    /// The last lines of the past.
    pub fn begin(&mut self, args: &Args, out: &mut Out) -> Result<(), CliError> {
        let lines = match &args.grep {
            None => self.tail.last(args.tail)?,
            Some(_) => self.last_found(args)?,
        };
        if lines.is_empty() && args.tail > 0 {
            let nothing = if args.grep.is_some() { "nothing like it" } else { "nothing" };
            out.talk(&format!("{} has said {nothing} yet", self.place.name));
        }
        self.print(args, &lines, out)
    }

    /// All of the source is looked through, however long it is.
    fn last_found(&mut self, args: &Args) -> Result<Vec<Line>, CliError> {
        let mut found = VecDeque::new();
        loop {
            let lines = self.tail.more()?;
            if lines.is_empty() {
                return Ok(found.into());
            }
            found.extend(lines.into_iter().filter(|line| !self.said(args, line).is_empty()));
            found.drain(..found.len().saturating_sub(args.tail));
        }
    }

    /// One look; says whether there was more. When there is not, what was begun after it is the source from then on.
    pub fn go_on(&mut self, args: &Args, places: Vec<Place>, out: &mut Out) -> Result<bool, CliError> {
        let lines = self.tail.more()?;
        self.print(args, &lines, out)?;
        if !lines.is_empty() {
            return Ok(true);
        }
        let next = places::after(&self.place.name, places);
        let more = next.is_some();
        if let Some(place) = next {
            *self = Self::new(place);
        }
        Ok(more)
    }

    fn print(&self, args: &Args, lines: &[Line], out: &mut Out) -> Result<(), CliError> {
        for line in lines {
            for said in self.said(args, line) {
                if args.raw {
                    out.must_be_whole()?;
                    out.line(&said.text)?;
                } else {
                    render::show(out, &self.place.name, &said)?;
                }
            }
        }
        out.flush()
    }

    fn said(&self, args: &Args, line: &Line) -> Vec<Said> {
        let format = if args.raw { render::Format::Plain } else { self.place.format };
        let mut said = render::said(format, line);
        let wanted = args.grep.as_ref().map(|text| text.to_lowercase());
        let is_wanted =
            |said: &Said| wanted.as_ref().is_none_or(|text| said.text.to_lowercase().contains(text));
        said.retain(|said| said.seq > self.after && is_wanted(said));
        said
    }
}
