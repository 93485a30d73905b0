//! Flags: defaults, and what the user wants instead.

use std::collections::BTreeSet;

use crate::configuration::Argument;

/// The flags of a component: its defaults in order, without those that the user sets, and then the user's as written.
#[must_use]
pub fn command_line(defaults: Vec<Argument>, extra: &[Argument]) -> Vec<String> {
    let overridden: BTreeSet<&str> = extra.iter().map(|argument| argument.name.as_str()).collect();
    let mut kept: Vec<&Argument> =
        defaults.iter().filter(|argument| !overridden.contains(argument.name.as_str())).collect();
    kept.sort();
    kept.into_iter().chain(extra).map(|argument| format!("--{}={}", argument.name, argument.value)).collect()
}

/// Defaults made of pairs.
pub(super) fn defaults<const COUNT: usize>(pairs: [(&str, String); COUNT]) -> Vec<Argument> {
    pairs.into_iter().map(|(name, value)| Argument::new(name, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_gives_comes_last_as_written() {
        let defaults = vec![Argument::new("b", "1"), Argument::new("a", "2"), Argument::new("c", "3")];
        let extra = [Argument::new("z", "4"), Argument::new("b", "5"), Argument::new("b", "6")];
        assert_eq!(command_line(defaults, &extra), ["--a=2", "--c=3", "--z=4", "--b=5", "--b=6"]);
    }
}
