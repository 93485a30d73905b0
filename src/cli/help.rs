//! Examples and exit codes below the help text of every command.

mod groups;
mod node;
mod pages;

use clap::Command;
use groups::GROUPS;
use node::NODE;
use pages::PAGES;

/// What the exit codes of a command mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCodes {
    /// 0 for success, 1 for an error.
    Usual,
    /// As [`Self::Usual`], and 2 for this.
    Two(&'static str),
    /// 0 for the first, 1 for the second or an error.
    Verdict(&'static str, &'static str),
}

/// The help of one command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// The command, as `state list`.
    pub command: &'static str,
    /// Command lines that can be run, each with what it does.
    pub examples: &'static [(&'static str, &'static str)],
    /// What its exit codes mean.
    pub exit_codes: ExitCodes,
}

/// What is shown below the list of commands.
const OVERVIEW: &str = "\
Examples:
  Write a spec, look at the plan, apply it:
    slipway init demo
    slipway plan -f cluster.yaml
    slipway apply -f cluster.yaml

  Explain an error code:
    slipway explain SPEC0042

Exit codes:
  0  success
  1  error
  2  `plan`, `drift` and dry runs: changes are pending";

/// Puts examples and exit codes below the help of a command and of all commands below it.
pub(crate) fn document(command: Command) -> Command {
    below(command, "").after_help(OVERVIEW)
}

/// The pages of all commands.
fn all() -> impl Iterator<Item = &'static Page> {
    PAGES.iter().chain(NODE).chain(GROUPS)
}

/// The first example of a command, as `state list`.
pub(crate) fn example(command: &str) -> Option<&'static str> {
    let page = all().find(|page| page.command == command)?;
    page.examples.first().map(|(_, line)| *line)
}

fn below(command: Command, path: &str) -> Command {
    let page = all().find(|page| page.command == path);
    let command = match page {
        Some(page) => command.after_help(text(page)),
        None => command,
    };
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command.mut_subcommand(name, |inner| below(inner, &path))
    })
}

fn text(page: &Page) -> String {
    let mut text = String::from("Examples:");
    for (index, (what, line)) in page.examples.iter().enumerate() {
        let gap = if index == 0 { "\n" } else { "\n\n" };
        text.push_str(&format!("{gap}  {what}:\n    {line}"));
    }
    text.push_str("\n\nExit codes:\n");
    let lines: Vec<(u8, &str)> = match page.exit_codes {
        ExitCodes::Usual => vec![(0, "success"), (1, "error")],
        ExitCodes::Two(meaning) => vec![(0, "success; nothing is pending"), (1, "error"), (2, meaning)],
        ExitCodes::Verdict(good, bad) => vec![(0, good), (1, bad)],
    };
    let lines: Vec<String> = lines.iter().map(|(code, meaning)| format!("  {code}  {meaning}")).collect();
    text.push_str(&lines.join("\n"));
    text
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::*;
    use crate::cli::{Cli, command};

    /// The commands below a command, as `state list`, without `help` and hidden commands.
    fn commands(command: &Command, path: &str) -> Vec<String> {
        let mut found = Vec::new();
        let shown = |inner: &&Command| inner.get_name() != "help" && !inner.is_hide_set();
        for inner in command.get_subcommands().filter(shown) {
            let path = format!("{path} {}", inner.get_name()).trim().to_owned();
            found.extend(commands(inner, &path));
            found.push(path);
        }
        found
    }

    #[test]
    fn every_command_has_a_page_and_every_page_a_command() {
        let mut commands = commands(&command(), "");
        commands.sort();
        let mut pages: Vec<String> = all().map(|page| page.command.to_owned()).collect();
        pages.sort();
        assert_eq!(pages, commands);
    }

    /// A short option has one meaning in all commands. Only logs are followed with `-f`, as by kubectl and journalctl.
    #[test]
    fn every_short_option_has_one_long_form() {
        let mut root = command();
        root.build();
        let mut long_forms = std::collections::BTreeMap::new();
        let mut left = vec![&root];
        while let Some(command) = left.pop() {
            left.extend(command.get_subcommands());
            for argument in command.get_arguments() {
                let (Some(short), Some(long)) = (argument.get_short(), argument.get_long()) else { continue };
                if long == "follow" && command.get_name() == "logs" {
                    continue;
                }
                let known = long_forms.entry(short).or_insert(long);
                assert_eq!(*known, long, "-{short} of {}", command.get_name());
            }
        }
        assert_eq!((long_forms.get(&'f'), long_forms.get(&'o')), (Some(&"file"), Some(&"output")));
    }

    #[test]
    fn every_example_is_a_call_of_its_command() {
        for page in all() {
            assert!(!page.examples.is_empty(), "{} has no example", page.command);
            for (_, line) in page.examples {
                // What a shell does around a call is not the program's.
                let call = line.split(" | ").find(|part| part.starts_with("slipway ")).unwrap_or_default();
                let call = call.split(" > ").next().unwrap_or_default();
                let words: Vec<String> = call.split_whitespace().map(|word| word.replace('\'', "")).collect();
                let matches = command().try_get_matches_from(&words);
                let parsed = matches.and_then(|matches| Cli::from_arg_matches(&matches));
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                let named = format!("slipway {}", page.command);
                assert!(call.starts_with(&named), "{line} is no call of `{named}`");
            }
        }
    }
}
