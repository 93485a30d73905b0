use serde_json::Value as Json;
use slipway_resource::{Address, Desired, Path, Value};

/// A resource under the name of the phase that it belongs to, as `certs/apiserver`.
#[derive(Clone, Debug, PartialEq)]
pub struct Phased {
    /// The phase.
    pub phase: &'static str,
    /// The resource.
    pub desired: Desired,
}

/// The fingerprint of a content that the cluster's state keeps, as a reference to what keeps it: a key that nothing can make
/// again is compared by it.
pub(super) fn fingerprint_of(content: &Value) -> Value {
    match content {
        Value::Secret(secret) => match secret.keeper() {
            Some((keeper, _)) if FINGERPRINTED.contains(&keeper.kind()) => {
                Value::reference(keeper, crate::material::FINGERPRINT)
            }
            _ => Value::Null,
        },
        _ => Value::Null,
    }
}

/// The types of what the state keeps that have fingerprints: keys that nothing can make again, and texts with such keys.
const FINGERPRINTED: [&str; 3] = ["keypair", "encryption_key", "encryption_configuration"];

/// Resources as they are put together.
#[derive(Default)]
pub(super) struct Resources(Vec<Phased>);

impl Resources {
    /// Adds a resource that depends on others; returns its address.
    pub fn add(
        &mut self,
        phase: &'static str,
        kind: &'static str,
        name: &str,
        attributes: Vec<(&str, Value)>,
        after: &[&Address],
    ) -> Address {
        let address = Address::new(kind, name);
        let mut desired = Desired::new(address.clone(), Value::map(attributes));
        desired.depends_on = after.iter().map(|address| (*address).clone()).collect();
        desired.depends_on.sort();
        desired.depends_on.dedup();
        self.0.push(Phased { phase, desired });
        address
    }

    /// The same of one that is updated after all of its kind that are there already, never beside them.
    pub fn add_in_turn(
        &mut self,
        phase: &'static str,
        kind: &'static str,
        name: &str,
        attributes: Vec<(&str, Value)>,
        after: &[&Address],
    ) -> Address {
        let addresses = self.0.iter().map(|phased| &phased.desired.address);
        let earlier = addresses.filter(|address| address.kind() == kind).cloned().collect();
        let address = self.add(phase, kind, name, attributes, after);
        if let Some(phased) = self.0.last_mut() {
            phased.desired.lifecycle.update_after = earlier;
        }
        address
    }

    /// Adds a resource of which one attribute says only how it is made: once it is there, a change of that attribute means nothing.
    pub fn add_made_by(
        &mut self,
        phase: &'static str,
        kind: &'static str,
        name: &str,
        attributes: Vec<(&str, Value)>,
        made_by: &str,
    ) -> Address {
        let address = self.add(phase, kind, name, attributes, &[]);
        if let Some(phased) = self.0.last_mut() {
            phased.desired.lifecycle.ignore_changes.push(Path::key(made_by));
        }
        address
    }

    /// Adds an API object; returns its address.
    pub fn object(&mut self, phase: &'static str, object: &Json, after: &[&Address]) -> Address {
        self.manifest(phase, Value::from_json(object), Vec::new(), after)
    }

    /// Adds an API object that may have references and secrets in it, with further attributes.
    pub fn manifest(
        &mut self,
        phase: &'static str,
        manifest: Value,
        further: Vec<(&str, Value)>,
        after: &[&Address],
    ) -> Address {
        let name = object_name(&manifest);
        let mut attributes = vec![("manifest", manifest)];
        attributes.extend(further);
        self.add(phase, "kubernetes_object", &name, attributes, after)
    }

    /// The address of a resource, if it is among them.
    pub fn find(&self, kind: &str, name: &str) -> Option<Address> {
        self.0
            .iter()
            .map(|phased| &phased.desired.address)
            .find(|address| address.kind() == kind && address.name() == name)
            .cloned()
    }

    /// Those of them that are there, by kind and name.
    pub fn those(&self, wanted: &[(&str, &str)]) -> Vec<Address> {
        wanted.iter().filter_map(|(kind, name)| self.find(kind, name)).collect()
    }

    /// The resources, in the order in which they were added.
    pub fn done(self) -> Vec<Phased> {
        self.0
    }
}

/// `<Kind>/<namespace>/<name>` of an object.
fn object_name(manifest: &Value) -> String {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let metadata = |key: &str| text(manifest.get("metadata").and_then(|metadata| metadata.get(key)));
    format!("{}/{}/{}", text(manifest.get("kind")), metadata("namespace"), metadata("name"))
}

/// References to all of these.
pub(super) fn refer(addresses: &[Address]) -> Vec<&Address> {
    addresses.iter().collect()
}
