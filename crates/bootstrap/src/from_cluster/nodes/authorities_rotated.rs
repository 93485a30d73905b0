//! The parts of machines that belong to the rotation of authorities.

use slipway_resource::{Address, Desired, Path, Reference, TemplatePart, Value};

use super::super::authorities::{AUTHORITIES, common_name, file_of, generation_of, private_key};
use super::super::rotation::{RotatedKey, Stage};
use super::super::{Machine, Rotation};
use super::{Making, inside};
use crate::material::FINGERPRINT;
use crate::pki::inventory;
use crate::static_pod::{ETCD_CLIENT_PORT, ETCD_PEER_PORT, etcd_url};

/// The type that waits until servers accept the authorities of a file.
pub(super) const TRUST: &str = "authority_trust";

/// The name of the input of static pods that are restarted when the authorities that they accept change.
const INPUT: &str = "etcd-authorities";

/// The keys under which API servers publish the authorities of front proxies and of clients.
const PROXIES_PUBLISHED: &str = "requestheader-client-ca-file";
const CLIENTS_PUBLISHED: &str = "client-ca-file";

/// The beginning of the names of files with private keys that only open snapshots of etcd.
pub(super) const KEY_OF_SNAPSHOTS: &str = "etcd-snapshots-";

/// The folder of the private keys that only open snapshots of etcd. It is that of the settings of snapshots.
const KEYS_OF_SNAPSHOTS: &str = "/etc/slipway";

