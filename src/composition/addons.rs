//! The objects of add-ons that users bring, in files or at URLs with the digest of what is there.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use slipway_bootstrap::from_cluster::UserObjects;
use slipway_limits::size;
use slipway_provider_kubernetes::files;
use slipway_resource::{Address, Desired, Secret, SecretText, Value};
use slipway_spec::model::Manifest;
use slipway_trust::Refusal;

use super::fetch::{self, Keeping, Way};
use crate::error::CommandError;
use crate::secrets::UserSecrets;
use crate::specs::Wanted;
use crate::trust::{self, Grounds};

/// What the source of a secret begins with that stands in a manifest.
pub(crate) const SOURCE: &str = "manifest";

/// The texts of secrets that stand in manifests, by the rest of their sources.
#[derive(Debug, Default)]
pub(crate) struct ManifestSecrets(Mutex<BTreeMap<String, SecretText>>);

impl ManifestSecrets {
    /// The text of a secret, by `<object>#<field>`.
    pub fn text(&self, place: &str) -> Option<SecretText> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(place).cloned()
    }

    fn keep(&self, place: String, text: SecretText) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(place, text);
    }
}

/// The manifests of a cluster, and what decides whether they are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manifests<'a> {
    pub wanted: &'a Wanted,
    pub texts: &'a UserSecrets,
    /// Whether nothing is fetched that is not here already.
    pub offline: bool,
}

/// The objects of the add-ons that users bring.
pub(super) async fn objects(manifests: Manifests<'_>) -> Result<Vec<UserObjects>, CommandError> {
    let Manifests { wanted, texts, offline } = manifests;
    let (cluster, secrets) = (&wanted.cluster, &*texts.manifests);
    let Grounds { policy, tree } = &texts.grounds;
    let mut all = Vec::new();
    let mut seen: BTreeMap<Address, String> = BTreeMap::new();
    for addon in cluster.addons.iter().filter(|addon| addon.enabled) {
        let refused = |refusal: Refusal| {
            let field = format!("addons[{}].manifest", addon.name);
            CommandError::of_specs(vec![trust::problem(&refusal, wanted.place(&field))])
        };
        let (place, text) = match &addon.manifest {
            Some(Manifest::File(path)) => {
                let file = policy.file(tree, "the add-on's manifest", Path::new(path)).map_err(refused)?;
                let failed = |error| CommandError::file("the add-on's manifest", Path::new(path), &error);
                (path.clone(), file.read_text(size::MANIFEST).map_err(failed)?)
            }
            Some(Manifest::Url { url, sha256 }) => {
                let granted = policy.url(url).map_err(refused)?;
                let keeping = if policy.is_read_only() { Keeping::Nothing } else { Keeping::Kept };
                let way = Way { policy, offline, keeping };
                (url.clone(), fetch::text(&addon.name, &granted, sha256, way).await?)
            }
            None => continue,
        };
        let read = files::read(&place, &text);
        let mut objects = read.map_err(|error| {
            CommandError::new(error.code(), error.to_string())
                .hint(format!("it is the manifest of the add-on {}", addon.name))
        })?;
        for object in &mut objects {
            if let Some(first) = seen.insert(object.address.clone(), place.clone()) {
                let text = format!("{place}: {} is there already, in {first}", object.address.name());
                return Err(CommandError::new("MANIFEST0003", text));
            }
            hide(object, secrets);
        }
        all.push(UserObjects { addon: addon.name.clone(), objects });
    }
    Ok(all)
}

/// Where kubectl notes what it was given, secrets among it.
const NOTE: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Makes secrets of what a Secret holds: it is used, and never shown.
fn hide(object: &mut Desired, secrets: &ManifestSecrets) {
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
                // What is no text is for the API server to refuse, and to be seen by nobody before.
                other => other.to_json().to_string(),
            };
            let place = format!("{name}#{field}.{key}");
            *value = Value::Secret(Secret::new(format!("{SOURCE}:{place}")));
            secrets.keep(place, SecretText::new(text));
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
        let secrets = ManifestSecrets::default();
        let mut objects = files::read("a.yaml", text).unwrap();
        hide(&mut objects[0], &secrets);
        let shown = serde_json::to_string(&objects[0]).unwrap();
        assert!(!shown.contains("hunter2") && !shown.contains("aHVudGVyMg"), "{shown}");
        let kept = |place: &str| secrets.text(place).unwrap().expose().to_owned();
        assert_eq!(kept("Secret/default/a#data.tls.crt"), "aHVudGVyMg==");
        assert_eq!(kept("Secret/default/a#stringData.password"), "hunter2");
    }
}
