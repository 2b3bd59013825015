//! The dev role's script: what it does with each issue, at each moment.

use std::io;

use super::hands::Hands;
use super::issues::Script;

/// What the session was told just now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moment {
    /// The issue itself, or a reminder, or a predecessor's work.
    Work,
    CiFailed,
    ChangesRequested,
    Conflict,
    Answer(String),
}

impl Moment {
    pub fn of(message: &str) -> Self {
        let has = |words: &str| message.contains(words);
        if has("Main has moved and your change conflicts") || has("fails when it is merged with current main")
        {
            Self::Conflict
        } else if has("CI failed on ") {
            Self::CiFailed
        } else if has("The critic asks for changes") {
            Self::ChangesRequested
        } else if let Some((_, answer)) = message.split_once("Answer from ") {
            Self::Answer(answer.to_owned())
        } else {
            Self::Work
        }
    }
}

pub fn act(hands: &mut Hands, script: Script, moment: &Moment) -> io::Result<String> {
    if *moment == Moment::Conflict {
        return resolve(hands, script);
    }
    match script {
        Script::Plain => plain(hands)?,
        Script::RedFirst => sort(hands, moment)?,
        Script::CriticFirst => export(hands, moment)?,
        Script::Dependent => import(hands)?,
        Script::ConflictOne | Script::ConflictTwo => header(hands, script)?,
        Script::Question => return today(hands, moment),
        Script::TooLarge => {
            hands.say("This is a year of work, not an issue.")?;
            hands.signal("PHASE:failed\nReason: refused: too_large")?;
            return Ok("refused".into());
        }
    }
    ready(hands)
}

fn ready(hands: &mut Hands) -> io::Result<String> {
    hands.signal("PHASE:awaiting_ci")?;
    Ok("committed, waiting for CI".into())
}

fn plain(hands: &mut Hands) -> io::Result<()> {
    hands.say("A small command of its own file; I add it with a test and a page.")?;
    hands.write("lib/cmd_done.sh", "# todo done N: takes task N off the list.\nsed \"$1d\" \"$TODO_FILE\" > \"$TODO_FILE.new\"\nmv \"$TODO_FILE.new\" \"$TODO_FILE\"\n")?;
    hands.write("docs/done.md", "`todo done N` takes task N off the list.\n")?;
    hands.write(
        "tests/t_done.sh",
        "sh \"$todo\" add one\nsh \"$todo\" add two\nsh \"$todo\" done 1\nsh \"$todo\" list | grep -q '^1 two$'\n",
    )?;
    hands.commit("Add a done command")
}

/// The first try sorts the wrong way round; the test says so.
fn sort(hands: &mut Hands, moment: &Moment) -> io::Result<()> {
    let test =
        "sh \"$todo\" add later\nsh \"$todo\" add '! now'\nsh \"$todo\" sort | head -n 1 | grep -q '! now'\n";
    hands.write("docs/sort.md", "`todo sort` prints the tasks marked `!` first.\n")?;
    hands.write("tests/t_sort.sh", test)?;
    if *moment == Moment::CiFailed {
        hands.say("The order is the wrong way round: marked tasks must come first.")?;
        hands.run("sh tests/run.sh")?;
        hands.write("lib/cmd_sort.sh", "# todo sort: marked tasks first.\ngrep '^!' \"$TODO_FILE\" || true\ngrep -v '^!' \"$TODO_FILE\" || true\n")?;
        hands.run("sh tests/run.sh")?;
        return hands.commit("Sort marked tasks first, not last");
    }
    let (done, _) = hands.run("git log --format=%s | grep -q 'Sort marked tasks first'")?;
    if !done {
        hands.write("lib/cmd_sort.sh", "# todo sort: marked tasks first.\nsort -r \"$TODO_FILE\"\n")?;
        hands.commit("Sort the list by priority")?;
    }
    Ok(())
}