impl Making<'_> {
    /// Adds what the rotations of authorities need on control planes. An authority that was never rotated leaves no trace.
    pub(super) fn authorities_are_rotated(&mut self, control_planes: &[&Machine], leader: &Machine) {
        for subject in AUTHORITIES {
            let Some(rotation) = self.placement.rotations.get(&subject).copied() else { continue };
            let file = file_of(subject);
            let files = [format!("pki/{file}.crt"), format!("pki/{file}.key")];
            for machine in control_planes {
                self.certificates_follow(subject, rotation, machine);
                self.files_replace_others(subject, rotation, machine, &files.each_ref().map(String::as_str));
                if subject == RotatedKey::EtcdCa {
                    self.etcd_is_restarted(rotation, machine);
                    self.snapshots_stay_readable(rotation, machine);
                }
            }
            self.trust_is_awaited(subject, rotation, control_planes, leader);
        }
    }

    /// Certificates of the authority are those of the generation in use.
    fn certificates_follow(&mut self, subject: RotatedKey, rotation: Rotation, machine: &Machine) {
        let signer = fingerprint(subject, rotation.used());
        for name in certificates_of(subject) {
            let certificate = inside("certificate", machine, name);
            self.set(&certificate, &Path::key("signed_by"), signer.clone().into());
        }
    }

    /// etcd and API servers read the authority of etcd at their start. The order of two authorities means nothing to them, so that
    /// the second stage restarts neither.
    fn etcd_is_restarted(&mut self, rotation: Rotation, machine: &Machine) {
        let mut accepts = vec![TemplatePart::Text("accepts".to_owned())];
        for generation in rotation.generations() {
            accepts.push(TemplatePart::Text(" ".to_owned()));
            accepts.push(TemplatePart::Reference(fingerprint(RotatedKey::EtcdCa, generation)));
        }
        let file = inside("file", machine, "pki/etcd/ca.crt");
        for pod in ["etcd", "kube-apiserver"] {
            let pod = inside("static_pod", machine, pod);
            self.set(&pod, &Path::key("volatile_inputs").child(INPUT), Value::Template(accepts.clone()));
            self.depends(&pod, std::slice::from_ref(&file));
        }
    }

    /// Snapshots are sealed with the private key of etcd's authority. Each key that may have sealed one stays on control planes.
    fn snapshots_stay_readable(&mut self, rotation: Rotation, machine: &Machine) {
        let generations = RotatedKey::EtcdCa.kept(rotation);
        let backup = inside("etcd_backup", machine, "etcd");
        if generations.len() < 2 || self.find(&backup).is_none() {
            return;
        }
        let (mut paths, mut files) = (Vec::new(), Vec::new());
        for generation in generations {
            let name = format!("{KEY_OF_SNAPSHOTS}{generation}.key");
            let path = format!("{KEYS_OF_SNAPSHOTS}/{name}");
            let attributes = vec![
                ("host", Value::from(machine.name.as_str())),
                ("path", path.as_str().into()),
                ("content", private_key(RotatedKey::EtcdCa, generation)),
                ("mode", "0600".into()),
            ];
            let file = Desired::new(inside("file", machine, &name), Value::map(attributes));
            files.push(file.address.clone());
            self.resources.push(file);
            paths.push(path);
        }
        self.set(&backup, &Path::key("former_key_paths"), Value::list(paths));
        self.depends(&backup, &files);
    }

    /// Waits until the servers of all control planes accept the authorities of the stage, and no former ones.
    fn trust_is_awaited(
        &mut self,
        subject: RotatedKey,
        rotation: Rotation,
        control_planes: &[&Machine],
        leader: &Machine,
    ) {
        let mut awaited = Vec::new();
        // The leader is the last one: it removes what other API servers would publish again.
        let others = control_planes.iter().filter(|machine| machine.name != leader.name);
        for machine in others.copied().chain([leader]) {
            let mut desired = self.trust(subject, rotation, machine);
            if machine.name == leader.name {
                desired.depends_on.append(&mut awaited);
                match subject {
                    RotatedKey::FrontProxyCa => {
                        desired.attributes.set(&Path::key("published_as"), PROXIES_PUBLISHED.into());
                    }
                    RotatedKey::KubernetesCa => {
                        desired.attributes.set(&Path::key("published_as"), CLIENTS_PUBLISHED.into());
                        // Any of the controller managers gives the authorities to all namespaces.
                        desired.attributes.set(&Path::key("published_to_pods"), true.into());
                        let signer =
                            |machine: &&Machine| inside("static_pod", machine, "kube-controller-manager");
                        desired.depends_on.extend(control_planes.iter().map(signer));
                    }
                    _ => {}
                }
            }
            awaited.push(desired.address.clone());
            self.resources.push(desired);
        }
    }

    fn trust(&self, subject: RotatedKey, rotation: Rotation, machine: &Machine) -> Desired {
        let file = file_of(subject);
        let certificates_dir = self.configuration(machine).cluster.certificates_dir;
        let path = |file: &str| format!("{certificates_dir}/{file}");
        let bundle = inside("file", machine, &format!("pki/{file}.crt"));
        let address = machine.address.to_string();
        let mut attributes = self.access_to_api(machine);
        let api_url = attributes.iter().find(|(name, _)| *name == "api_url").map(|(_, url)| url.clone());
        let (servers, ca): (Vec<Value>, String) = match subject {
            RotatedKey::EtcdCa => {
                let ports = [ETCD_CLIENT_PORT, ETCD_PEER_PORT];
                let urls = ports.map(|port| Value::from(etcd_url(&address, port)));
                (urls.into(), path("etcd/ca.crt"))
            }
            _ => (api_url.into_iter().collect(), path("ca.crt")),
        };
        attributes.extend([
            ("host", machine.name.as_str().into()),
            ("path", path(&format!("{file}.crt")).into()),
            ("version", Value::reference(bundle.clone(), "sha256")),
            ("servers", Value::List(servers)),
            ("server_ca_path", ca.into()),
            ("former", Value::list(former(subject, rotation))),
        ]);
        // An aggregated API refuses the certificate of a former authority, also in an open connection. So each API server must use
        // its new one before the former authority is removed.
        if subject == RotatedKey::FrontProxyCa && rotation.stage == Stage::Used {
            attributes.push(("read_paths", Value::list([path("front-proxy-client.crt")])));
        }
        if subject == RotatedKey::KubernetesCa {
            attributes.push(("serves_first", true.into()));
        }
        let mut desired = Desired::new(inside(TRUST, machine, subject.name()), Value::map(attributes));
        desired.depends_on = vec![bundle];
        let certificates = certificates_of(subject).into_iter();
        desired.depends_on.extend(certificates.map(|name| inside("certificate", machine, name)));
        let pods = ["etcd", "kube-apiserver"].map(|pod| inside("static_pod", machine, pod));
        desired.depends_on.extend(pods.into_iter().filter(|pod| self.find(pod).is_some()));
        desired
    }

    pub(super) fn depends(&mut self, address: &Address, on: &[Address]) {
        for desired in self.resources.iter_mut().filter(|desired| desired.address == *address) {
            desired.depends_on.extend(on.iter().cloned());
            desired.depends_on.sort();
            desired.depends_on.dedup();
        }
    }
}

pub(super) fn fingerprint(subject: RotatedKey, generation: u32) -> Reference {
    Reference { address: generation_of(subject, generation), path: Path::key(FINGERPRINT) }
}

/// The names of the certificates that an authority signs on a control plane.
pub(super) fn certificates_of(subject: RotatedKey) -> Vec<&'static str> {
    let of_authority = |entry: &&inventory::Entry| {
        entry.authority_entry().is_some_and(|it| it.base_name == file_of(subject))
    };
    inventory::CERTIFICATES.iter().filter(of_authority).map(|entry| entry.name).collect()
}

/// The common names of the generations beside those of a stage: the former one, and the new one of a rotation that was given up.
fn former(subject: RotatedKey, rotation: Rotation) -> Vec<String> {
    let accepted = rotation.generations();
    let beside = [rotation.generation.saturating_sub(1), rotation.new_generation()];
    let beside = beside.into_iter().filter(|generation| *generation > 0 && !accepted.contains(generation));
    beside.map(|generation| common_name(subject, generation)).collect()
}
