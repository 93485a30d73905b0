//! How a plan is carried out, or kept to be carried out later.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// How to carry a plan out.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RunArguments {
    /// Do not ask.
    #[arg(short, long)]
    pub yes: bool,
    /// Confirm by name what the plan loses: the address of a resource, or the name of a cluster that is deleted.
    ///
    /// The plan lists the names that it needs. `--yes` is none of them.
    #[arg(long, value_name = "NAME")]
    pub confirm: Vec<String>,
    /// Make the infrastructure of a cluster also where its machines will not become nodes.
    #[arg(long)]
    pub infrastructure_only: bool,
    /// How long to wait for somebody else who holds the cluster, as 30s or 10m.
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub wait: Option<std::time::Duration>,
    /// Carry out only what so many persons approved with `slipway approve`; one if no number is given.
    #[arg(
        long,
        value_name = "COUNT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "1",
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pub require_approval: Option<u16>,
    /// Carry out only what somebody else than who applies it approved.
    #[arg(long)]
    pub require_approval_by_other: bool,
}

/// Where the plan of a dry run is kept.
#[derive(Clone, Debug, Args)]
pub(crate) struct SaveArguments {
    /// Save the plan of a dry run to this file, for `slipway apply FILE`; `state:` stores it beside the state by its
    /// digest.
    #[arg(long, value_name = "PLANFILE", requires = "dry_run", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

/// Reads a duration such as `30s`, `10m` or `1h30m`, in the form that specs have.
pub(super) fn parse_duration(text: &str) -> Result<std::time::Duration, String> {
    if text.is_empty() {
        // An empty variable of a script: do not wait.
        return Ok(std::time::Duration::ZERO);
    }
    let span: slipway_spec::value::Duration =
        text.parse().map_err(|error: slipway_spec::value::Malformed| format!("{error}; {}", error.hint))?;
    Ok(span.get())
}

#[cfg(test)]
mod tests {
    use super::parse_duration;

    #[test]
    fn a_span_is_neither_wrapped_nor_endless() {
        assert_eq!(parse_duration("1h30m").unwrap().as_secs(), 5_400);
        assert_eq!(parse_duration("36600d").unwrap().as_secs(), slipway_limits::count::SECONDS);
        for text in ["36601d", "9999999999999999h", "99999999999999999999s", "10", "1x", "-1s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
