//! Texts with `*` and `?`.

/// Whether a text has the form of a pattern; every text has the form of none.
pub(super) fn glob(pattern: Option<&str>, text: &str) -> bool {
    pattern.is_none_or(|pattern| matches_glob(pattern.as_bytes(), text.as_bytes()))
}

/// Whether `text` has the form of `pattern`, in which `*` is any text and `?` any letter.
#[must_use]
pub fn matches_glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(from) {
            Some(b'*') => {
                star = Some((from, at));
                from += 1;
            }
            Some(&letter) if letter == b'?' || Some(&letter) == text.get(at) => {
                from += 1;
                at += 1;
            }
            _ => match star {
                Some((position, begun)) => {
                    star = Some((position, begun + 1));
                    from = position + 1;
                    at = begun + 1;
                }
                None => return false,
            },
        }
    }
    pattern.get(from..).unwrap_or_default().iter().all(|letter| *letter == b'*')
}
