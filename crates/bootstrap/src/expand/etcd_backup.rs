//! Snapshots that a control plane takes of its etcd.

use slipway_resource::{Address, Value};

use super::Inputs;
use super::phased::{Resources, refer};
use crate::configuration::Configuration;
use crate::static_pod::{ETCD_CLIENT_PORT, etcd_url};

/// The service that takes snapshots, where they are requested. It is created after the member, and deleted
/// before it.
pub(super) fn add(
    resources: &mut Resources,
    phase: &'static str,
    configuration: &Configuration,
    inputs: &Inputs,
    member: &Address,
) {
    let Some(backup) = &inputs.etcd_backup else { return };
    let pki = |file: &str| Value::from(format!("{}/etcd/{file}", configuration.cluster.certificates_dir));
    let own = configuration.node.advertise_address.to_string();
    let seconds = |seconds: u64| Value::Integer(i64::try_from(seconds).unwrap_or(i64::MAX));
    let mut attributes = vec![
        ("cluster", backup.cluster.clone().into()),
        ("member", configuration.node.name.clone().into()),
        ("endpoint", etcd_url(&own, ETCD_CLIENT_PORT).into()),
        ("ca_path", pki("ca.crt")),
        ("cert_path", pki("healthcheck-client.crt")),
        ("key_path", pki("healthcheck-client.key")),
        ("authority_key_path", pki("ca.key")),
        ("interval_seconds", seconds(backup.interval_seconds)),
        ("retention_seconds", seconds(backup.retention_seconds)),
        ("keep_on_delete", backup.keep_on_delete.into()),
    ];
    attributes.extend(backup.store.clone().map(|store| ("store", store.into())));
    // Files that it reads are deleted after it.
    let read = resources.those(&[
        ("certificate", "etcd-ca"),
        ("certificate", "etcd-healthcheck-client"),
        ("file", "pki/etcd/ca.crt"),
        ("file", "pki/etcd/ca.key"),
    ]);
    let mut after = refer(&read);
    after.push(member);
    resources.add(phase, "etcd_backup", "etcd", attributes, &after);
}
