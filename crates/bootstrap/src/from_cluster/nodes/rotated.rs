//! The parts of machines that belong to the rotation of keys.

use slipway_cluster_input::{AtRest, AtRestProvider};
use slipway_resource::{Address, Desired, Path, Reference, TemplatePart, Value};

use super::super::authorities::{encryption_key, generation_of, service_accounts};
use super::super::rotation::{RotatedKey, Stage};
use super::super::{Machine, Rotation};
use super::{Making, inside};
use crate::configuration::Configuration;
use crate::material::FINGERPRINT;
use crate::static_pod::{Component, ETCD_CLIENT_PORT, etcd_url, ready_url};

/// The type that waits until an API server uses a new encryption configuration.
const RELOAD: &str = "api_server_encryption";

/// The type that encrypts the stored objects with the key in use.
const OBJECTS: &str = "encrypted_objects";

/// The name of the input of static pods that are restarted when a key of service accounts changes.
const INPUT: &str = "service-account-keys";

/// The file with an encryption configuration, among the files of a machine.
const ENCRYPTION_FILE: &str = "encryption-configuration";

impl Making<'_> {
    /// Adds what the rotations of keys need on control planes.
    pub(super) fn keys_are_rotated(&mut self, control_planes: &[&Machine], leader: &Machine) {
        let (cluster, placement) = (self.cluster, self.placement);
        if let (Some(at_rest), Some(rotation)) =
            (&cluster.encryption.at_rest, placement.rotations.get(&RotatedKey::EncryptionKey))
            && rotation.stage != Stage::Rest
        {
            self.objects_are_encrypted(at_rest, *rotation, control_planes, leader);
        }
        if let Some(rotation) = placement.rotations.get(&RotatedKey::SaKey) {
            for machine in control_planes {
                self.pods_follow_accounts(*rotation, machine);
            }
        }
    }

    /// Every API server has read its configuration again before the objects are written with the key in use.
    fn objects_are_encrypted(
        &mut self,
        at_rest: &AtRest,
        rotation: Rotation,
        control_planes: &[&Machine],
        leader: &Machine,
    ) {
        let mut reloaded = Vec::new();
        for machine in control_planes {
            let file = inside("file", machine, ENCRYPTION_FILE);
            let mut attributes = self.access_to_api(machine);
            attributes.push(("host", machine.name.as_str().into()));
            attributes.push(("version", Value::reference(file.clone(), FINGERPRINT)));
            if let Some(path) = self.find(&file).and_then(|file| file.attributes.get("path")) {
                attributes.push(("path", path.clone()));
            }
            let mut desired = Desired::new(inside(RELOAD, machine, "kube-apiserver"), Value::map(attributes));
            desired.depends_on = vec![file, inside("static_pod", machine, "kube-apiserver")];
            reloaded.push(desired.address.clone());
            self.resources.push(desired);
        }
        let configuration = self.configuration(leader);
        let pki = |file: &str| Value::from(format!("{}/{file}", configuration.cluster.certificates_dir));
        let others = control_planes.iter().copied().filter(|machine| machine.name != leader.name);
        let members = std::iter::once(leader).chain(others);
        let endpoints = members.map(|member| etcd_url(&member.address.to_string(), ETCD_CLIENT_PORT));
        let mut attributes = self.access_to_api(leader);
        attributes.extend([
            ("host", leader.name.as_str().into()),
            ("resources", Value::list(at_rest.resources.iter().map(String::as_str))),
            ("provider", provider(at_rest.provider).into()),
            ("key_name", Value::reference(encryption_key(rotation.used()), "key_name")),
            ("endpoints", Value::list(endpoints)),
            ("ca_path", pki("etcd/ca.crt")),
            ("cert_path", pki("etcd/healthcheck-client.crt")),
            ("key_path", pki("etcd/healthcheck-client.key")),
        ]);
        let mut desired = Desired::new(inside(OBJECTS, leader, "at-rest"), Value::map(attributes));
        desired.depends_on = reloaded;
        self.resources.push(desired);
    }

    /// API servers and controller managers read the keys of service accounts once: they are restarted when a key changes.
    fn pods_follow_accounts(&mut self, rotation: Rotation, machine: &Machine) {
        let print = |generation: u32| {
            TemplatePart::Reference(Reference {
                address: service_accounts(generation),
                path: Path::key(FINGERPRINT),
            })
        };
        let signs = vec![TemplatePart::Text("signs ".to_owned()), print(rotation.used())];
        let mut verifies = signs.clone();
        for generation in rotation.in_use_first() {
            verifies.extend([TemplatePart::Text(" verifies ".to_owned()), print(generation)]);
        }
        self.set(&inside("static_pod", machine, "kube-apiserver"), &input(), Value::Template(verifies));
        // A controller manager with the first key has this input at no time, so the first stage does not restart it.
        if rotation.used() > 1 {
            self.set(
                &inside("static_pod", machine, "kube-controller-manager"),
                &input(),
                Value::Template(signs),
            );
        }
        self.files_replace_others(RotatedKey::SaKey, rotation, machine, &["pki/sa.key", "pki/sa.pub"]);
    }

    /// The key in use takes the place of the other one of its stage in these files. The state keeps the other one.
    pub(super) fn files_replace_others(
        &mut self,
        subject: RotatedKey,
        rotation: Rotation,
        machine: &Machine,
        files: &[&str],
    ) {
        let others = rotation.generations().into_iter().filter(|generation| *generation != rotation.used());
        for other in others {
            let replaces = Value::reference(generation_of(subject, other), FINGERPRINT);
            for file in files {
                self.set(&inside("file", machine, file), &Path::key("replaces"), replaces.clone());
            }
        }
    }

    /// How the agent of a control plane reaches the API server there.
    pub(super) fn access_to_api(&self, machine: &Machine) -> Vec<(&'static str, Value)> {
        let configuration: Configuration = self.configuration(machine);
        let ready = ready_url(Component::ApiServer, &configuration);
        let url = ready.strip_suffix("/readyz").unwrap_or(&ready).to_owned();
        let pki = |file: &str| Value::from(format!("{}/{file}", configuration.cluster.certificates_dir));
        vec![
            ("api_url", url.into()),
            ("api_ca_path", pki("ca.crt")),
            ("api_cert_path", pki("apiserver-kubelet-client.crt")),
            ("api_key_path", pki("apiserver-kubelet-client.key")),
        ]
    }

    pub(super) fn find(&self, address: &Address) -> Option<&Desired> {
        self.resources.iter().find(|desired| desired.address == *address)
    }

    pub(super) fn set(&mut self, address: &Address, path: &Path, value: Value) {
        for desired in self.resources.iter_mut().filter(|desired| desired.address == *address) {
            desired.attributes.set(path, value.clone());
        }
    }
}

fn input() -> Path {
    Path::key("volatile_inputs").child(INPUT)
}

/// The name of a provider in the prefix of what it has encrypted.
const fn provider(provider: AtRestProvider) -> &'static str {
    match provider {
        AtRestProvider::Secretbox => "secretbox",
        AtRestProvider::Aescbc => "aescbc",
        AtRestProvider::Kms => "kms",
    }
}
