//! Hints for mistakes in the arguments.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use slipway_spec::validate::{NEWEST_MINOR, OLDEST_MINOR};

use super::help;

/// Verbs of other tools, with the command that does the same.
const VERBS: &[(&str, &str)] = &[
    ("check", "spec check"),
    ("create", "apply"),
    ("describe", "state show"),
    ("destroy", "delete"),
    ("diff", "plan"),
    ("import", "adopt"),
    ("lint", "spec check"),
    ("list", "get clusters"),
    ("preview", "plan"),
    ("refresh", "drift"),
    ("remove", "delete"),
    ("rolling-update", "roll"),
    ("status", "validate"),
    ("toolbox", "support-bundle"),
    ("up", "apply"),
    ("update", "apply"),
];

/// Options of other tools: the commands where they are tried, the option, and what to type instead.
const OPTIONS: &[(&[&str], &str, &str)] = &[
    (&["apply", "delete", "roll", "upgrade"], "--auto-approve", "`--yes` runs without a question"),
    (
        &["apply"],
        "--out",
        "`slipway plan -f cluster.yaml --out cluster.plan` saves a plan, `slipway apply cluster.plan` applies it",
    ),
    (&["apply"], "--dry-run", "`slipway plan -f cluster.yaml` shows what would change"),
    (&["plan", "drift", "show", "validate"], "--dry-run", "leave it out: this command changes nothing"),
    (
        &["plan", "apply"],
        "--destroy",
        "`slipway delete` deletes a cluster, `slipway delete --dry-run` shows the plan",
    ),
    (
        &["apply", "roll", "upgrade"],
        "--offline",
        "leave it out: this command needs the state of the cluster. `slipway plan --offline` plans a spec as if nothing existed",
    ),
    (&["init"], "--output", "`--out FILE` names the file that is written"),
    (&["init"], "-o", "`--out FILE` names the file that is written"),
];

/// The commands that take a cluster by its spec only. The others also take the name of a cluster in the state.
const SPEC_ONLY: [&str; 3] = ["plan", "roll", "upgrade"];

/// What to type instead, where a mistake is a frequent one.
pub(crate) fn hint(error: &clap::Error, arguments: &[String]) -> Option<String> {
    let command = arguments.iter().skip(1).find(|word| !word.starts_with('-'))?;
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
            let known = |(commands, option, _): &&(&[&str], &str, &str)| {
                commands.contains(&command.as_str()) && word.split('=').next() == Some(*option)
            };
            if let Some((_, _, hint)) = OPTIONS.iter().find(known) {
                return Some((*hint).to_owned());
            }
            let is_name = !word.starts_with('-') && !word.contains(['.', '/']) && !Path::new(word).exists();
            if is_name && SPEC_ONLY.contains(&command.as_str()) {
                return Some(format!(
                    "name the spec of the cluster: `slipway {command} -f FILE`, with `--cluster {word}` if the file has several clusters"
                ));
            }
            let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
            let is_spec = Path::new(word).exists() && usage.contains("--file");
            is_spec.then(|| format!("name a spec with `-f`: `slipway {command} -f {word}`"))
        }
        ErrorKind::InvalidSubcommand => {
            let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
                return None;
            };
            let (_, meant) = VERBS.iter().find(|(verb, _)| verb == word && verb == command)?;
            Some(format!("`slipway {meant}` does this"))
        }
        ErrorKind::MissingRequiredArgument => of_missing(error, arguments),
        _ => None,
    }
}

/// What to type where a required argument is missing.
fn of_missing(error: &clap::Error, arguments: &[String]) -> Option<String> {
    let missing: &[String] = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing,
        _ => &[],
    };
    let lacks = |argument: &str| missing.iter().any(|missing| missing.starts_with(argument));
    let path = path(arguments).join(" ");
    if lacks("--provider ") && arguments.iter().any(|word| word.starts_with("--provider-config")) {
        return Some(
            "add `--provider NAME`: the settings are those of the provider that it names".to_owned(),
        );
    }
    if let Some(name) = value(arguments, "--cluster")
        && lacks("<CLUSTER>")
    {
        return Some(format!(
            "name a cluster of the state without the option: `slipway {path} {name}`; `--cluster` selects one of the clusters \
             of `-f`"
        ));
    }
    if path == "apply" {
        return Some(
            "`slipway apply -f cluster.yaml` applies a spec, `slipway apply cluster.plan` a saved plan"
                .to_owned(),
        );
    }
    let example = help::example(&path)?;
    let more = if lacks("<CLUSTER>") {
        "; `slipway get clusters` lists the clusters".to_owned()
    } else if path == "upgrade" && lacks("--to ") {
        format!(
            "; Slipway supports Kubernetes 1.{OLDEST_MINOR} to 1.{NEWEST_MINOR}, and `slipway get clusters` shows the version \
             that each cluster has"
        )
    } else {
        String::new()
    };
    let all = if path == "drift" { "; `--all` looks at all of them" } else { "" };
    Some(format!("for example, `{example}`{more}{all}"))
}

/// The words of the command in the arguments, as `state` and `list`.
fn path(arguments: &[String]) -> Vec<&str> {
    let root = super::command();
    let mut command = &root;
    let mut path = Vec::new();
    for word in arguments.iter().skip(1) {
        if let Some(inner) = command.find_subcommand(word) {
            path.push(word.as_str());
            command = inner;
        }
    }
    path
}

