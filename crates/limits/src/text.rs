//! Texts of others, fit to be shown.

use std::borrow::Cow;

use crate::Size;

/// A text with everything that a terminal would obey instead of showing it written out, as `\u001b`: control characters
/// but line feeds and tabs, and characters that change the direction of text or are not seen at all.
///
/// In JSON the result means the same as before.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    visible_but(text, |_| None)
}

/// As [`visible`], for a text with Slipway's own colours: a prefix of the remaining text that `keep` accepts
/// is not changed.
#[must_use]
pub fn visible_but(text: &str, keep: impl Fn(&str) -> Option<usize>) -> Cow<'_, str> {
    let Some(first) = text.char_indices().find(|(_, letter)| is_hidden(*letter)).map(|(index, _)| index)
    else {
        return Cow::Borrowed(text);
    };
    let mut shown = String::with_capacity(text.len() + 16);
    shown.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(letter) = rest.chars().next() {
        let (length, whole) = match letter {
            '\r' if rest.as_bytes().get(1) == Some(&b'\n') => (2, true),
            _ if !is_hidden(letter) => (letter.len_utf8(), true),
            _ => keep(rest).map_or((letter.len_utf8(), false), |length| (length, true)),
        };
        if whole {
            shown.push_str(&rest[..length]);
        } else {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        }
        rest = &rest[length..];
    }
    Cow::Owned(shown)
}

/// Whether a terminal does something else with the character than showing it.
#[must_use]
pub fn is_hidden(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        // Marks of direction, and separators of lines that are none to a terminal.
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' => true,
        // The mark of byte order, annotations between lines, and tags.
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => letter.is_control(),
    }
}

/// The length of the remark on what was left out, in bytes, at most.
const REMARK: usize = 32;

/// The beginning of a text, with how much was left out; the text itself when it fits, or when no more is left out than the remark
/// takes. So a text that was shortened before stays as it is.
#[must_use]
pub fn shorten(text: &str, limit: Size) -> Cow<'_, str> {
    let most = limit.in_memory();
    if text.len() <= most + REMARK {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(most);
    let left_out = crate::size::shown((text.len() - end) as u64);
    Cow::Owned(format!("{}… ({left_out} more)", &text[..end]))
}

/// Shortens a text in place. See [`shorten`].
pub fn shorten_in_place(text: &mut String, limit: Size) {
    if let Cow::Owned(short) = shorten(text, limit) {
        *text = short;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        assert_eq!(visible("a\u{1b}[2Jb\u{9b}1m\u{7}\r\u{202e}x"), r"a\u001b[2Jb\u009b1m\u0007\u000d\u202ex");
        assert_eq!(visible("\u{e0041}"), r"\udb40\udc41");
        for kept in ["grün\n\tline\r\n", "日本 🚢", ""] {
            assert!(matches!(visible(kept), Cow::Borrowed(_)) || visible(kept) == kept, "{kept}");
        }
    }

    #[test]
    fn json_means_the_same_as_before() {
        let text = "\"a\u{9b}\u{202e}\u{e0041}\"";
        assert_eq!(visible(text), r#""a\u009b\u202e\udb40\udc41""#);
    }

    #[test]
    fn colours_of_our_own_stay() {
        let keep = |rest: &str| rest.starts_with("\u{1b}[1m").then_some(4);
        assert_eq!(visible_but("\u{1b}[1ma\u{1b}[8m", keep), "\u{1b}[1ma\\u001b[8m");
    }

    #[test]
    fn long_texts_say_how_much_is_left_out() {
        let limit = Size { what: "a test", bytes: 4 };
        assert_eq!(shorten("1234", limit), "1234");
        assert_eq!(shorten(&"1".repeat(4 + REMARK), limit), "1".repeat(4 + REMARK));
        assert_eq!(shorten(&"1".repeat(5 + REMARK), limit), "1111… (33 bytes more)");
        assert_eq!(shorten(&format!("123é{}", "1".repeat(REMARK)), limit), "123… (34 bytes more)");
    }

    #[test]
    fn a_shortened_text_is_not_shortened_again() {
        for kibibytes in [4, 5, 1_025] {
            let text = "1".repeat((kibibytes << 10) + 1);
            let short = shorten(&text, crate::size::MESSAGE).into_owned();
            assert_eq!(shorten(&short, crate::size::MESSAGE), short);
        }
    }
}
