/// Maximum length of a compared text, in bytes. A longer text has no recognisable misspelling.
const LONGEST: usize = 128;

/// The candidate that `text` was probably meant to be; `None` when none is close.
///
/// Case, hyphens and underscores do not count; beyond them a third of the letters may differ, a swap counting once.
/// Among equally close candidates the first in their order wins.
#[must_use]
pub fn closest<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let budget = (fold(text).chars().count().max(3)) / 3;
    nearest(text, candidates, budget, true)
}

/// The candidate of which `text` is a typing mistake: case, hyphens and underscores, and one or two letters.
#[must_use]
pub fn misspelt<'a>(text: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let budget = if fold(text).chars().count() < 6 { 1 } else { 2 };
    nearest(text, candidates, budget, false)
}

fn nearest<'a>(
    text: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    budget: usize,
    parts: bool,
) -> Option<&'a str> {
    // Comparing takes time and memory by the product of the lengths.
    if text.len() > LONGEST {
        return None;
    }
    let folded = fold(text);
    let length = folded.chars().count();
    // Of two equally close candidates, one wins where either name is a prefix of the other.
    let mut best: Option<((usize, bool), &str)> = None;
    for candidate in candidates.into_iter().filter(|candidate| candidate.len() <= LONGEST) {
        let target = fold(candidate);
        // Texts differ in as many letters as one is longer than the other, at least. This spares most comparisons.
        let longer = length.abs_diff(target.chars().count());
        let mut distance =
            if longer > budget { longer } else { strsim::damerau_levenshtein(&folded, &target) };
        // A name that begins with the other, as `count` for `replicaCount`'s tail, is closer than its length says.
        let shorter = folded.len().min(target.len());
        let is_other = !target.starts_with(&folded) && !folded.starts_with(&target);
        if parts && shorter >= 4 && !is_other {
            distance = distance.min(budget);
        }
        // A name that shares no letter with the text is not similar, however short it is.
        if distance <= budget
            && distance < length
            && best.is_none_or(|(least, _)| (distance, is_other) < least)
        {
            best = Some(((distance, is_other), candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for letter in text.chars().filter(|letter| !matches!(letter, '-' | '_' | ' ')) {
        if letter.is_ascii() {
            folded.push(letter.to_ascii_lowercase());
        } else {
            folded.extend(letter.to_lowercase());
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::{closest, misspelt};

    #[test]
    fn of_two_that_are_as_close_the_longer_form_is_meant() {
        assert_eq!(closest("networkin", ["networkID", "networking"]), Some("networking"));
        assert_eq!(closest("networkin", ["networking", "networkID"]), Some("networking"));
    }

    #[test]
    fn finds_what_was_meant() {
        let fields = ["machineType", "image", "size", "subnets", "rootVolume"];
        assert_eq!(closest("machinetype", fields), Some("machineType"));
        assert_eq!(closest("machine_type", fields), Some("machineType"));
        assert_eq!(closest("iamge", fields), Some("image"));
        assert_eq!(closest("subnet", fields), Some("subnets"));
        assert_eq!(closest("replicas", fields), None);
        assert_eq!(closest("d", ["a", "b"]), None);
        let long = |length| "m".repeat(length);
        assert_eq!(closest(&long(128), [&*long(127)]), Some(&*long(127)));
        assert_eq!(closest(&long(129), [&*long(128)]), None);
    }

    #[test]
    fn a_slip_of_the_keys_is_less_than_a_likeness() {
        let names = ["sshAccess", "enableNodePort", "name", "image"];
        for (text, meant) in [
            ("sshAcess", "sshAccess"),
            ("enable-nodeport", "enableNodePort"),
            ("nmae", "name"),
            ("imagee", "image"),
        ] {
            assert_eq!(misspelt(text, names), Some(meant), "{text}");
        }
        for text in ["enableNodePortRange", "imageName", "enabled", "sshKey"] {
            assert_eq!(misspelt(text, names), None, "{text}");
        }
        assert_eq!(closest("enableNodePortRange", names), Some("enableNodePort"));
    }
}
