//! The demo's project: a to-do list in POSIX sh with tests of its own, so that nothing has to be installed.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

const FILES: [(&str, &str); 8] = [
    ("todo.sh", TODO),
    ("lib/header.sh", HEADER),
    (
        "lib/cmd_add.sh",
        "# todo add TEXT: puts a task at the end of the list.\nprintf '%s\\n' \"$*\" >> \"$TODO_FILE\"\n",
    ),
    ("lib/cmd_list.sh", LIST),
    ("docs/add.md", "`todo add TEXT` puts a task at the end of the list.\n"),
    ("docs/list.md", "`todo list` prints the header and the tasks with their numbers.\n"),
    ("tests/run.sh", RUN),
    ("tests/t_list.sh", T_LIST),
];

const TODO: &str = r#"#!/bin/sh
# A to-do list. Each command is a file of its own in lib/.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${TODO_FILE:=todo.txt}"
command=${1:-list}
[ $# -gt 0 ] && shift
if [ ! -f "$here/lib/cmd_$command.sh" ]; then
    echo "todo: no such command: $command" >&2
    exit 2
fi
touch "$TODO_FILE"
. "$here/lib/cmd_$command.sh"
"#;

const HEADER: &str = "# The line above the list.
header() {
    echo \"my tasks\"
}
";

const LIST: &str = "# todo list: the header and the tasks with their numbers.
. \"$here/lib/header.sh\"
header
awk '{ print NR \" \" $0 }' \"$TODO_FILE\"
";

const RUN: &str = r#"#!/bin/sh
# Runs every test in a folder of its own and prints TAP.
cd "$(dirname "$0")/.." || exit 1
todo="$PWD/todo.sh"
total=0
failed=0
for file in tests/t_*.sh; do
    total=$((total + 1))
    name=$(basename "$file" .sh)
    dir=$(mktemp -d)
    if (cd "$dir" && todo="$todo" sh -eu "$OLDPWD/$file" > out 2>&1); then
        echo "ok $total - $name"
    else
        failed=$((failed + 1))
        echo "not ok $total - $name"
        sed 's/^/# /' "$dir/out"
    fi
    rm -rf "$dir"
done
echo "1..$total"
[ "$failed" -eq 0 ]
"#;

const T_LIST: &str = r#"sh "$todo" add buy milk
sh "$todo" add call ann
sh "$todo" list | grep -q '^1 buy milk$'
sh "$todo" list | grep -q '^2 call ann$'
"#;

/// Writes the project and its first commit.
pub fn create(folder: &Path, config: &str, search_path: &str) -> io::Result<()> {
    for (path, text) in FILES.iter().copied().chain([("windlass.toml", config)]) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(&path, text)?;
    }
    for script in ["todo.sh", "tests/run.sh"] {
        std::fs::set_permissions(folder.join(script), std::fs::Permissions::from_mode(0o755))?;
    }
    git(folder, search_path, &["init", "--quiet", "--initial-branch=main"])?;
    git(folder, search_path, &["add", "--all"])?;
    git(folder, search_path, &["commit", "--quiet", "--message=A to-do list"])
}

fn git(folder: &Path, search_path: &str, args: &[&str]) -> io::Result<()> {
    let mut command = Command::new("git");
    command.current_dir(folder).args(args).env_clear().env("PATH", search_path).env("LC_ALL", "C");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", folder);
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "Demo").env(format!("GIT_{who}_EMAIL"), "demo@localhost");
    }
    let done = command.output()?;
    if done.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&done.stderr).trim().to_owned()))
}
