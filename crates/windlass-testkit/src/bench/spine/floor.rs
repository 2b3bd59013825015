//! The floor under a task: the git commands that it cannot do without, one after the other and nothing else.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::bench::error::BenchError;
use crate::bench::place::{Place, run};
use crate::bench::sample::git;

#[derive(Debug)]
pub struct Floor<'a> {
    place: &'a Place,
    folder: PathBuf,
    bare: PathBuf,
}

impl<'a> Floor<'a> {
    /// A bare repository of its own, made from the same checkout as the factory's.
    pub fn new(place: &'a Place, folder: &Path, repo: &Path) -> Result<Self, BenchError> {
        let folder = folder.join("floor");
        std::fs::create_dir_all(&folder).map_err(BenchError::io("make", &folder))?;
        let bare = folder.join("repo.git");
        run(git(place, &folder).args(["clone", "--quiet", "--bare"]).args([repo, &bare]))?;
        Ok(Self { place, folder, bare })
    }

    /// Clone, commit, fetch, merge, land. The clone stays: tidying up is not part of it.
    pub fn task(&self, nth: usize) -> Result<Duration, BenchError> {
        let clone = self.folder.join(format!("clone-{nth}"));
        let file = format!("work-{nth}.txt");
        let work = format!("refs/heads/work-{nth}");
        let start = Instant::now();
        run(git(self.place, &self.folder).args(["clone", "--quiet", "--shared"]).args([&self.bare, &clone]))?;
        std::fs::write(clone.join(&file), &file).map_err(BenchError::io("write in", &clone))?;
        run(git(self.place, &clone).args(["add", &file]))?;
        run(git(self.place, &clone).args(["commit", "--quiet", "--message=work"]))?;
        self.bare(&["fetch", "--quiet", &clone.to_string_lossy(), &format!("main:{work}")])?;
        let tree = self.bare(&["merge-tree", "--write-tree", "main", &work])?;
        let merge = self.bare(&["commit-tree", &tree, "-p", "main", "-p", &work, "-m", "merge"])?;
        self.bare(&["update-ref", "refs/heads/main", &merge])?;
        Ok(start.elapsed())
    }

    fn bare(&self, args: &[&str]) -> Result<String, BenchError> {
        run(git(self.place, &self.bare).args(args)).map(|text| text.trim().to_owned())
    }
}
