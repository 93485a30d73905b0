//! Static pods, and etcd's members.

use slipway_cluster_input::Profile;
use slipway_resource::{Address, Path, Reference, TemplatePart, Value};

use super::certificates::of_authority;
use super::inputs::Inputs;
use super::phased::{Resources, refer};
use super::{ExpandError, Facts, etcd_backup};
use crate::configuration::Configuration;
use crate::hardened;
use crate::material::FINGERPRINT;
use crate::patch::Patches;
use crate::pki::inventory;
use crate::static_pod::{self, Component, InitialCluster, etcd_url, manifest, pod};

/// Placeholder in a manifest for the text of a reference.
const PLACEHOLDER: &str = "--placeholder-of-the-members--";

/// The certificates and files that a component reads.
fn needs(resources: &Resources, component: Component) -> Vec<Address> {
    let certificates = |names: &[&str]| -> Vec<Address> {
        names.iter().filter_map(|name| resources.find("certificate", name)).collect()
    };
    let mut needs = match component {
        Component::Etcd => certificates(&["etcd-server", "etcd-peer"]),
        Component::ApiServer => certificates(&[
            "apiserver",
            "apiserver-kubelet-client",
            "front-proxy-client",
            "apiserver-etcd-client",
        ]),
        Component::ControllerManager => resources.those(&[("kubeconfig", "controller-manager")]),
        Component::Scheduler => resources.those(&[("kubeconfig", "scheduler")]),
    };
    let authority = |name: &str| {
        inventory::certificate(name).map(|entry| of_authority(resources, entry)).unwrap_or_default()
    };
    match component {
        Component::Etcd => needs.extend(authority("etcd-ca")),
        Component::ApiServer | Component::ControllerManager => {
            needs.extend(authority("ca"));
            needs.extend(authority("front-proxy-ca"));
            needs.extend(resources.those(&[
                ("key_pair", "sa"),
                ("file", "pki/sa.key"),
                ("file", "pki/sa.pub"),
            ]));
        }
        Component::Scheduler => {}
    }
    if component == Component::ApiServer {
        needs.extend(resources.those(&[
            ("file", "encryption-configuration"),
            ("file", "authentication-configuration"),
            ("file", "admission-configuration"),
            ("file", "audit-policy"),
            ("directory", "audit-log"),
        ]));
    }
    needs
}

/// Adds the static pod of a component other than a joining etcd.
pub(super) fn add(
    resources: &mut Resources,
    phase: &'static str,
    component: Component,
    configuration: &Configuration,
    facts: &Facts,
    patches: &Patches,
    after: &[&Address],
) -> Result<Address, ExpandError> {
    let text = manifest(component, pod(component, configuration, facts), patches)?;
    Ok(place(resources, phase, component, configuration, text.into(), after, false))
}

fn place(
    resources: &mut Resources,
    phase: &'static str,
    component: Component,
    configuration: &Configuration,
    manifest: Value,
    after: &[&Address],
    is_learner: bool,
) -> Address {
    let needed = needs(resources, component);
    let timeout = configuration.node.timeouts.control_plane_component_health_check.get().as_secs();
    let mut attributes = vec![("path", component.path().into()), ("manifest", manifest)];
    attributes.push(("ready_url", static_pod::ready_url(component, configuration).into()));
    attributes.push(("ready_timeout_seconds", i64::try_from(timeout).unwrap_or(i64::MAX).into()));
    // A learner is not ready before its promotion, which is the next step and waits until the learner serves.
    if is_learner {
        attributes.push(("ready_later", true.into()));
    }
    if component == Component::ApiServer {
        let ca = format!("{}/ca.crt", configuration.cluster.certificates_dir);
        attributes.push(("ready_ca_path", ca.into()));
    }
    // Components reload certificates from files; they read these files only once.
    let read_once: &[(&str, &str, &str)] = match component {
        Component::ApiServer => &[
            ("audit-policy", "file", "audit-policy"),
            ("admission-configuration", "file", "admission-configuration"),
        ],
        Component::ControllerManager => &[("kubeconfig", "kubeconfig", "controller-manager")],
        Component::Scheduler => &[("kubeconfig", "kubeconfig", "scheduler")],
        Component::Etcd => &[],
    };
    let digests: Vec<(&str, Value)> = read_once
        .iter()
        .filter_map(|(what, kind, name)| {
            Some((*what, Value::reference(resources.find(kind, name)?, "sha256")))
        })
        .collect();
    if !digests.is_empty() {
        attributes.push(("volatile_inputs", Value::map(digests)));
    }
    let mut all: Vec<&Address> = refer(&needed);
    all.extend(after);
    resources.add_in_turn(phase, "static_pod", component.name(), attributes, &all)
}

/// The attributes of etcd's members: their endpoints and client credentials.
fn member(configuration: &Configuration, endpoints: Vec<String>) -> Vec<(&'static str, Value)> {
    let own = configuration.node.advertise_address.to_string();
    let pki = |file: &str| format!("{}/etcd/{file}", configuration.cluster.certificates_dir);
    let timeout = configuration.node.timeouts.etcd_api_call.get().as_secs();
    vec![
        ("name", configuration.node.member_name().into()),
        ("peer_urls", Value::list([etcd_url(&own, static_pod::ETCD_PEER_PORT)])),
        ("client_urls", Value::list([etcd_url(&own, static_pod::ETCD_CLIENT_PORT)])),
        ("endpoints", Value::list(endpoints)),
        ("ca_path", pki("ca.crt").into()),
        ("cert_path", pki("healthcheck-client.crt").into()),
        ("key_path", pki("healthcheck-client.key").into()),
        ("timeout_seconds", i64::try_from(timeout).unwrap_or(i64::MAX).into()),
    ]
}

