//! Foreign text made fit for one line of a terminal or a comment.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with control characters and those that turn the direction of reading written as escapes: a value
/// of a spec can neither drive the terminal nor show itself as another one.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unfit) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        push_clean(&mut cleaned, c);
    }
    Cow::Owned(cleaned)
}

/// Appends a character, escaped when it is unfit.
pub(super) fn push_clean(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if is_unfit(c) => {
            // Writing into a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// Control characters, marks that change the direction of reading, and what has no width.
fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}

/// How many columns a text takes; every character counts for one.
pub(super) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// The text cut to `width` columns, the last one an ellipsis when something was cut off.
pub(super) fn shorten(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    Cow::Owned(short)
}

/// Words laid out in lines of at most `width` columns; a longer word has a line of its own.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = columns(word);
        if used > 0 && used + 1 + length > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
    }
    lines.push(line);
    lines
}

/// `one thing`, `2 things`.
pub(super) fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_drive_a_terminal_is_escaped() {
        assert_eq!(clean("\u{1b}[31mred\u{202e}\n"), "\\u{1b}[31mred\\u{202e}\\n");
        assert_eq!(clean("plain ü"), "plain ü");
    }

    #[test]
    fn lines_keep_to_their_width() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("averylongword x", 5), ["averylongword", "x"]);
        assert_eq!(shorten("abcdef", 4), "abc…");
    }
}
