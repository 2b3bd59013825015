//! Makes of a message what can be typed: the program's input box gives some letters a meaning of their own.

/// Comes first when the message itself would be a command.
const FIRST: &str = "From Windlass:\n";

/// The message as it is pasted. It arrives as it was said, but that control characters are missing, tabs may be spaces, and
/// one that would be a command has a line before it.
pub(super) fn neutral(text: &str) -> String {
    // An escape could end the paste and be typed after it.
    let plain: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    let plain = plain.trim_end();
    let first = if is_command(plain) { FIRST } else { "" };
    // Behind a backslash Enter is a new line, behind `@name` it chooses a file. A blank ends both and is cut off when sent.
    format!("{first}{plain} ")
}

/// `!` runs a shell, `/` a command of the program, and some single words end it.
fn is_command(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(['!', '/']) || !text.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_a_command_has_a_line_before_it_and_nothing_ends_the_paste() {
        for (said, typed) in [
            ("do it, ünd ✓\nnow", "do it, ünd ✓\nnow "),
            ("!rm x", "From Windlass:\n!rm x "),
            (" \n/help me", "From Windlass:\n \n/help me "),
            ("# 1 title", "# 1 title "),
            ("exit", "From Windlass:\nexit "),
            ("ends with \\", "ends with \\ "),
            ("ask @bob\n\n", "ask @bob "),
            ("a\x1b[201~b\r\nc d", "a[201~b\nc d "),
        ] {
            assert_eq!(neutral(said), typed);
        }
    }
}
