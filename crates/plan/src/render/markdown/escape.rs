//! Foreign text made harmless in markdown.

use super::super::clean::clean;
use super::super::line::Line;

/// A foreign text as inline code of markdown, also inside a table: no markdown, HTML, link or mention in it has an effect.
#[must_use]
pub fn code(text: &str) -> String {
    let text = clean(text);
    let ticks = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{ticks}{pad}{}{pad}{ticks}", text.replace('|', "\\|"))
}

/// Lines as a fenced diff, the fence longer than any that they hold.
pub(super) fn fence(lines: &[Line]) -> String {
    let mut body = String::new();
    for line in lines {
        line.write_diff(&mut body);
    }
    let ticks = "`".repeat(longest_run(&body).max(2) + 1);
    format!("{ticks}diff\n{body}{ticks}\n")
}

/// A foreign text of several lines as a fenced block of markdown, with the effect of [`code`].
#[must_use]
pub fn quoted(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(clean).collect();
    let body = lines.join("\n");
    let ticks = "`".repeat(longest_run(&body).max(2) + 1);
    format!("{ticks}text\n{body}\n{ticks}\n")
}

fn longest_run(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gets_out_of_its_code() {
        assert_eq!(code("a|b"), "`a\\|b`");
        assert_eq!(code("`x`` y"), "``` `x`` y ```");
        let lines = [Line::at(0).text("```"), Line::at(0).text("</details>")];
        assert_eq!(fence(&lines), "````diff\n  ```\n  </details>\n````\n");
        assert_eq!(quoted("a ```` b\r\n/merge\u{202e}"), "`````text\na ```` b\n/merge\\u{202e}\n`````\n");
    }
}
