//! Foreign text inside HTML and SVG.

use super::clean::clean;

/// The text fit for an element or a quoted attribute: control characters and marks that turn the direction of reading are
/// written as escapes, `&`, `<`, `>` and both quotes as entities.
pub(super) fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_text(&mut out, text);
    out
}

/// Appends what [`text`] returns.
pub(super) fn push_text(out: &mut String, text: &str) {
    for c in clean(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_its_element_or_attribute() {
        assert_eq!(
            text("</script><a b=\"c\" d='e'>&\u{202e}"),
            concat!("&lt;/script&gt;&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;", "\\u{202e}")
        );
    }
}
