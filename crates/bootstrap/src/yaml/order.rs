//! The order of keys.

use std::cmp::Ordering;

/// The keys in their order. [`natural`] is no total order for mixtures as `1`, `b` and `/0`, which the sorts of the
/// standard library refuse by a panic; inserting one by one takes any.
pub(super) fn sorted<'a>(keys: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut sorted: Vec<&String> = Vec::new();
    for key in keys {
        let place = sorted.iter().rposition(|other| natural(other, key).is_le()).map_or(0, |place| place + 1);
        sorted.insert(place, key);
    }
    sorted
}

/// Compares two keys as YAML writers of Kubernetes do: digits as numbers, letters after everything else.
fn natural(a: &str, b: &str) -> Ordering {
    let (left, right): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    for (position, (x, y)) in left.iter().zip(&right).enumerate() {
        if x == y {
            continue;
        }
        match (x.is_alphabetic(), y.is_alphabetic()) {
            (true, true) => return x.cmp(y),
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            (false, false) => {}
        }
        // Zeros in the middle of a number count; at its beginning they do not.
        let inside = (*x == '0' || *y == '0')
            && left
                .get(..position)
                .unwrap_or_default()
                .iter()
                .rev()
                .take_while(|character| character.is_ascii_digit())
                .any(|character| *character != '0');
        let (x_number, x_length) = number(&left, position, inside);
        let (y_number, y_length) = number(&right, position, inside);
        return x_number.cmp(&y_number).then(x_length.cmp(&y_length)).then(x.cmp(y));
    }
    left.len().cmp(&right.len())
}

fn number(characters: &[char], from: usize, inside: bool) -> (u128, usize) {
    let digits: String =
        characters.iter().skip(from).take_while(|character| character.is_ascii_digit()).collect();
    let prefix = if inside { "1" } else { "0" };
    (format!("{prefix}{digits}").parse().unwrap_or(u128::MAX), digits.len())
}
