//! Patterns of addresses and names, as `--target` and `ignoreChanges` have them.

/// Whether a text matches a pattern, in which `*` matches any text and `?` any one character.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let (mut rest, mut wanted) = (text.chars(), pattern.chars());
    // Behind the last `*`: the pattern, and the text that it has not taken yet.
    let mut star: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let before = rest.clone();
        match (wanted.next(), rest.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                rest = before.clone();
                star = Some((wanted.clone(), before));
            }
            (Some('?'), Some(_)) => {}
            (Some(one), Some(other)) if one == other => {}
            _ => {
                // The last star takes one character more.
                let Some((behind, taken)) = star.as_mut() else { return false };
                if taken.next().is_none() {
                    return false;
                }
                wanted = behind.clone();
                rest = taken.clone();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text_and_a_question_mark_for_one_character() {
        for (pattern, text) in [
            ("", ""),
            ("*", ""),
            ("*", "a.b"),
            ("a.b", "a.b"),
            ("a.*", "a.bc"),
            ("a.*", "a."),
            ("*.b", "a.b"),
            ("a*c*e", "abcde"),
            ("a*b", "abab"),
            ("*ab", "aab"),
            ("a**", "a"),
            ("a?c", "aßc"),
            ("?*", "a"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "a"),
            ("?", ""),
            ("a.b", "a.bc"),
            ("a.*", "b.a"),
            ("a*c*e", "abde"),
            ("a*c", "abcd"),
            ("*b", "a.bc"),
            ("ab*ba", "aba"),
            ("a?c", "ac"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
