//! Consistency rules of a cluster, for all kinds of documents.
//!
//! Each file has the rules of one subject. A rule names the path of the field that it complains about. If
//! that field, or one that the rule depends on, was refused before, the rule reports nothing, so that one
//! mistake gives one message.

mod access;
mod addresses;
mod architectures;
mod audit;
mod components;
mod context;
mod control_plane;
mod counts;
mod etcd;
mod gates;
mod hardening;
mod hosts;
mod labels;
mod lifecycle;
mod names;
mod pools;
mod programs;
mod rollout;
mod room;
mod secrets;
mod subnets;
mod versions;

use context::Context;

use crate::{diagnostic::Diagnostic, model::Cluster, source::FieldSources};

pub use components::reserved_arguments;
pub use versions::{NEWEST_MINOR, OLDEST_MINOR, PROVEN_MINOR, is_supported};

/// Checks a cluster: errors and probable mistakes. `refused` are the paths in the model whose values replace
/// refused ones.
#[must_use]
pub fn cluster(cluster: &Cluster, sources: &FieldSources, refused: &[String]) -> Vec<Diagnostic> {
    let mut context = Context::new(cluster, sources, refused);
    if !counts::check(&mut context) {
        return context.diagnostics;
    }
    for rules in [
        names::check,
        versions::check,
        addresses::check,
        subnets::check,
        room::check,
        control_plane::check,
        etcd::check,
        gates::check,
        access::check,
        pools::check,
        architectures::check,
        hosts::check,
        rollout::check,
        labels::check,
        components::check,
        hardening::check,
        audit::check,
        secrets::check,
        programs::check,
        lifecycle::check,
    ] {
        rules(&mut context);
    }
    context.diagnostics
}

#[cfg(test)]
mod tests;
