//! The authorities of the API in a rotation: the kubelet trusts those of a file, and has certificates of one of them.

use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value as Json, json};
use slipway_bootstrap::approval::CLIENT_SIGNER;
use slipway_bootstrap::configuration::EncryptionAlgorithm;
use slipway_bootstrap::kubeconfig::Kubeconfig as Document;
use slipway_bootstrap::pki::{AlternativeNames, Certificate, PrivateKey, Request};
use slipway_resource::{Attribute, ErrorClass, Path, ProviderError, Type, Value};
use tokio::time::Instant;

use super::super::Work;
use super::super::x509::{self, SIGNER, TRUSTS, fingerprint, of_pki};
use crate::api_server::ApiServer;
use crate::attributes::Attributes;
use crate::disk::{Access, Disk};
use crate::error::{conflict, not_found, permanent};

/// The collection of requests for certificates.
const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/// The usages of a kubelet's client certificate with an elliptic key.
const USAGES: [&str; 2] = ["digital signature", "client auth"];

const PAUSE: Duration = Duration::from_millis(500);

/// The time between two requests: another controller manager may become the one that signs.
const AGAIN: Duration = Duration::from_secs(5);

/// The attributes of the authorities.
pub(super) fn attributes() -> [(&'static str, Attribute); 4] {
    let path = |text: &str| Attribute::optional(Type::String).write_only().describe(text);
    [
        ("ca_path", path("The file with the CAs of the API.")),
        (
            TRUSTS,
            Attribute::optional(Type::set(Type::String)).describe(
                "The fingerprints of the CAs that the kubelet trusts: all those in the file. Without, it trusts what it came with.",
            ),
        ),
        (
            SIGNER,
            Attribute::optional(Type::String).describe(
                "The fingerprint of the CA that signs its client certificate; another one is asked for where it differs.",
            ),
        ),
        (
            "serving_path",
            path("The file with its serving certificate. One of another CA is removed, so that the kubelet asks for another one."),
        ),
    ]
}

/// Whether the kubelet follows the authorities of a file.
pub(super) fn is_followed(wanted: Attributes<'_>) -> bool {
    wanted.0.get(TRUSTS).is_some_and(|trusts| !trusts.is_null())
}

/// Puts the CAs that a kubelet trusts, and the one that signed its certificate, into attributes where they are desired.
pub(super) fn show(
    disk: &Disk,
    wanted: Attributes<'_>,
    (kubeconfig, certificate): (&Document, &str),
    into: &mut Value,
) -> Result<(), ProviderError> {
    if !is_followed(wanted) {
        return Ok(());
    }
    let trusted: BTreeSet<String> = trusted(kubeconfig).iter().map(fingerprint).collect();
    if !trusted.is_empty() {
        into.set(&Path::key(TRUSTS), Value::list(trusted));
    }
    if let Some(signer) = signer(disk, wanted, certificate)? {
        into.set(&Path::key(SIGNER), signer.into());
    }
    Ok(())
}

/// Has the kubelet's files follow the authorities. Returns whether it must read them again.
///
/// # Errors
/// When the file has other CAs, or the API gives no certificate of the desired one in time.
pub(super) async fn follow(work: &Work, limit: Duration) -> Result<bool, ProviderError> {
    let wanted = work.wanted();
    if !is_followed(wanted) {
        return Ok(false);
    }
    let embedded = work.blocking(|work| embed(&work.host().disk, work.wanted())).await?;
    let Some(signer) = wanted.optional_text(SIGNER)?.map(str::to_owned) else { return Ok(embedded) };
    let renewed = renew(work, &signer, limit).await?;
    let removed =
        work.blocking(move |work| remove_serving(&work.host().disk, work.wanted(), &signer)).await?;
    Ok(embedded || renewed || removed)
}

/// The CAs in a kubeconfig.
fn trusted(kubeconfig: &Document) -> Vec<Certificate> {
    let text = kubeconfig.cluster().ok().and_then(|cluster| cluster.authority);
    text.and_then(|text| Certificate::chain_from_pem(&text).ok()).unwrap_or_default()
}

/// The CA that signed the certificate in a file, among those of the API; `None` when it is not one of them.
fn signer(disk: &Disk, wanted: Attributes<'_>, path: &str) -> Result<Option<String>, ProviderError> {
    let (Some(authorities), Ok(Some(chain))) =
        (wanted.optional_text("ca_path")?, x509::read_chain(disk, path))
    else {
        return Ok(None);
    };
    Ok(chain
        .split_first()
        .and_then(|(certificate, others)| x509::signer(disk, authorities, certificate, others)))
}

fn parse(disk: &Disk, path: &str) -> Result<Document, ProviderError> {
    let text = disk.read_text(path)?.ok_or_else(|| not_found(format!("{path} is not there")))?;
    Document::parse(&text).map_err(|error| permanent(format!("{path}: {error}")))
}

/// Writes the CAs of the file into the kubeconfig. Returns whether they were others.
fn embed(disk: &Disk, wanted: Attributes<'_>) -> Result<bool, ProviderError> {
    let (path, authorities) = (wanted.text("kubeconfig_path")?, wanted.text("ca_path")?);
    let missing = || not_found(format!("the CA's file {authorities} is not there"));
    let text = disk.read_text(authorities)?.ok_or_else(missing)?;
    let chain = Certificate::chain_from_pem(&text).map_err(of_pki(authorities))?;
    let there: BTreeSet<String> = chain.iter().map(fingerprint).collect();
    let named: BTreeSet<String> = wanted.texts(TRUSTS).into_iter().collect();
    if there != named {
        let text = format!("{authorities} does not have the CAs that the kubelet is to trust");
        return Err(conflict(text).with_hint("run the command again: the file of the CA changes before"));
    }
    let document = parse(disk, path)?;
    if trusted(&document).iter().map(fingerprint).collect::<BTreeSet<String>>() == there {
        return Ok(false);
    }
    let wrong = |error: slipway_bootstrap::kubeconfig::Error| permanent(format!("{path}: {error}"));
    let server = document.cluster().map_err(wrong)?.server;
    let document = document.with_server(&server, Some(&text)).map_err(wrong)?;
    let mode = disk.status(path)?.map_or(0o600, |status| status.mode());
    disk.write(path, document.to_yaml().expose().as_bytes(), Access::mode(mode))?;
    Ok(true)
}

/// Asks the API for a client certificate until it is one of the desired CA, as a kubelet does shortly before the end of its own.
/// Returns whether there is another certificate.
async fn renew(work: &Work, wanted_signer: &str, limit: Duration) -> Result<bool, ProviderError> {
    let (begun, mut reported) = (Instant::now(), false);
    loop {
        let path = work.wanted().text("certificate_path")?.to_owned();
        let is_signed = work.blocking({
            let (path, wanted_signer) = (path.clone(), wanted_signer.to_owned());
            move |work: &Work| {
                Ok(signer(&work.host().disk, work.wanted(), &path)?.is_some_and(|it| it == wanted_signer))
            }
        });
        if is_signed.await? {
            return Ok(reported);
        }
        if !std::mem::replace(&mut reported, true) {
            work.tell("asks the API for a client certificate of the authority in use");
        }
        let asked = ask(work, &path, begun + limit).await;
        let why = match asked {
            Ok(Some(text)) => {
                let wanted_signer = wanted_signer.to_owned();
                let keep =
                    move |work: &Work| keep(&work.host().disk, work.wanted(), (&path, &text), &wanted_signer);
                if work.blocking(keep).await? {
                    return Ok(true);
                }
                "it is signed by another authority".to_owned()
            }
            Ok(None) => "it is not signed in time".to_owned(),
            // The API server may be restarted.
            Err(error) if error.class.is_retryable() => error.message,
            Err(error) => return Err(error),
        };
        if begun.elapsed() >= limit {
            let text = format!(
                "the kubelet has no client certificate of the authority in use after {} s: {why}",
                limit.as_secs()
            );
            return Err(ProviderError::new(ErrorClass::Permanent, text).with_hint(
                "`slipway logs NODE kube-controller-manager` shows why; the step may be run again",
            ));
        }
        work.pause(AGAIN).await?;
    }
}

/// The kubelet's request for a certificate, its new key, and the way to the API with its present certificate.
fn request(
    disk: &Disk,
    wanted: Attributes<'_>,
    path: &str,
) -> Result<(Json, String, ApiServer), ProviderError> {
    let both = disk.read(path)?.ok_or_else(|| not_found(format!("{path} is not there")))?;
    let chain = x509::read_chain(disk, path)?.unwrap_or_default();
    let present = chain.first().ok_or_else(|| not_found(format!("{path} has no certificate")))?;
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).map_err(of_pki(path))?;
    let names = AlternativeNames { dns: Vec::new(), ip: Vec::new() };
    let request = Request::new(present.subject(), &names, &key).map_err(of_pki(path))?;
    let object = json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": { "generateName": "slipway-" },
        "spec": { "request": BASE64.encode(request.to_pem()), "signerName": CLIENT_SIGNER, "usages": USAGES },
    });
    let authorities = wanted.text("ca_path")?;
    let missing = || not_found(format!("the CA's file {authorities} is not there"));
    let authorities = disk.read(authorities)?.ok_or_else(missing)?;
    let kubeconfig = wanted.text("kubeconfig_path")?;
    let cluster = parse(disk, kubeconfig)?.cluster();
    let server = cluster.map_err(|error| permanent(format!("{kubeconfig}: {error}")))?.server;
    let api = ApiServer::at(&server, authorities, (both.clone(), both))?;
    let key = key.to_pem().map_err(of_pki(path))?;
    Ok((object, key.expose().to_owned(), api))
}

