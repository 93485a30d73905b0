//! Hints for mistakes in the arguments.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What to type instead, where a mistake is a frequent one.
pub(crate) fn hint(error: &clap::Error, arguments: &[String]) -> Option<String> {
    let command = arguments.iter().skip(1).find(|word| !word.starts_with('-'))?;
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidArg) else { return None };
            let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
            let is_spec = Path::new(word).exists() && usage.contains("--file");
            is_spec.then(|| format!("name a spec with `-f`: `slipway {command} -f {word}`"))
        }
        ErrorKind::MissingRequiredArgument if command == "apply" => Some(
            "`slipway apply -f cluster.yaml` applies a spec, `slipway apply cluster.plan` a saved plan"
                .to_owned(),
        ),
        _ => None,
    }
}