/// The first try has no page; the critic asks for it.
fn export(hands: &mut Hands, moment: &Moment) -> io::Result<()> {
    hands.write(
        "lib/cmd_export.sh",
        "# todo export: one number,text line per task.\nawk '{ print NR \",\" $0 }' \"$TODO_FILE\"\n",
    )?;
    hands.write("tests/t_export.sh", "sh \"$todo\" add milk\nsh \"$todo\" export | grep -q '^1,milk$'\n")?;
    if *moment == Moment::ChangesRequested {
        hands.say("Right, a command without a page cannot be found.")?;
        hands.write("docs/export.md", "`todo export` prints one `number,text` line per task.\n")?;
        return hands.commit("Document the export command");
    }
    hands.commit("Export the list as CSV")
}

fn import(hands: &mut Hands) -> io::Result<()> {
    let (there, _) = hands.run("test -f lib/cmd_export.sh")?;
    if !there {
        return Err(io::Error::other("the export command is not there yet"));
    }
    hands.write(
        "lib/cmd_import.sh",
        "# todo import FILE: reads what export writes.\nsed 's/^[0-9]*,//' \"$1\" >> \"$TODO_FILE\"\n",
    )?;
    hands.write("docs/import.md", "`todo import FILE` reads what `todo export` writes.\n")?;
    hands.write(
        "tests/t_import.sh",
        "sh \"$todo\" add milk\nsh \"$todo\" export > list.csv\nrm todo.txt\nsh \"$todo\" import list.csv\nsh \"$todo\" list | grep -q '^1 milk$'\n",
    )?;
    hands.commit("Import a list from CSV")
}

const COUNT: &str = "$(awk 'END { print NR }' \"$TODO_FILE\")";

/// Both issues change the one line of the header.
fn header(hands: &mut Hands, script: Script) -> io::Result<()> {
    let (line, test, subject) = match script {
        Script::ConflictTwo => ("MY TASKS".to_owned(), shout_test(), "Shout the header"),
        _ => (format!("my tasks: {COUNT}"), count_test(), "Show the number of tasks in the header"),
    };
    hands.write("lib/header.sh", &header_file(&line))?;
    hands.write(test.0, test.1)?;
    hands.commit(subject)
}

fn header_file(line: &str) -> String {
    format!("# The line above the list.\nheader() {{\n    echo \"{line}\"\n}}\n")
}

fn count_test() -> (&'static str, &'static str) {
    ("tests/t_count.sh", "sh \"$todo\" add one\nsh \"$todo\" list | head -n 1 | grep -qi 'my tasks: 1'\n")
}

fn shout_test() -> (&'static str, &'static str) {
    ("tests/t_shout.sh", "sh \"$todo\" list | head -n 1 | grep -q 'MY TASKS'\n")
}

/// Whoever comes second keeps both: capitals and the number.
fn resolve(hands: &mut Hands, script: Script) -> io::Result<String> {
    hands.say("Main has moved; I merge it and keep both sides.")?;
    hands.run("git fetch --quiet origin && git merge --no-edit origin/main")?;
    if matches!(script, Script::ConflictOne | Script::ConflictTwo) {
        hands.write("lib/header.sh", &header_file(&format!("MY TASKS: {COUNT}")))?;
    }
    let (green, text) = hands.run("sh tests/run.sh")?;
    if !green {
        return Err(io::Error::other(text));
    }
    hands.commit("Merge main")?;
    ready(hands)
}

fn today(hands: &mut Hands, moment: &Moment) -> io::Result<String> {
    let Moment::Answer(answer) = moment else {
        hands.say("The issue does not say which format; I ask.")?;
        hands.signal("PHASE:escalate\nWhich date format should `todo today` print: ISO or local?")?;
        return Ok("asked a question".into());
    };
    let format = if answer.contains("ISO") { "+%Y-%m-%d" } else { "+%x" };
    hands.write("lib/cmd_today.sh", &format!("# todo today: the date.\ndate '{format}'\n"))?;
    hands.write("docs/today.md", "`todo today` prints the date.\n")?;
    hands.write("tests/t_today.sh", "sh \"$todo\" today | grep -Eq '^[0-9]{4}-[0-9]{2}-[0-9]{2}$'\n")?;
    hands.commit("Print the date in the format that was asked for")?;
    ready(hands)
}