/// Asks for a certificate once. Returns it with its key, in PEM; `None` when it is not signed until the deadline.
async fn ask(work: &Work, path: &str, until: Instant) -> Result<Option<String>, ProviderError> {
    let path = path.to_owned();
    let (object, key, api) =
        work.blocking(move |work| request(&work.host().disk, work.wanted(), &path)).await?;
    let made = api.post(REQUESTS, &object).await?;
    let name = made.pointer("/metadata/name").and_then(Json::as_str).unwrap_or_default();
    let place = format!("{REQUESTS}/{name}");
    while Instant::now() < until {
        let Some(found) = api.get(&place).await? else { return Ok(None) };
        if let Some(certificate) = found.pointer("/status/certificate").and_then(Json::as_str) {
            let bytes = BASE64.decode(certificate).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let text = bytes.ok_or_else(|| permanent(format!("{name} has a certificate that is no text")))?;
            return Ok(Some(format!("{}\n{key}", text.trim_end())));
        }
        if let Some(why) = refusal(&found) {
            return Err(permanent(format!("the request {name} for a client certificate is refused: {why}")));
        }
        work.pause(PAUSE).await?;
    }
    Ok(None)
}

/// Why a request gets no certificate; `None` while it may get one.
fn refusal(request: &Json) -> Option<String> {
    let conditions = request.pointer("/status/conditions").and_then(Json::as_array)?;
    let text = |condition: &Json, name: &str| condition.get(name).and_then(Json::as_str).map(str::to_owned);
    let is_refusal =
        |condition: &&Json| matches!(text(condition, "type").as_deref(), Some("Denied" | "Failed"));
    let found = conditions.iter().find(is_refusal)?;
    Some(text(found, "message").unwrap_or_else(|| "it does not say why".to_owned()))
}

