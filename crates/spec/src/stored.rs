//! The spec of a cluster as the state keeps it, in snapshots, journals and plan files.
//!
//! Specs are written in the form of this version's model, and may be read in the form of any earlier version:
//! each change of the form has an upgrade here. A spec that still cannot be read is an error and never
//! skipped.

use serde_json::Value as Json;

use crate::model::Cluster;
use crate::renamed;

/// The spec in a state has a form that this version cannot read.
#[derive(Debug, thiserror::Error)]
#[error("the spec in the state has another form: {0}")]
pub struct Unreadable(#[source] serde_json::Error);

impl Unreadable {
    /// The stable code, with a page in `docs/errors/`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "STATE0052"
    }

    /// The difference from the form that this version reads.
    #[must_use]
    pub fn form(&self) -> String {
        self.0.to_string()
    }
}

/// Writes a spec for the state.
///
/// # Errors
/// A value that JSON cannot express, which the model does not have.
pub fn write(cluster: &Cluster) -> Result<Json, serde_json::Error> {
    serde_json::to_value(cluster)
}

/// Reads a spec of a state. Returns `None` when the state has none.
///
/// # Errors
/// [`Unreadable`] for a form that is neither that of this version nor that of an earlier one.
pub fn read(stored: &Json) -> Result<Option<Cluster>, Unreadable> {
    if stored.is_null() {
        return Ok(None);
    }
    let mut present = stored.clone();
    renamed::stored(&mut present);
    serde_json::from_value(present).map(Some).map_err(Unreadable)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The specs of all snapshots of the kept stores.
    fn kept() -> Vec<Json> {
        let stores = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/state-formats/stores");
        let mut specs = Vec::new();
        for store in std::fs::read_dir(stores).unwrap() {
            let snapshots = store.unwrap().path().join("line/snapshots");
            for snapshot in std::fs::read_dir(snapshots).unwrap() {
                let bytes = std::fs::read(snapshot.unwrap().path()).unwrap();
                let snapshot: Json = serde_json::from_slice(&bytes).unwrap();
                specs.push(snapshot["spec"].clone());
            }
        }
        specs
    }

    #[test]
    fn the_specs_of_all_kept_stores_are_read() {
        let specs = kept();
        assert!(specs.len() >= 3, "{} snapshots", specs.len());
        for spec in specs {
            let cluster = read(&spec).unwrap().unwrap();
            assert_eq!(cluster.name, "line");
            assert_eq!(write(&cluster).unwrap(), spec);
        }
    }

    #[test]
    fn former_names_are_read_and_present_names_are_written() {
        let mut spec = kept().remove(0);
        spec["kubelet"]["imageGcHighThresholdPercent"] = 80.into();
        spec["pools"][0]["kubelet"]["serverTlsBootstrap"] = true.into();
        let cluster = read(&spec).unwrap().unwrap();
        assert_eq!(cluster.kubelet.image_gc_high_threshold_percent, Some(80));
        assert_eq!(cluster.pools[0].kubelet.server_tls_bootstrap, Some(true));
        let written = write(&cluster).unwrap();
        assert_eq!(written["kubelet"]["imageGCHighThresholdPercent"], 80);
        assert_eq!(written["pools"][0]["kubelet"]["serverTLSBootstrap"], true);
    }

    #[test]
    fn what_cannot_be_read_is_an_error_and_no_spec_is_none() {
        let mut spec = kept().remove(0);
        spec["lanes"] = 2.into();
        let error = read(&spec).unwrap_err();
        assert!(error.code() == "STATE0052" && error.to_string().contains("lanes"), "{error}");
        assert_eq!(read(&Json::Null).unwrap(), None);
    }
}
