//! A person commits on main in the checkout, and the factory on its own.

use crate::crew::{APPROVES, config, crew};
use crate::works::Works;

/// Writes down which files it found.
const LOOKS: &str = "ls > seen-$n; ready";

fn commit(works: &Works, name: &str) {
    works.machine.write(name, "mine\n");
    works.machine.git(&["add", "--all"]);
    works.machine.git(&["commit", "-q", "-m", name]);
}

#[test]
fn what_a_person_commits_is_what_the_factory_builds_on() {
    let mut works = crew(&config("true", ""), APPROVES, &[LOOKS]);
    commit(&works, "before-it-starts");
    works.up();
    let mut log = works.log();
    log.wait_merged(1);
    assert!(works.git(&["show", "main:seen-1"]).contains("before-it-starts"));
    // The checkout lacks what landed: its next commit waits until a person brings the two together.
    commit(&works, "beside-it");
    works.wait_until("the parting to be seen", || {
        works.machine.json(&["doctor", "--quick"])["checks"].to_string().contains("1 of yours wait")
    });
    let repo = works.repo();
    works.machine.git(&["pull", "-q", "--no-rebase", "--no-edit", repo.to_str().unwrap(), "main"]);
    let merged = works.machine.git(&["rev-parse", "main"]).trim().to_owned();
    works.wait_until("the merge to be taken over", || works.git(&["rev-parse", "main"]) == merged);
    // The change of the first has number 2.
    works.script("3.sh", LOOKS);
    assert_eq!(works.new_issue("second", ""), 3);
    log.wait_merged(3);
    assert!(works.git(&["show", "main:seen-3"]).contains("beside-it"));
    works.down();
}
