//! Output as a page shows it, beside what the program prints.

/// The first line of the page that the program does not print; every line must occur, in the page's order.
/// `…` in a line matches any text, and so do times, digests and other values that differ with each run.
pub(super) fn missing(page: &str, said: &str) -> Option<String> {
    let mut said = said.lines().map(settled);
    for line in page.lines().map(str::trim_end).filter(|line| !line.is_empty() && line.trim() != "…") {
        let wanted = settled(line);
        if !said.any(|line| fits(&wanted, &line)) {
            return Some(line.to_owned());
        }
    }
    None
}

/// Whether a line is as the page has it.
fn fits(wanted: &str, line: &str) -> bool {
    let parts: Vec<&str> = wanted.split('…').collect();
    let [first, between @ .., last] = parts.as_slice() else { return wanted == line };
    let Some(mut rest) = line.strip_prefix(first).and_then(|rest| rest.strip_suffix(last)) else {
        return false;
    };
    between.iter().all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// A line without what differs with each run.
fn settled(line: &str) -> String {
    let words = line.trim_end().split(' ').map(|word| {
        let core = word.trim_matches(|sign: char| "().,;:`".contains(sign));
        let is_hex = |text: &str| text.len() >= 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_time = core.len() == 20 && core.ends_with('Z') && core.as_bytes().get(10) == Some(&b'T');
        // The simulated cloud counts its objects in the order in which they come.
        let is_object = core
            .rsplit_once('-')
            .is_some_and(|(_, number)| number.len() == 6 && number.bytes().all(|byte| byte.is_ascii_digit()));
        let replaced = if is_object {
            core.split('-').next().unwrap_or_default()
        } else if is_hex(core) {
            "<digest>"
        } else if is_time {
            "<time>"
        } else {
            return word.to_owned();
        };
        word.replace(core, replaced)
    });
    let mut words: Vec<String> = words.collect();
    // `in 204 ms`: how long it took here.
    for place in 1..words.len().saturating_sub(1) {
        let is_unit =
            words.get(place + 1).is_some_and(|unit| unit.starts_with("ms") || unit.starts_with("s."));
        if words.get(place - 1).is_some_and(|word| word == "in") && is_unit {
            if let Some(number) = words.get_mut(place) {
                "<number>".clone_into(number);
            }
            if let Some(unit) = words.get_mut(place + 1) {
                *unit = unit.replace("ms", "s");
            }
        }
    }
    words.join(" ")
}

#[test]
fn a_shown_line_is_compared_without_what_differs_with_each_run() {
    let said = "Done: 16 steps in 1.2 s. demo is at generation 2.\nThe rest\n  1. a\n  2. b\n";
    assert_eq!(missing("Done: 16 steps in 204 ms. demo is at generation 2.\n…\n  2. b\n", said), None);
    assert_eq!(
        missing("Done: 17 steps in 204 ms. demo is at generation 2.", said).as_deref().map(|_| ()),
        Some(())
    );
    assert_eq!(missing("Done: … is at generation 2.", said), None);
    assert_eq!(missing("Done: … is at generation 3.", said).as_deref(), Some("Done: … is at generation 3."));
    assert_eq!(missing("  2. b\n  1. a", said).as_deref(), Some("  1. a"));
    assert_eq!(
        missing("plan 9f31c07a of 2026-11-21T15:41:02Z", "plan 00000000 of 2026-11-22T15:41:02Z"),
        None
    );
}
