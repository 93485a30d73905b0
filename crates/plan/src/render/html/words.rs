//! The words that differ between two lines.

use similar::{ChangeTag, TextDiff};

use super::super::markup;

/// Lines longer than this in bytes are not compared word by word, since that could take quadratic time.
const COMPARABLE: usize = 400;

/// Two lines of which less than this part is the same have nothing in common worth showing.
const ALIKE: f32 = 0.4;

/// Both lines as HTML, with the words marked that only one of them has.
pub(super) fn marked(before: &str, after: &str) -> (String, String) {
    if before.len() > COMPARABLE || after.len() > COMPARABLE {
        return (markup::text(before), markup::text(after));
    }
    let (old, new) = (split(before), split(after));
    let diff = TextDiff::from_slices(&old, &new);
    if diff.ratio() < ALIKE {
        return (markup::text(before), markup::text(after));
    }
    let (mut left, mut right) = (Marked::default(), Marked::default());
    for change in diff.iter_all_changes() {
        let text = change.value();
        match change.tag() {
            ChangeTag::Equal => {
                left.push(text, false);
                right.push(text, false);
            }
            ChangeTag::Delete => left.push(text, true),
            ChangeTag::Insert => right.push(text, true),
        }
    }
    (left.end(), right.end())
}

/// Words, and what is between them, one character at a time.
fn split(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut in_word = false;
    for (position, c) in line.char_indices() {
        let is_word = c.is_alphanumeric();
        if !(is_word && in_word) && position > start {
            parts.extend(line.get(start..position));
            start = position;
        }
        in_word = is_word;
    }
    parts.extend(line.get(start..).filter(|rest| !rest.is_empty()));
    parts
}

#[derive(Default)]
struct Marked {
    out: String,
    is_open: bool,
}

impl Marked {
    fn push(&mut self, text: &str, differs: bool) {
        if differs != self.is_open {
            self.out.push_str(if differs { "<mark>" } else { "</mark>" });
            self.is_open = differs;
        }
        markup::push_text(&mut self.out, text);
    }

    fn end(mut self) -> String {
        if self.is_open {
            self.out.push_str("</mark>");
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(before: &str, after: &str) -> [String; 2] {
        marked(before, after).into()
    }

    #[test]
    fn what_differs_is_marked() {
        assert_eq!(
            both("image: ubuntu-24.04 <x>", "image: ubuntu-26.04 <x>"),
            ["image: ubuntu-<mark>24</mark>.04 &lt;x&gt;", "image: ubuntu-<mark>26</mark>.04 &lt;x&gt;"]
        );
        assert_eq!(both("a b c", "a b c d"), ["a b c", "a b c<mark> d</mark>"]);
    }

    #[test]
    fn lines_with_little_in_common_or_of_great_length_are_left_as_they_are() {
        assert_eq!(both("abc", "xyz"), ["abc", "xyz"]);
        let long = "a ".repeat(300);
        assert_eq!(both(&long, &format!("{long}b")), [long.clone(), format!("{long}b")]);
    }
}
