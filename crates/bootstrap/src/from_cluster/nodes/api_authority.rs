//! The parts of machines that belong to the rotation of the API's authority, beside those of every authority.

use slipway_resource::{Address, Desired, Path, Reference, TemplatePart, Value};

use super::super::authorities::{cross_certificate, generation_of};
use super::super::configuration::{SIGNING_FILE, is_control_plane};
use super::super::rotation::{RotatedKey, Stage};
use super::super::{Machine, Rotation};
use super::authorities_rotated::{TRUST, certificates_of, fingerprint};
use super::balancer::AUTHORITY_FILE;
use super::{KUBELET_CREDENTIALS, Making, OBJECT, inside, is_inside_of};
use crate::kubelet;

/// The name of the input of static pods that are restarted when the API's authorities change.
const INPUT: &str = "api-authorities";

/// The serving certificate of a kubelet that asks the API for it.
const SERVING: &str = "/var/lib/kubelet/pki/kubelet-server-current.pem";

/// The annotation of a node with the name of the authority that has signed the serving certificate of its kubelet.
const SERVED_BY: &str = "slipway.dev/serving-authority";

/// The annotation of pods with the generations of the authorities that existed when they were started.
const STARTED_WITH: &str = "slipway.dev/api-authorities";

impl Making<'_> {
    /// Adds what a rotation of the API's authority needs on all machines. An authority that was never rotated leaves no trace.
    pub(super) fn api_authority_is_rotated(&mut self, control_planes: &[&Machine], leader: &Machine) {
        let placement = self.placement;
        let Some(rotation) = placement.rotations.get(&RotatedKey::KubernetesCa).copied() else { return };
        for machine in control_planes {
            self.controller_manager_signs(rotation, machine);
            self.components_are_restarted(rotation, machine);
            self.server_proves_itself_to_all(machine);
            self.kubeconfigs_follow(rotation, machine);
        }
        self.files_change_in_turn(control_planes);
        self.certificates_change_in_turn(control_planes, leader);
        for machine in &placement.machines {
            let bundle = match is_control_plane(self.cluster, machine) {
                true => inside("file", machine, "pki/ca.crt"),
                false => self.worker_trusts(rotation, machine),
            };
            self.kubelet_has_certificates(rotation, machine, (&bundle, control_planes));
            self.serving_certificate_follows(rotation, machine);
        }
        self.own_pods_are_restarted(rotation, leader);
    }

    /// The controller manager signs with the certificate of one authority, and takes no file with several.
    fn controller_manager_signs(&mut self, rotation: Rotation, machine: &Machine) {
        let certificates_dir = self.configuration(machine).cluster.certificates_dir;
        let used = generation_of(RotatedKey::KubernetesCa, rotation.used());
        let attributes = vec![
            ("host", Value::from(machine.name.as_str())),
            ("path", format!("{certificates_dir}/{SIGNING_FILE}").into()),
            ("content", Value::reference(used, "certificate_pem")),
            ("mode", "0644".into()),
        ];
        let file =
            Desired::new(inside("file", machine, &format!("pki/{SIGNING_FILE}")), Value::map(attributes));
        let address = file.address.clone();
        self.resources.push(file);
        self.depends(&inside("static_pod", machine, "kube-controller-manager"), &[address]);
    }

    /// The files of the authority change on one control plane after the other, in the order of the turns of static pods: a controller
    /// manager that is restarted between its file and its static pod does not start if it signs with a file of two certificates.
    fn files_change_in_turn(&mut self, control_planes: &[&Machine]) {
        let elected = self.placement.elected().map(|machine| machine.name.as_str());
        let mut in_order = control_planes.to_vec();
        in_order.sort_by_cached_key(|machine| (elected == Some(machine.name.as_str()), machine.name.clone()));
        for pair in in_order.windows(2) {
            let [before, machine] = pair else { continue };
            let signer = inside("static_pod", before, "kube-controller-manager");
            for file in ["ca.crt", "ca.key", SIGNING_FILE] {
                let file = inside("file", machine, &format!("pki/{file}"));
                self.update_after(&file, std::slice::from_ref(&signer));
            }
        }
    }

    /// Components read the authorities that they trust at their start. API servers sign nothing, and the order of two authorities
    /// means nothing to them, so that the second stage does not restart them.
    fn components_are_restarted(&mut self, rotation: Rotation, machine: &Machine) {
        let input = Path::key("volatile_inputs").child(INPUT);
        let mut accepts = vec![TemplatePart::Text("accepts".to_owned())];
        for generation in rotation.generations() {
            accepts.push(TemplatePart::Text(" ".to_owned()));
            accepts.push(TemplatePart::Reference(print_of(generation)));
        }
        let mut signs = accepts.clone();
        signs.push(TemplatePart::Text(" signs ".to_owned()));
        signs.push(TemplatePart::Reference(print_of(rotation.used())));
        self.set(&inside("static_pod", machine, "kube-apiserver"), &input, Value::Template(accepts));
        for pod in ["kube-controller-manager", "kube-scheduler", "kube-vip"] {
            self.set(&inside("static_pod", machine, pod), &input, Value::Template(signs.clone()));
        }
    }

    /// API servers send the certificate of the new authority that the old one has signed after their own certificate. Clients that
    /// trust the old authority alone accept them until that authority is removed.
    fn server_proves_itself_to_all(&mut self, machine: &Machine) {
        let Some(address) = cross_certificate(self.placement) else { return };
        let chain = Value::reference(address, "chain_pem");
        self.set(&inside("certificate", machine, "apiserver"), &Path::key("chain_pem"), chain);
    }

    /// All kubeconfigs with client certificates that the agent makes, but for the kubelet's, which has its own way.
    fn kubeconfigs_follow(&mut self, rotation: Rotation, machine: &Machine) {
        let of_kubelet = inside("kubeconfig", machine, "kubelet");
        let is_signed_here = |desired: &&mut Desired| {
            desired.address.kind() == "kubeconfig"
                && is_inside_of(desired, &machine.name)
                && desired.attributes.get("ca_key_path").is_some()
                && desired.address != of_kubelet
        };
        for kubeconfig in self.resources.iter_mut().filter(is_signed_here) {
            kubeconfig.attributes.set(&Path::key("trusts"), trusted(rotation));
            kubeconfig.attributes.set(&Path::key("signed_by"), print_of(rotation.used()).into());
        }
    }

    /// The certificates of the API server change on one control plane after the other, the leader's last. Each is in use before the
    /// next one changes.
    fn certificates_change_in_turn(&mut self, control_planes: &[&Machine], leader: &Machine) {
        let others = control_planes.iter().filter(|machine| machine.name != leader.name).copied();
        let in_order: Vec<&Machine> = others.chain([leader]).collect();
        for pair in in_order.windows(2) {
            let [before, machine] = pair else { continue };
            let trust = inside(TRUST, before, RotatedKey::KubernetesCa.name());
            for name in certificates_of(RotatedKey::KubernetesCa) {
                self.update_after(&inside("certificate", machine, name), std::slice::from_ref(&trust));
            }
        }
    }

    /// Workers have the certificates of the authorities only. Returns the address of their file.
    fn worker_trusts(&mut self, rotation: Rotation, machine: &Machine) -> Address {
        let file = inside("file", machine, "ca");
        self.set(&file, &Path::key("keep_existing"), false.into());
        self.files_replace_others(RotatedKey::KubernetesCa, rotation, machine, &["ca"]);
        file
    }

    /// The kubelet trusts the authorities of the stage, and has a client certificate of the one in use. It is restarted in its turn.
    fn kubelet_has_certificates(
        &mut self,
        rotation: Rotation,
        machine: &Machine,
        (bundle, control_planes): (&Address, &[&Machine]),
    ) {
        let configuration = self.configuration(machine);
        let credentials = inside(KUBELET_CREDENTIALS, machine, "kubelet");
        let mut attributes = vec![
            ("ca_path", Value::from(AUTHORITY_FILE)),
            ("trusts", trusted(rotation)),
            ("signed_by", print_of(rotation.used()).into()),
            ("steady_url", kubelet::health_url(&configuration).into()),
            ("steady_node", machine.name.as_str().into()),
            ("steady_kubeconfig_path", kubelet::KUBECONFIG_PATH.into()),
        ];
        if self.has_serving_names(machine) {
            attributes.push(("serving_path", SERVING.into()));
        }
        for (name, value) in attributes {
            self.set(&credentials, &Path::key(name), value);
        }
        // The signer of certificates is any of the controller managers.
        let signers =
            control_planes.iter().map(|other| inside("static_pod", other, "kube-controller-manager"));
        let mut before: Vec<Address> = signers.collect();
        // The file that it came with has other authorities than the bundle until its own step.
        let made = inside("kubeconfig", machine, "kubelet");
        self.set(&made, &Path::key("keep_authorities"), true.into());
        before.push(made);
        self.update_after(&credentials, &before);
        self.depends(&credentials, std::slice::from_ref(bundle));
    }

    /// A kubelet asks for a new serving certificate when it has none of the authority in use. The node's step approves the request.
    fn serving_certificate_follows(&mut self, rotation: Rotation, machine: &Machine) {
        if !self.has_serving_names(machine) {
            return;
        }
        let node = Address::new("kubernetes_node", machine.name.as_str());
        let name = Reference {
            address: generation_of(RotatedKey::KubernetesCa, rotation.used()),
            path: Path::key("certificate_authority").child("common_name"),
        };
        self.set(&node, &Path::key("annotations").child(SERVED_BY), name.into());
        self.depends(&node, &[inside(KUBELET_CREDENTIALS, machine, "kubelet")]);
    }

    /// Pods of Slipway's own add-ons read the authorities once: they are started again when these change, after the cluster has
    /// published them.
    fn own_pods_are_restarted(&mut self, rotation: Rotation, leader: &Machine) {
        let generations: Vec<String> = rotation.generations().iter().map(ToString::to_string).collect();
        let generations = Value::from(generations.join(" "));
        let path = ["spec", "template", "metadata", "annotations", STARTED_WITH];
        let path = path.into_iter().fold(Path::key("manifest"), |path, key| path.child(key));
        let published = inside(TRUST, leader, RotatedKey::KubernetesCa.name());
        // The next stage may begin when all of them trust both authorities. Without a network of pods, they may not run at all.
        let waits = rotation.stage == Stage::Added && self.becomes_ready();
        for desired in self.resources.iter_mut().filter(|desired| has_pods(desired)) {
            desired.attributes.set(&path, generations.clone());
            desired.depends_on.push(published.clone());
            if waits && let Value::Map(attributes) = &mut desired.attributes {
                attributes.remove("wait");
            }
        }
    }

    /// Whether Slipway approves the requests of the machine's kubelet for serving certificates.
    fn has_serving_names(&self, machine: &Machine) -> bool {
        let node = Address::new("kubernetes_node", machine.name.as_str());
        self.find(&node).is_some_and(|node| node.attributes.get("serving").is_some())
    }

    fn update_after(&mut self, address: &Address, others: &[Address]) {
        for desired in self.resources.iter_mut().filter(|desired| desired.address == *address) {
            desired.lifecycle.update_after.extend(others.iter().cloned());
            desired.lifecycle.update_after.sort();
            desired.lifecycle.update_after.dedup();
        }
    }
}

/// Whether a resource is an object that starts pods.
fn has_pods(desired: &Desired) -> bool {
    let kinds = ["Deployment/", "DaemonSet/"];
    desired.address.kind() == OBJECT && kinds.iter().any(|kind| desired.address.name().starts_with(kind))
}

fn print_of(generation: u32) -> Reference {
    fingerprint(RotatedKey::KubernetesCa, generation)
}

/// The fingerprints of the authorities that are trusted in a stage.
fn trusted(rotation: Rotation) -> Value {
    Value::list(rotation.generations().into_iter().map(print_of))
}
