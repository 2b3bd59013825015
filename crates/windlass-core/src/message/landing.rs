//! The messages of the commits that land a change. Trailers answer "which task was this?" from git alone.

use std::fmt::Write as _;

use crate::id::{IssueNumber, Sha, TaskId};
use crate::task::Task;
use crate::text::{clean, one_line};

/// Subjects that are named in a commit that stands for many.
const MAX_SUBJECTS: usize = 50;

pub fn merge_subject(task: &Task) -> String {
    format!("Merge {}: {}", task.issue, one_line(&task.title, 60))
}

/// What was tested together; each change has its own merge below it.
pub fn merge_several(issues: &[IssueNumber]) -> String {
    let names: Vec<String> = issues.iter().map(ToString::to_string).collect();
    format!("Merge {}\n\nTested as one; the merge of each change lies below.\n", names.join(", "))
}

/// One change as a merge.
pub fn merge_commit(task: &Task, head: &Sha) -> String {
    format!("{}\n\nWindlass-Task: {}\nWindlass-Head: {head}\n", merge_subject(task), task.id)
}

/// One change as one commit, with the subjects of the commits that it stands for.
pub fn squash_commit(task: &Task, head: &Sha, subjects: &[String]) -> String {
    let mut text = format!("{} ({})\n\n", one_line(&task.title, 70), task.issue);
    for subject in subjects.iter().take(MAX_SUBJECTS) {
        writeln!(text, "* {}", one_line(subject, 100)).expect("writing to a String cannot fail");
    }
    if subjects.len() > MAX_SUBJECTS {
        writeln!(text, "* and {} more", subjects.len() - MAX_SUBJECTS)
            .expect("writing to a String cannot fail");
    }
    format!("{}\n\n{}", text.trim_end(), trailers(&task.id, head))
}

/// The message of one of the change's own commits, kept as it is but for the trailers.
pub fn replayed(message: &str, task: &TaskId, head: &Sha) -> String {
    let kept = clean(message);
    let kept = kept.trim_end();
    let last = kept.rsplit("\n\n").next().unwrap_or_default();
    let has_trailers = kept.contains("\n\n") && last.lines().all(is_trailer);
    let gap = if has_trailers { "\n" } else { "\n\n" };
    format!("{kept}{gap}{}", trailers(task, head))
}

fn trailers(task: &TaskId, head: &Sha) -> String {
    format!("Windlass-Change: {task}\nWindlass-Head: {head}\n")
}

fn is_trailer(line: &str) -> bool {
    line.split_once(": ").is_some_and(|(key, value)| {
        !value.is_empty() && !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailers_join_those_that_are_there_and_stand_apart_from_text() {
        let (task, head) = (TaskId::stored("7.1"), Sha::parse(&"a".repeat(40)).expect("a sha"));
        let ours = format!("Windlass-Change: 7.1\nWindlass-Head: {head}\n");
        assert_eq!(replayed("fix: a thing\n", &task, &head), format!("fix: a thing\n\n{ours}"));
        let signed = "fix\n\nWhy.\n\nSigned-off-by: Ann <a@b.example>\n";
        assert_eq!(replayed(signed, &task, &head), format!("{}{ours}", signed));
        let prose = "fix\n\nNote: this is\nnot a trailer";
        assert_eq!(replayed(prose, &task, &head), format!("{prose}\n\n{ours}"));
    }
}
