//! Keys and certificates.

use std::time::Duration;

use slipway_resource::{Address, Value};

use super::Facts;
use super::inputs::Inputs;
use super::phased::{Resources, fingerprint_of, refer};
use crate::configuration::Configuration;
use crate::material::FINGERPRINT;
use crate::pki::Usage;
use crate::pki::inventory::{self, Entry};

/// The phases, by the names of their keys and certificates.
fn phase(entry: &str, joining: bool) -> &'static str {
    if joining {
        return "control-plane-prepare/certs";
    }
    match entry {
        "ca" => "certs/ca",
        "apiserver" => "certs/apiserver",
        "apiserver-kubelet-client" => "certs/apiserver-kubelet-client",
        "front-proxy-ca" => "certs/front-proxy-ca",
        "front-proxy-client" => "certs/front-proxy-client",
        "etcd-ca" => "certs/etcd-ca",
        "etcd-server" => "certs/etcd-server",
        "etcd-peer" => "certs/etcd-peer",
        "etcd-healthcheck-client" => "certs/etcd-healthcheck-client",
        "apiserver-etcd-client" => "certs/apiserver-etcd-client",
        _ => "certs/sa",
    }
}

/// Every key and certificate of a control plane. Given ones become files. Certificates whose signing key is
/// missing are left out: they exist already, or the user brings them.
pub(super) fn add(
    resources: &mut Resources,
    configuration: &Configuration,
    facts: &Facts,
    inputs: &Inputs,
    joining: bool,
) {
    for entry in inventory::certificates(configuration) {
        let phase = phase(entry.name, joining);
        if let Some(authority) = entry.authority_entry() {
            if !facts.external_authorities.contains(authority.base_name) {
                leaf(resources, phase, entry, authority, configuration, inputs);
            }
        } else if given(inputs, entry.base_name) {
            let phase = if joining { "control-plane-prepare/download-certs" } else { phase };
            shared(resources, phase, configuration, inputs, &format!("{}.crt", entry.base_name), "0644");
            shared(resources, phase, configuration, inputs, &format!("{}.key", entry.base_name), "0600");
        } else if !joining && !facts.external_authorities.contains(entry.base_name) {
            let mut attributes = attributes(entry, configuration);
            attributes.push(("is_ca", true.into()));
            resources.add(phase, "certificate", entry.name, attributes, &[]);
        }
    }
    if given(inputs, inventory::SERVICE_ACCOUNT) {
        let phase = if joining { "control-plane-prepare/download-certs" } else { "certs/sa" };
        // As in kubeadm, which writes a fetched file with another mode than a generated one.
        shared(resources, phase, configuration, inputs, "sa.pub", if joining { "0644" } else { "0600" });
        shared(resources, phase, configuration, inputs, "sa.key", "0600");
    } else if !joining && !facts.external_ca() {
        let path = |file: &str| Value::from(format!("{}/{file}", configuration.cluster.certificates_dir));
        let attributes = vec![
            ("private_path", path("sa.key")),
            ("public_path", path("sa.pub")),
            ("algorithm", configuration.cluster.key_algorithm().as_str().into()),
        ];
        resources.add("certs/sa", "key_pair", "sa", attributes, &[]);
    }
}

fn given(inputs: &Inputs, base_name: &str) -> bool {
    ["crt", "key", "pub"].iter().any(|end| inputs.shared_files.contains_key(&format!("{base_name}.{end}")))
}

fn shared(
    resources: &mut Resources,
    phase: &'static str,
    configuration: &Configuration,
    inputs: &Inputs,
    file: &str,
    mode: &str,
) {
    let Some(content) = inputs.shared_files.get(file) else { return };
    let attributes = vec![
        ("path", format!("{}/{file}", configuration.cluster.certificates_dir).into()),
        ("content", content.clone()),
        (FINGERPRINT, fingerprint_of(content)),
        ("mode", mode.into()),
    ];
    resources.add(phase, "file", &format!("pki/{file}"), attributes, &refer(&inputs.shared_after));
}

fn leaf(
    resources: &mut Resources,
    phase: &'static str,
    entry: &Entry,
    authority: &Entry,
    configuration: &Configuration,
    inputs: &Inputs,
) {
    let mut attributes = attributes(entry, configuration);
    attributes.extend(renewal(configuration, entry.validity(configuration)));
    attributes.push(("is_ca", false.into()));
    attributes.push(("ca_path", authority.certificate_path(configuration).into()));
    attributes.push(("ca_key_path", authority.key_path(configuration).into()));
    let mut after = of_authority(resources, authority);
    if after.is_empty() {
        after.clone_from(&inputs.shared_after);
    }
    resources.add(phase, "certificate", entry.name, attributes, &refer(&after));
}

/// The resources that make the certificate and key of a CA, as far as they are made here.
pub(super) fn of_authority(resources: &Resources, authority: &Entry) -> Vec<Address> {
    let (certificate, key) =
        (format!("pki/{}.crt", authority.base_name), format!("pki/{}.key", authority.base_name));
    resources.those(&[("certificate", authority.name), ("file", &certificate), ("file", &key)])
}

/// When a certificate of this validity gets a successor: a month before its end, or at five sixths of its
/// time, whichever is later. kubeadm renews certificates only in an upgrade.
pub(super) fn renewal(configuration: &Configuration, validity: Duration) -> Option<(&'static str, Value)> {
    const MONTH: u64 = 30 * 24 * 3_600;
    let before = i64::try_from(MONTH.min(validity.as_secs() / 6)).unwrap_or_default();
    configuration.profile.has_own_defaults().then(|| ("renew_before_seconds", before.into()))
}

fn attributes(entry: &Entry, configuration: &Configuration) -> Vec<(&'static str, Value)> {
    let subject = entry.subject(configuration);
    let names = entry.names(configuration);
    let seconds = i64::try_from(entry.validity(configuration).as_secs()).unwrap_or(i64::MAX);
    let usages = entry.usages().iter().map(|usage| match usage {
        Usage::Server => "server",
        Usage::Client => "client",
    });
    vec![
        ("path", entry.certificate_path(configuration).into()),
        ("key_path", entry.key_path(configuration).into()),
        ("common_name", subject.common_name.into()),
        ("organizations", Value::list(subject.organizations)),
        ("dns_names", Value::list(names.dns)),
        ("ip_addresses", Value::list(names.ip.iter().map(ToString::to_string))),
        ("usages", Value::list(usages)),
        ("key_algorithm", configuration.cluster.key_algorithm().as_str().into()),
        ("validity_seconds", seconds.into()),
        ("mode_key", "0600".into()),
    ]
}
