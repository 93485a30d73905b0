//! The rights in the manifest, after all tests.

use std::collections::BTreeSet;

use serde::Deserialize as _;
use serde_json::Value as Json;

use super::lab::{Lab, NAMESPACE};

/// The controller used each right that it has, and was refused nothing but objects of API servers that had not allowed it yet.
pub fn are_needed_and_enough(lab: &Lab) {
    let account = format!("system:serviceaccount:{NAMESPACE}:etcdproxy-controller-sa");
    let rights = lab.audit.rights(&account).unwrap();
    let manifest = lab.manifest().unwrap();
    let objects =
        serde_yaml::Deserializer::from_slice(&manifest).map(|object| Json::deserialize(object).unwrap());
    assert_eq!(rights.unused(&objects.collect::<Vec<_>>()), BTreeSet::new(), "rights that nothing needs");
    let own = format!(" {NAMESPACE}/");
    let is_expected = |refused: &String| {
        let is_of_tenant = ["get configmaps ", "get secrets "].iter().any(|start| refused.starts_with(start));
        is_of_tenant && !refused.contains(&own)
    };
    assert!(rights.refused.iter().all(is_expected), "{:?}", rights.refused);
}
