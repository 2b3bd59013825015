//! A session that cannot be stopped: people are told of it until it is gone, though its task has ended.

use serde_json::Value;

use crate::crew::{APPROVES, abandoned, config, crew};
use crate::works::Works;

const STAYS: &str = "work; echo $$ > $here/agent.tmp; mv $here/agent.tmp $here/agent; exec sleep 1000";

fn unstopped(works: &Works) -> Option<Value> {
    let items = works.machine.json(&["inbox"])["items"].clone();
    items.as_array().unwrap().iter().find(|item| item["kind"] == "unstopped").cloned()
}

#[test]
fn a_session_that_cannot_be_stopped_is_named_until_its_process_is_gone() {
    let mut works = crew(&config("true", ""), APPROVES, &[STAYS]);
    works.up();
    works.wait_note("agent");
    // Where its folder should be there is another, in which the word to stop cannot be written.
    let folder = works.machine.state().join("sessions/dev-1.1-1");
    let aside = works.machine.path("aside");
    std::fs::rename(&folder, &aside).unwrap();
    std::fs::create_dir_all(folder.join("stop")).unwrap();
    works.must(&["abandon", "1"]);
    assert_eq!(works.log().wait_end(1), abandoned("operator"));
    works.wait_until("a word about it", || unstopped(&works).is_some());
    let (item, pid) = (unstopped(&works).unwrap(), works.note("agent").trim().to_owned());
    assert_eq!((&item["issue"], &item["title"]), (&1.into(), &"dev-1.1-1 cannot be stopped".into()));
    for part in ["Is a directory", "; left: ", &format!("{pid} sleep 1000")] {
        assert!(item["text"].as_str().unwrap().contains(part), "`{part}` in {item}");
    }
    let next = item["next"].as_str().unwrap();
    assert!(next.starts_with("kill -KILL ") && next.contains(&pid), "{item}");
    let doctor = works.machine.run(&["doctor", "--quick"]).out;
    assert!(doctor.contains("dev-1.1-1 cannot be stopped: "), "{doctor}");
    // Nothing was given up: it is stopped as soon as it can be, and nobody is told any more.
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::rename(&aside, &folder).unwrap();
    works.wait_until("its end", || unstopped(&works).is_none());
    assert!(works.is_gone("agent"));
    works.log().wait_terminated("dev-1.1-1");
    works.down();
}