/// The folder in which a member of etcd looks for the data that a volume may have of it; none where the data is on the disk of the
/// node.
fn data_on_volume(configuration: &Configuration) -> Option<(&'static str, Value)> {
    configuration.node.etcd_member.as_ref()?;
    Some(("data_dir", configuration.cluster.etcd.local()?.data_dir.clone().into()))
}

/// The folder of etcd's data. On a volume it may have data already, and stays when the node is deleted. Otherwise it is deleted with
/// the node only if Slipway has made it. In the profile `hardened` it belongs to an account without a login; etcd itself runs
/// as root in its container, and can read what it has written.
fn data_folder(
    resources: &mut Resources,
    phase: &'static str,
    configuration: &Configuration,
) -> Option<Address> {
    let local = configuration.cluster.etcd.local()?;
    let mut attributes = vec![("path", local.data_dir.clone().into()), ("mode", "0700".into())];
    if configuration.node.etcd_member.is_none() {
        // It contains etcd's data, which is irreplaceable.
        attributes.extend([("purge", true.into()), (FINGERPRINT, "etcd".into())]);
    }
    let mut account = None;
    let owner = match configuration.profile {
        Profile::Hardened => {
            let name = hardened::ETCD_ACCOUNT;
            account = Some(resources.add(phase, "system_account", name, vec![("name", name.into())], &[]));
            Some(name)
        }
        // Named, so that a cluster which leaves the profile `hardened` leaves no folder of a deleted account.
        Profile::Slipway => Some("root"),
        Profile::Kubeadm => None,
    };
    if let Some(owner) = owner {
        attributes.extend([("owner", owner.into()), ("group", owner.into())]);
    }
    let after: Vec<&Address> = account.iter().collect();
    Some(resources.add(phase, "directory", "etcd-data", attributes, &after))
}

/// The first member of an etcd cluster.
pub(super) fn first_etcd(
    resources: &mut Resources,
    configuration: &Configuration,
    facts: &Facts,
    inputs: &Inputs,
    patches: &Patches,
    kubelet: &Address,
) -> Result<(), ExpandError> {
    let Some(folder) = data_folder(resources, "etcd/local", configuration) else { return Ok(()) };
    let after = [kubelet, &folder];
    let pod = add(resources, "etcd/local", Component::Etcd, configuration, facts, patches, &after)?;
    let own = etcd_url(&configuration.node.advertise_address.to_string(), static_pod::ETCD_CLIENT_PORT);
    let mut attributes = member(configuration, vec![own]);
    attributes.push(("learner_first", false.into()));
    attributes.extend(data_on_volume(configuration));
    let client = resources.those(&[("certificate", "etcd-healthcheck-client")]);
    let mut after = refer(&client);
    after.push(&pod);
    let member = resources.add("etcd/local", "etcd_member", "etcd", attributes, &after);
    etcd_backup::add(resources, "etcd/local", configuration, inputs, &member);
    Ok(())
}

/// A member that joins: added as a learner, started with all members' names, promoted. Returns the resource
/// that this node's API server waits for.
pub(super) fn joining_etcd(
    resources: &mut Resources,
    configuration: &Configuration,
    inputs: &Inputs,
    patches: &Patches,
    kubelet: &Address,
) -> Result<Option<Address>, ExpandError> {
    const PHASE: &str = "etcd-join";
    let Some(folder) = data_folder(resources, PHASE, configuration) else { return Ok(None) };
    let client = resources.those(&[("certificate", "etcd-healthcheck-client")]);
    let mut attributes = member(configuration, inputs.etcd_endpoints.clone());
    attributes.push(("learner_first", true.into()));
    if let Some(data) = data_on_volume(configuration) {
        let others = Value::list(inputs.members_on_volumes.iter().map(String::as_str));
        attributes.extend([data, ("members_on_volumes", others)]);
    }
    // The member is added only when everything else is ready: a member that never starts keeps others out.
    let mut ready = refer(&client);
    let pod_needs = needs(resources, Component::Etcd);
    ready.extend(refer(&pod_needs));
    ready.push(kubelet);
    // What a volume says of an earlier member is in the folder.
    if configuration.node.etcd_member.is_some() {
        ready.push(&folder);
    }
    let added = resources.add(PHASE, "etcd_member", "etcd", attributes, &ready);
    let initial = match &inputs.etcd_members {
        Some(members) => InitialCluster::Existing(members.clone()),
        None => InitialCluster::Text(PLACEHOLDER.to_owned()),
    };
    let text = manifest(Component::Etcd, static_pod::etcd(configuration, &initial), patches)?;
    let text = with_reference(&text, &added, "initial_cluster");
    let after = [kubelet, &folder, &added];
    let pod = place(resources, PHASE, Component::Etcd, configuration, text, &after, true);
    let voter = member(configuration, inputs.etcd_endpoints.clone());
    let mut after = refer(&client);
    after.push(&pod);
    let voter = resources.add(PHASE, "etcd_voter", "etcd", voter, &after);
    etcd_backup::add(resources, PHASE, configuration, inputs, &voter);
    Ok(Some(voter))
}

/// A text in which another resource's output replaces the placeholder.
fn with_reference(text: &str, address: &Address, attribute: &str) -> Value {
    let Some((before, after)) = text.split_once(PLACEHOLDER) else { return text.into() };
    Value::Template(vec![
        TemplatePart::Text(before.to_owned()),
        TemplatePart::Reference(Reference { address: address.clone(), path: Path::key(attribute) }),
        TemplatePart::Text(after.to_owned()),
    ])
}
