//! Whether a call asks for JSON, which decides about the form of its errors.

use clap::ArgMatches;

/// The option that names the format of a result, in every command that has one.
const OUTPUT: &str = "output";

/// Whether the command of a call was asked for JSON.
pub(crate) fn is_json(matches: &ArgMatches) -> bool {
    let mut matches = matches;
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    let Ok(Some(mut values)) = matches.try_get_raw(OUTPUT) else { return false };
    values.any(|value| value == "json")
}

/// Whether arguments that cannot be parsed ask for JSON.
pub(crate) fn names_json(arguments: &[String]) -> bool {
    let pairs = arguments.iter().zip(arguments.iter().skip(1));
    let mut pairs = pairs.map(|(option, value)| (option.as_str(), value.as_str()));
    pairs.any(|pair| matches!(pair, ("-o" | "--output", "json")))
        || arguments.iter().any(|word| matches!(word.as_str(), "-ojson" | "-o=json" | "--output=json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_found_in_arguments_of_every_form() {
        for line in ["state list demo -o json", "plan -f a.yaml -ojson", "get clusters --output=json"] {
            let words: Vec<String> = format!("slipway {line}").split(' ').map(ToOwned::to_owned).collect();
            assert!(is_json(&crate::cli::command().get_matches_from(&words)), "{line}");
            assert!(names_json(&words), "{line}");
        }
        for line in ["state list demo -o text", "plan -f json", "init json"] {
            let words: Vec<String> = format!("slipway {line}").split(' ').map(ToOwned::to_owned).collect();
            assert!(!is_json(&crate::cli::command().get_matches_from(&words)), "{line}");
            assert!(!names_json(&words), "{line}");
        }
    }
}
