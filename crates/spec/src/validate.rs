//! What must fit together in a cluster, whatever documents it came from.

use crate::{diagnostic::Diagnostic, model::Cluster, source::FieldSources};

/// Checks a cluster.
#[must_use]
pub fn cluster(_: &Cluster, _: &FieldSources, _: &[String]) -> Vec<Diagnostic> {
    Vec::new()
}