/// The value of an option in arguments.
fn value<'a>(arguments: &'a [String], option: &str) -> Option<&'a str> {
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word.strip_prefix(option) {
            Some("") => return words.next(),
            Some(rest) if rest.starts_with('=') => return rest.get(1..),
            _ => {}
        }
    }
    None
}

/// The error without suggestions that lead nowhere: an option that does not exist is no value either, and an option or a command
/// with a similar name is not the one that has a [`hint`].
pub(crate) fn without_wrong_tips(mut error: clap::Error, has_hint: bool) -> clap::Error {
    let is_option = matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(word)) if word.starts_with('-'));
    if error.kind() == ErrorKind::UnknownArgument && is_option {
        error.remove(ContextKind::Suggested);
    }
    if error.kind() == ErrorKind::UnknownArgument && has_hint {
        error.remove(ContextKind::SuggestedArg);
    }
    if error.kind() == ErrorKind::InvalidSubcommand && has_hint {
        error.remove(ContextKind::SuggestedSubcommand);
    }
    error
}

/// The arguments with `help --help` read as `help`: the page of the command that `help` belongs to.
pub(crate) fn help_of_help(
    command: &clap::Command,
    mut arguments: Vec<std::ffi::OsString>,
) -> Vec<std::ffi::OsString> {
    let mut command = command;
    for (position, word) in arguments.iter().enumerate().skip(1) {
        if word == "help" && command.has_subcommands() {
            let is_flag = |word: &std::ffi::OsString| word == "--help" || word == "-h";
            if arguments.len() == position + 2 && arguments.last().is_some_and(is_flag) {
                arguments.pop();
            }
            return arguments;
        }
        match word.to_str().and_then(|word| command.find_subcommand(word)) {
            Some(inner) => command = inner,
            None => return arguments,
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint_of(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(ToOwned::to_owned).collect();
        let error = crate::cli::command().try_get_matches_from(&words).unwrap_err();
        let hint = hint(&error, &words);
        let shown = without_wrong_tips(error, hint.is_some()).to_string();
        for tip in ["as a value", "similar subcommand", "similar argument"] {
            assert!(!shown.contains(tip), "{shown}");
        }
        hint.unwrap_or_default()
    }

    #[test]
    fn words_of_other_tools_lead_to_commands() {
        for (verb, meant) in VERBS {
            assert_eq!(hint_of(&format!("slipway {verb}")), format!("`slipway {meant}` does this"));
        }
        for (commands, option, meant) in OPTIONS {
            for command in *commands {
                assert_eq!(hint_of(&format!("slipway {command} {option}")), *meant);
            }
        }
    }

    #[test]
    fn a_dry_run_takes_no_yes() {
        for line in
            ["roll -f a.yaml", "upgrade -f a.yaml --to 1.36.0", "delete demo", "rotate sa-key -f a.yaml"]
        {
            let line = format!("slipway {line} --dry-run --yes");
            let error = crate::cli::command().try_get_matches_from(line.split(' ')).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ArgumentConflict, "{line}");
        }
    }

    #[test]
    fn the_help_of_an_upgrade_names_the_supported_versions() {
        let command = crate::cli::command();
        let upgrade = command.find_subcommand("upgrade").unwrap();
        let help = upgrade.get_long_about().unwrap().to_string();
        assert!(help.contains(&format!("1.{OLDEST_MINOR} to 1.{NEWEST_MINOR}")), "{help}");
    }

    #[test]
    fn the_name_of_a_cluster_leads_to_its_spec() {
        for command in SPEC_ONLY {
            let hint = hint_of(&format!("slipway {command} minimal"));
            assert!(hint.contains(&format!("`slipway {command} -f FILE`")), "{hint}");
            assert!(hint.contains("`--cluster minimal`"), "{hint}");
        }
    }

    #[test]
    fn a_missing_argument_leads_to_a_call_that_works() {
        for (line, meant) in [
            ("plan", "`slipway plan -f clusters/prod`"),
            ("--color never drift", "`slipway drift demo`"),
            ("drift", "`--all` looks at all of them"),
            ("validate", "`slipway get clusters`"),
            ("upgrade --yes", "`slipway upgrade -f cluster.yaml`"),
            ("roll", "`slipway roll -f cluster.yaml --pool general --dry-run`"),
            ("state list", "`slipway state list demo sim_machine_pool.*`"),
            ("node token delete", "`slipway node token delete abcdef`"),
            ("kubeconfig --cluster nope", "`slipway kubeconfig nope`"),
            ("delete --cluster=nope", "`slipway delete nope`"),
            ("plan -f a.yaml --provider-config {}", "`--provider NAME`"),
            ("apply -f a.yaml --provider-config {}", "`--provider NAME`"),
            ("apply", "`slipway apply -f cluster.yaml`"),
        ] {
            let hint = hint_of(&format!("slipway {line}"));
            assert!(hint.contains(meant), "{line}: {hint}");
        }
    }

    #[test]
    fn hinted_commands_exist() {
        for (_, meant) in VERBS {
            let mut command = &crate::cli::command();
            for word in meant.split(' ') {
                command = command.find_subcommand(word).expect(meant);
            }
        }
    }

    #[test]
    fn the_help_of_help_is_the_page_of_its_command() {
        let of = |line: &str| {
            let words = line.split(' ').map(Into::into).collect();
            let words = help_of_help(&crate::cli::command(), words);
            words.into_iter().map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of("slipway help --help"), "slipway help");
        assert_eq!(of("slipway state help -h"), "slipway state help");
        assert_eq!(of("slipway drift help --help"), "slipway drift help --help");
        assert_eq!(of("slipway plan --help"), "slipway plan --help");
    }
}
