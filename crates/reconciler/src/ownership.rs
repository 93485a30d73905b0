//! Which source a cluster belongs to: the one that its status names.
//!
//! Who can write to one source cannot take over a cluster of another one, also when that one cannot be read, has lost the spec, or
//! was read later.

use crate::configuration::Configuration;
use crate::status::{Problem, Reason};

/// Why a source, by its number, does not get a cluster that belonged to the source of a name; `None` if it does: nobody had the
/// cluster, its source is not configured any more, or the operator has named this cluster, and no pattern, for the new source.
pub(crate) fn refusal(
    configuration: &Configuration,
    cluster: &str,
    from: &str,
    to: usize,
) -> Option<(Reason, Problem)> {
    let new = configuration.sources.get(to)?;
    let is_configured = configuration.sources.iter().any(|source| source.name == from);
    if new.name == from || !is_configured || new.names(cluster) {
        return None;
    }
    let to = &new.name;
    let problem = Problem {
        code: None,
        message: format!(
            "the spec of {cluster} is in the source {to} now, and the cluster belongs to {from}"
        ),
        hints: vec![format!(
            "if that is meant, write a `[[source.cluster]]` with `name = \"{cluster}\"` into the source {to} of the configuration"
        )],
    };
    Some((Reason::SourceChanged, problem))
}
