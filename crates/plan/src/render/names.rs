//! Lists of names, numbered ones written as ranges.

use std::cmp::Ordering;

use super::clean::clean;

/// The names in their order, comma-separated; four or more that only count up become `first … last (how many)`.
pub(super) fn listed(names: &[&str]) -> String {
    let mut out = Vec::new();
    let mut rest = names;
    while let Some((first, others)) = rest.split_first() {
        let run = 1 + others.iter().zip(rest).take_while(|(next, name)| follows(name, next)).count();
        match rest.get(run - 1) {
            Some(last) if run >= 4 => {
                out.push(format!("{} … {} ({run})", clean(first), clean(last)));
                rest = rest.get(run..).unwrap_or_default();
            }
            _ => {
                out.push(clean(first).into_owned());
                rest = others;
            }
        }
    }
    out.join(", ")
}

/// The order of two names by their text and then by the number at their end, so that 10 comes after 9.
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    let (left_text, left_number) = numbered(left);
    let (right_text, right_number) = numbered(right);
    left_text.cmp(right_text).then(left_number.cmp(&right_number)).then(left.cmp(right))
}

fn follows(name: &str, next: &str) -> bool {
    let (text, number) = numbered(name);
    let (next_text, next_number) = numbered(next);
    text == next_text && number.is_some() && number.and_then(|number| number.checked_add(1)) == next_number
}

/// The name without the number at its end, and that number; one with zeros before it belongs to the text.
fn numbered(name: &str) -> (&str, Option<u64>) {
    let text = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = name.get(text.len()..).unwrap_or_default();
    if digits.len() > 1 && digits.starts_with('0') {
        return (name, None);
    }
    match digits.parse() {
        Ok(number) => (text, Some(number)),
        Err(_) => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_counts_up_becomes_a_range() {
        let mut names = ["r10", "r9", "r8", "r7", "a", "r1", "b-01", "b-02", "b-03", "b-04"];
        names.sort_by(|left, right| compare(left, right));
        assert_eq!(listed(&names), "a, b-01, b-02, b-03, b-04, r1, r7 … r10 (4)");
        assert_eq!(listed(&["x3", "x2", "x1"]), "x3, x2, x1");
        assert_eq!(listed(&[]), "");
    }
}