/// Keeps a new certificate with its key, if the desired CA signed it.
fn keep(
    disk: &Disk,
    wanted: Attributes<'_>,
    (path, text): (&str, &str),
    wanted_signer: &str,
) -> Result<bool, ProviderError> {
    let chain = Certificate::chain_from_pem(text).map_err(of_pki(path))?;
    let Some((certificate, others)) = chain.split_first() else { return Ok(false) };
    let found = x509::signer(disk, wanted.text("ca_path")?, certificate, others);
    if found.as_deref() != Some(wanted_signer) {
        return Ok(false);
    }
    // The kubelet's link leads to the newest file, which is replaced.
    disk.write(path, text.as_bytes(), Access::mode(0o600))?;
    Ok(true)
}

/// Removes a serving certificate of another CA than the desired one. Returns whether there was one.
fn remove_serving(disk: &Disk, wanted: Attributes<'_>, wanted_signer: &str) -> Result<bool, ProviderError> {
    let Some(path) = wanted.optional_text("serving_path")? else { return Ok(false) };
    if disk.status(path)?.is_none() || signer(disk, wanted, path)?.as_deref() == Some(wanted_signer) {
        return Ok(false);
    }
    disk.remove(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_refused_by_its_conditions_only() {
        let request = |kind: &str| json!({"status": {"conditions": [{"type": kind, "message": "no node"}]}});
        assert_eq!(refusal(&json!({})), None);
        assert_eq!(refusal(&request("Approved")), None);
        assert_eq!(refusal(&request("Denied")).as_deref(), Some("no node"));
        assert_eq!(refusal(&request("Failed")).as_deref(), Some("no node"));
    }
}
