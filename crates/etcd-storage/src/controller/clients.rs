//! The certificates in the namespaces of API servers: authorities in ConfigMaps, client certificates in Secrets.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use jiff::Timestamp;
use serde_json::json;
use slipway_controller::k8s_openapi::api::core::v1::{ConfigMap, Secret};
use slipway_resource::hexadecimal;

use crate::storage::{Destination, DestinationStatus, EtcdStorage};

use super::authority::{Authority, Pair};
use super::certificates::{bytes, existing_leaf};
use super::context::Context;
use super::destination::{Content, Unwritten, clean, read, write};
use super::leaf::{InUse, Leaf, renewal};
use super::names::{CERTIFICATE, EXPIRES, HASH, KEY, Names, SERVING_CA, SIGNED_BY, STORAGE, VALIDITY};
use super::report::Report;

/// The kinds of destinations, as the status has them.
const CONFIG_MAP: &str = "ConfigMap";
const SECRET: &str = "Secret";

/// Destinations that were not written, each with the reason.
pub(crate) type Problems = Vec<(&'static str, String)>;

/// Writes the authorities of the proxy's certificate into every ConfigMap. Returns those that were not written.
pub(crate) async fn authorities(
    context: &Context,
    storage: &EtcdStorage,
    authority: &Authority,
    report: &mut Report,
) -> Problems {
    let mut problems = Problems::new();
    let bundle = authority.bundle();
    for destination in &storage.spec.ca_cert_config_map {
        let content = Content {
            annotations: BTreeMap::from([
                (STORAGE, storage.metadata.name.clone().unwrap_or_default()),
                (SIGNED_BY, authority.current.certificate.subject().common_name.clone()),
                (HASH, hash(&bundle)),
            ]),
            data: BTreeMap::from([(SERVING_CA, json!(bundle))]),
        };
        let written = async {
            let existing: ConfigMap = read(&context.client, destination, storage).await?;
            write(&context.client, &existing, destination, &content).await
        };
        note(CONFIG_MAP, destination, written.await.map(|()| None), &mut problems, report);
    }
    problems
}

/// Keeps the client certificate in every Secret, or issues another one if that is due. Returns those that were not written.
pub(crate) async fn certificates(
    context: &Context,
    storage: &EtcdStorage,
    desired: &Leaf,
    signer: &Pair,
    report: &mut Report,
) -> Problems {
    let mut problems = Problems::new();
    for destination in &storage.spec.client_cert_secret {
        let desired = Leaf { name: Names::client(destination), ..desired.clone() };
        let written = one(context, storage, destination, &desired, signer, report).await;
        note(SECRET, destination, written.map(Some), &mut problems, report);
    }
    problems
}

async fn one(
    context: &Context,
    storage: &EtcdStorage,
    destination: &Destination,
    desired: &Leaf,
    signer: &Pair,
    report: &mut Report,
) -> Result<Timestamp, Unwritten> {
    let now = Timestamp::now();
    let existing: Secret = read(&context.client, destination, storage).await?;
    let leaf = existing_leaf(&existing);
    let InUse { certificate, pem, key, is_new } = desired.in_use(leaf, signer, now)?;
    let content = Content {
        annotations: BTreeMap::from([
            (STORAGE, storage.metadata.name.clone().unwrap_or_default()),
            (EXPIRES, certificate.not_after().to_string()),
            (SIGNED_BY, certificate.issuer().common_name.clone()),
            (VALIDITY, desired.stamp()),
            (HASH, hash(&pem)),
        ]),
        data: BTreeMap::from([(CERTIFICATE, json!(bytes(&pem))), (KEY, json!(bytes(key.expose())))]),
    };
    write(&context.client, &existing, destination, &content).await?;
    if is_new {
        context.metrics.issued("client");
        report.tell(
            "ClientCertificateIssued",
            format!("it is in the Secret {destination}, and valid until {}", certificate.not_after()),
        );
    }
    report.ends(certificate.not_after(), renewal(&certificate));
    Ok(certificate.not_after())
}

/// Adds a destination to the status, and to the problems if it was not written.
fn note(
    kind: &'static str,
    destination: &Destination,
    written: Result<Option<Timestamp>, Unwritten>,
    problems: &mut Problems,
    report: &mut Report,
) {
    let mut status = DestinationStatus {
        kind: kind.to_owned(),
        namespace: destination.namespace.clone(),
        name: destination.name.clone(),
        ..DestinationStatus::default()
    };
    match written {
        Ok(not_after) => {
            status.written = true;
            status.not_after = not_after.map(|time| time.to_string());
        }
        Err(error) => {
            status.message = Some(error.to_string());
            problems.push((error.reason(), format!("{kind} {destination}: {error}")));
        }
    }
    report.destinations.push(status);
}

/// Removes our content from destinations that the status names and `keep` does not. Returns those that were not cleaned.
pub(crate) async fn forget(
    context: &Context,
    storage: &EtcdStorage,
    keep: impl Fn(&str, &Destination) -> bool,
) -> Vec<(DestinationStatus, Unwritten)> {
    let mut left = Vec::new();
    let known = storage.status.iter().flat_map(|status| &status.destinations);
    for status in known {
        let destination = Destination { name: status.name.clone(), namespace: status.namespace.clone() };
        if keep(&status.kind, &destination) {
            continue;
        }
        let cleaned = if status.kind == SECRET {
            clean::<Secret>(&context.client, &destination, storage, &[CERTIFICATE, KEY]).await
        } else {
            clean::<ConfigMap>(&context.client, &destination, storage, &[SERVING_CA]).await
        };
        if let Err(error) = cleaned {
            left.push((status.clone(), error));
        }
    }
    left
}

/// Whether the spec names a destination of this kind.
pub(crate) fn is_named(storage: &EtcdStorage, kind: &str, destination: &Destination) -> bool {
    let spec = &storage.spec;
    let list = if kind == SECRET { &spec.client_cert_secret } else { &spec.ca_cert_config_map };
    list.contains(destination)
}

/// A digest of what an API server reads, for a rollout that follows it.
fn hash(content: &str) -> String {
    hexadecimal(digest(&SHA256, content.as_bytes()).as_ref())
}
