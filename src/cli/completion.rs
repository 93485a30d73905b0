//! What can follow in a command line that is not complete.
//!
//! The completion scripts send the words up to the cursor. `clap_complete` has such an engine as well, but only behind a
//! feature whose interface to its scripts is not stable: a script that a package installed would break.

use std::path::PathBuf;

use clap::{Arg, Command};

/// What can stand at the cursor.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// One of these words.
    Words(Vec<String>),
    /// A name that the state or the specs have.
    Name(Named),
    /// A file, or a value that is not known.
    Other,
}

/// The things whose names are completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// A cluster.
    Cluster,
    /// A pool of a cluster.
    Pool,
    /// A host of a cluster.
    Host,
}

/// What can stand in place of the last word, by the words before it. The first word is the program.
pub(crate) fn wanted(mut root: Command, words: &[String]) -> Wanted {
    root.build();
    let Some((current, before)) = words.split_last() else { return Wanted::Other };
    let mut command = &root;
    let mut positions = 0;
    let mut pending = None;
    for word in before.iter().skip(1) {
        if pending.take().is_some() {
            // The value of the option before.
            continue;
        }
        pending = option(command, word);
        if pending.is_some() || word.starts_with('-') {
            continue;
        }
        match command.find_subcommand(word) {
            Some(inner) => (command, positions) = (inner, 0),
            None => positions += 1,
        }
    }
    if let Some(option) = pending {
        return value(option);
    }
    if current.starts_with('-') {
        return Wanted::Words(options(command));
    }
    let names: Vec<String> = command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
        .map(|inner| inner.get_name().to_owned())
        .collect();
    if !names.is_empty() {
        return Wanted::Words(names);
    }
    let positionals: Vec<&Arg> = command.get_positionals().collect();
    let repeated = || positionals.last().filter(|last| is_repeated(last));
    positionals.get(positions).or_else(repeated).map_or(Wanted::Other, |argument| value(argument))
}

/// The value of an option in words that are not complete.
pub(crate) fn value_of<'a>(words: &'a [String], long: &str) -> Option<&'a str> {
    let pairs = words.iter().zip(words.iter().skip(1));
    let mut separate = pairs.filter(|(option, _)| option.strip_prefix("--") == Some(long));
    let joined = || {
        let values = words.iter().filter_map(|word| word.strip_prefix("--")?.split_once('='));
        values.filter(|(option, _)| *option == long).map(|(_, value)| value).next()
    };
    separate.next().map(|(_, value)| value.as_str()).or_else(joined)
}

/// The spec files that the words before the last one name.
pub(crate) fn files(words: &[String]) -> Vec<PathBuf> {
    let before = words.split_last().map(|(_, before)| before).unwrap_or_default();
    let mut is_file = false;
    let mut files = Vec::new();
    for word in before {
        if word.starts_with('-') {
            is_file = matches!(word.as_str(), "-f" | "--file");
        } else if is_file {
            files.push(PathBuf::from(word));
        }
    }
    files
}

/// The option of a command that a word names, if it takes a value that is not part of the word.
fn option<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    command.get_arguments().filter(|argument| argument.get_action().takes_values()).find(
        |argument| match word.strip_prefix("--") {
            Some(long) => argument.get_long() == Some(long),
            None => argument.get_short().is_some_and(|short| *word == format!("-{short}")),
        },
    )
}

fn options(command: &Command) -> Vec<String> {
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    shown.filter_map(|argument| argument.get_long()).map(|long| format!("--{long}")).collect()
}

fn is_repeated(argument: &Arg) -> bool {
    argument.get_num_args().is_some_and(|range| range.max_values() > 1)
        || matches!(argument.get_action(), clap::ArgAction::Append)
}

/// What an argument takes.
fn value(argument: &Arg) -> Wanted {
    let possible = argument.get_possible_values();
    if !possible.is_empty() {
        let shown = possible.iter().filter(|value| !value.is_hide_set());
        return Wanted::Words(shown.map(|value| value.get_name().to_owned()).collect());
    }
    if argument.get_long() == Some("cluster") {
        return Wanted::Name(Named::Cluster);
    }
    let names = argument.get_value_names().unwrap_or_default();
    match names.first().map(|name| name.as_str()) {
        Some("CLUSTER") => Wanted::Name(Named::Cluster),
        Some("POOL") => Wanted::Name(Named::Pool),
        Some("NODE") => Wanted::Name(Named::Host),
        _ => Wanted::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(ToOwned::to_owned).collect()
    }

    fn wanted_in(line: &str) -> Wanted {
        wanted(crate::cli::command(), &words(line))
    }

    fn has(line: &str, word: &str) -> bool {
        matches!(wanted_in(line), Wanted::Words(words) if words.iter().any(|known| known == word))
    }

    #[test]
    fn commands_options_and_their_values_are_completed() {
        assert!(has("slipway ", "plan") && !has("slipway ", "complete"));
        assert!(has("slipway --state x get ", "clusters"));
        assert!(has("slipway plan --", "--offline") && has("slipway plan -", "--state"));
        assert!(has("slipway plan -f a.yaml -o ", "json") && has("slipway --color ", "never"));
        assert_eq!(wanted_in("slipway plan -f "), Wanted::Other);
        assert_eq!(wanted_in("slipway plan -f a.yaml "), Wanted::Other);
    }

    #[test]
    fn names_are_completed_where_arguments_name_something() {
        for (line, named) in [
            ("slipway drift ", Named::Cluster),
            ("slipway state list de", Named::Cluster),
            ("slipway get nodes ", Named::Cluster),
            ("slipway plan -f a.yaml --cluster ", Named::Cluster),
            ("slipway controller request one ", Named::Cluster),
            ("slipway roll -f a.yaml --pool ", Named::Pool),
            ("slipway logs ", Named::Host),
        ] {
            assert_eq!(wanted_in(line), Wanted::Name(named), "{line}");
        }
        assert_eq!(wanted_in("slipway state show demo "), Wanted::Other);
    }

    #[test]
    fn the_state_and_the_specs_are_found_in_the_words() {
        let line = words("slipway roll -f a.yaml b.yaml --state=here --pool ");
        assert_eq!(files(&line), [PathBuf::from("a.yaml"), PathBuf::from("b.yaml")]);
        assert_eq!(value_of(&line, "state"), Some("here"));
        assert_eq!(value_of(&words("slipway --state there drift "), "state"), Some("there"));
        assert_eq!(value_of(&line, "cluster"), None);
    }
}
