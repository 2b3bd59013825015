//! The demo's issues and how each of them must end.

/// One issue of the demo, in the order in which it is filed.
#[derive(Debug, Clone, Copy)]
pub struct DemoIssue {
    pub script: Script,
    pub title: &'static str,
    pub body: &'static str,
    pub end: End,
}

/// What the scripted agent does with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    Plain,
    RedFirst,
    CriticFirst,
    Dependent,
    ConflictOne,
    ConflictTwo,
    Question,
    TooLarge,
}

/// How the issue must end for the demo to be a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Merged,
    Refused,
}

pub const ISSUES: [DemoIssue; 8] = [
    DemoIssue {
        script: Script::Plain,
        title: "Add a done command",
        body: "`todo done N` takes task N off the list.\n\n## Acceptance\n- a test shows it\n",
        end: End::Merged,
    },
    DemoIssue {
        script: Script::RedFirst,
        title: "Sort the list by priority",
        body: "`todo sort` prints the tasks marked `!` first.\n\n## Acceptance\n- a test shows it\n",
        end: End::Merged,
    },
    DemoIssue {
        script: Script::CriticFirst,
        title: "Export the list as CSV",
        body: "`todo export` prints one `number,text` line per task.\n\n## Acceptance\n- a test shows it\n- documented\n",
        end: End::Merged,
    },
    DemoIssue {
        script: Script::Dependent,
        title: "Import a list from CSV",
        body: "`todo import FILE` reads what `export` writes.\n\n## Depends on\n- #3\n\n## Acceptance\n- a round trip test\n",
        end: End::Merged,
    },
    DemoIssue {
        script: Script::ConflictOne,
        title: "Show the number of tasks in the header",
        body: "The header ends with the number of tasks.\n\n## Acceptance\n- a test shows it\n",
        end: End::Merged,
    },
    DemoIssue {
        script: Script::ConflictTwo,
        title: "Shout the header",
        body: "The header is written in capitals.\n\n## Acceptance\n- a test shows it\n",
        end: End::Merged,
    },
    DemoIssue {
        script: Script::Question,
        title: "Print today's date",
        body: "`todo today` prints the date of the list. The format is not decided yet: ask.\n",
        end: End::Merged,
    },
    DemoIssue {
        script: Script::TooLarge,
        title: "Rewrite everything as a distributed system",
        body: "All of it, with a web page, accounts and a mobile app.\n",
        end: End::Refused,
    },
];

/// What `--yes` answers to the one question.
pub const ANSWER: &str = "Use ISO dates, such as 2026-11-15.";

impl Script {
    /// The script of an issue, by its title: that is all an agent sees of it.
    pub fn of_title(title: &str) -> Option<Self> {
        ISSUES.iter().find(|issue| issue.title == title.trim()).map(|issue| issue.script)
    }
}
