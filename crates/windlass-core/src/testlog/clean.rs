//! Takes out of a log what is meant for a terminal only.

/// Escape sequences are dropped; a carriage return, by which progress bars redraw themselves, ends a line.
pub(super) fn clean(log: &str) -> String {
    let mut out = String::with_capacity(log.len());
    let mut rest = log;
    while let Some(at) = rest.find(['\u{1b}', '\r']) {
        out.push_str(&rest[..at]);
        rest = match rest.as_bytes()[at] {
            b'\r' => {
                out.push('\n');
                let after = &rest[at + 1..];
                after.strip_prefix('\n').unwrap_or(after)
            }
            _ => after_escape(&rest[at + 1..]),
        };
    }
    out.push_str(rest);
    out
}

/// What follows an escape sequence whose first character, the escape, is already gone.
fn after_escape(text: &str) -> &str {
    let mut chars = text.chars();
    match chars.next() {
        Some('[') => {
            let body = chars.as_str();
            match body.find(|c: char| !matches!(c, ' '..='?')) {
                // A sequence that is not finished ends where something that cannot belong to it begins.
                Some(end) if matches!(body.as_bytes()[end], b'@'..=b'~') => &body[end + 1..],
                Some(end) => &body[end..],
                None => "",
            }
        }
        // A character set, as in the `ESC ( B` by which `tput` ends every colour.
        Some('(' | ')') => {
            chars.as_str().strip_prefix(|c: char| c.is_ascii_graphic()).unwrap_or(chars.as_str())
        }
        Some(']') => after_title(chars.as_str()),
        Some('\n' | '\r' | '\u{1b}') | None => text,
        Some(_) => chars.as_str(),
    }
}

/// Window titles and links end with a bell or with `ESC \`; one without an end must not eat the next line.
fn after_title(text: &str) -> &str {
    match text.find(['\u{7}', '\u{1b}', '\n', '\r']) {
        Some(end) if text[end..].starts_with('\u{7}') => &text[end + 1..],
        Some(end) => text[end..].strip_prefix("\u{1b}\\").unwrap_or(&text[end..]),
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_codes_are_dropped_and_text_is_kept() {
        for (log, expected) in [
            ("\u{1b}[1;31mFAILED\u{1b}[0m x", "FAILED x"),
            ("\u{1b}]8;;http://a\u{7}link\u{1b}]8;;\u{1b}\\ end", "link end"),
            ("\u{1b}]0;no end\nnext", "\nnext"),
            ("10%\r20%\rdone\r\nnext", "10%\n20%\ndone\nnext"),
            ("\u{1b}[31\nnext", "\nnext"),
            ("\u{1b}[31é", "é"),
            ("a\u{1b}(B\u{1b}[mb\u{1b}(", "ab"),
            ("\u{1b}Mup\u{1b}", "up"),
        ] {
            assert_eq!(clean(log), expected, "{log:?}");
        }
    }
}
