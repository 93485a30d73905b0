//! The objects of add-ons that users bring, in files or at URLs with the digest of what is there.

use std::collections::BTreeMap;
use std::path::Path;

use slipway_bootstrap::from_cluster::UserObjects;
use slipway_limits::size;
use slipway_provider_kubernetes::files;
use slipway_resource::{Address, Desired, Secret, SecretText, Value};
use slipway_spec::diagnostic::Diagnostic;
use slipway_spec::model::{Addon, Manifest};
use slipway_trust::Refusal;

use super::manifests::{self, Way};
use crate::diagnose;
use crate::environment::Download;
use crate::error::{DownloadProblem, Error};
use crate::spec::ClusterSpec;
use crate::trust::Grounds;

/// What messages call the file.
const WHAT: &str = "the add-on's manifest";

/// The prefix of the source of a secret in a manifest.
pub(crate) const SOURCE: &str = "manifest";

/// The objects of add-ons that users bring, without the secrets in them.
pub(crate) struct Objects {
    /// The objects.
    pub objects: Vec<UserObjects>,
    /// The texts of the secrets, by the rest of their sources.
    pub secrets: BTreeMap<String, SecretText>,
    /// Add-ons whose manifests are at URLs and were not fetched, since the plan is made offline.
    pub unfetched: Vec<String>,
}

/// The manifests of a cluster, and the conditions for reading them.
#[derive(Clone, Copy)]
pub(crate) struct Manifests<'a> {
    pub spec: &'a ClusterSpec,
    pub grounds: &'a Grounds,
    pub downloads: &'a dyn Download,
    /// Whether only local manifests are read.
    pub offline: bool,
    /// Whether an add-on is left out whose manifest cannot be fetched offline, instead of refusing the plan.
    pub lenient: bool,
}

/// The objects of the add-ons that users bring.
pub(crate) async fn objects(manifests: Manifests<'_>) -> Result<Objects, Error> {
    let Manifests { spec, grounds, downloads, offline, lenient } = manifests;
    check(spec, grounds)?;
    let (Grounds { policy, tree }, cluster) = (grounds, &spec.cluster);
    let mut all = Objects { objects: Vec::new(), secrets: BTreeMap::new(), unfetched: Vec::new() };
    let mut seen: BTreeMap<Address, String> = BTreeMap::new();
    for addon in cluster.addons.iter().filter(|addon| addon.enabled) {
        let refused = |refusal: Refusal| Error::Specs(vec![at_addon(spec, addon, &refusal)]);
        let (place, text) = match &addon.manifest {
            Some(Manifest::File(path)) => {
                let file = policy.file(tree, WHAT, Path::new(path)).map_err(refused)?;
                let failed = |source| Error::File { what: WHAT, path: path.into(), source };
                (path.clone(), file.read_text(size::MANIFEST).map_err(failed)?)
            }
            Some(Manifest::Url { url, sha256 }) => {
                let granted = policy.url(url).map_err(refused)?;
                let way = Way { policy, offline, downloads };
                match manifests::text(&addon.name, &granted, sha256, way).await {
                    Err(Error::Download { problem: DownloadProblem::Offline, .. }) if lenient => {
                        all.unfetched.push(addon.name.clone());
                        continue;
                    }
                    text => (url.clone(), text?),
                }
            }
            None => continue,
        };
        let read = files::read(&place, &text);
        let mut objects = read.map_err(|source| Error::Manifest { source, addon: addon.name.to_string() })?;
        for object in &mut objects {
            if let Some(first) = seen.insert(object.address.clone(), place.clone()) {
                let object = object.address.name().to_owned();
                return Err(Error::DoubledObject { place, object, first });
            }
            hide(object, &mut all.secrets);
        }
        all.objects.push(UserObjects { addon: addon.name.clone(), objects });
    }
    Ok(all)
}

/// Checks that the policy allows the manifests. All that it refuses are reported together.
fn check(spec: &ClusterSpec, Grounds { policy, tree }: &Grounds) -> Result<(), Error> {
    let enabled = spec.cluster.addons.iter().filter(|addon| addon.enabled);
    let refused = enabled.filter_map(|addon| {
        let refusal = match addon.manifest.as_ref()? {
            Manifest::File(path) => policy.file(tree, WHAT, Path::new(path)).err()?,
            Manifest::Url { url, .. } => policy.url(url).err()?,
        };
        Some(at_addon(spec, addon, &refusal))
    });
    let refused: Vec<Diagnostic> = refused.collect();
    if refused.is_empty() { Ok(()) } else { Err(Error::Specs(refused)) }
}

fn at_addon(spec: &ClusterSpec, addon: &Addon, refusal: &Refusal) -> Diagnostic {
    let field = format!("addons[{}].manifest", addon.name);
    diagnose::refusal(refusal, spec.place(&field))
}

/// The annotation in which kubectl records the applied object, including secrets.
const NOTE: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Turns the values of a Secret into secrets, which are used and never shown.
fn hide(object: &mut Desired, secrets: &mut BTreeMap<String, SecretText>) {
    let name = object.address.name().to_owned();
    let Value::Map(attributes) = &mut object.attributes else { return };
    let Some(Value::Map(manifest)) = attributes.get_mut("manifest") else { return };
    let is = |field: &str, text: &str| manifest.get(field).and_then(Value::as_str) == Some(text);
    if !is("kind", "Secret") || !is("apiVersion", "v1") {
        return;
    }
    for field in ["data", "stringData"] {
        let Some(Value::Map(entries)) = manifest.get_mut(field) else { continue };
        for (key, value) in entries {
            let text = match &*value {
                Value::String(text) => text.clone(),
                Value::Null | Value::Secret(_) => continue,
                // The API server refuses a value that is not a text. It must not be shown before.
                other => other.to_json().to_string(),
            };
            let place = format!("{name}#{field}.{key}");
            *value = Value::from(Secret::new(format!("{SOURCE}:{place}")));
            secrets.insert(place, SecretText::new(text));
        }
    }
    if let Some(Value::Map(metadata)) = manifest.get_mut("metadata")
        && let Some(Value::Map(annotations)) = metadata.get_mut("annotations")
    {
        annotations.remove(NOTE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_secret_holds_is_seen_by_nobody() {
        let text = "{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {\
            kubectl.kubernetes.io/last-applied-configuration: hunter2}}, data: {tls.crt: aHVudGVyMg==}, \
            stringData: {password: hunter2}}";
        let mut secrets = BTreeMap::new();
        let mut objects = files::read("a.yaml", text).unwrap();
        hide(&mut objects[0], &mut secrets);
        let shown = serde_json::to_string(&objects[0]).unwrap();
        assert!(!shown.contains("hunter2") && !shown.contains("aHVudGVyMg"), "{shown}");
        let kept = |place: &str| secrets[place].expose().to_owned();
        assert_eq!(kept("Secret/default/a#data.tls.crt"), "aHVudGVyMg==");
        assert_eq!(kept("Secret/default/a#stringData.password"), "hunter2");
    }
}
