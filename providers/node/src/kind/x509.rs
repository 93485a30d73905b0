//! Common parts of certificates, requests and kubeconfigs.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use slipway_bootstrap::configuration::EncryptionAlgorithm;
use slipway_bootstrap::pki::{self, AlternativeNames, Certificate, Pin, PrivateKey, Subject, Usage, verify};
use slipway_resource::{Attribute, Path, ProviderError, SecretText, Type, Value};

use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::error::{conflict, invalid, not_found, permanent};

/// The default validity in seconds: a year, as in kubeadm.
const VALIDITY: u64 = 31_536_000;

/// The attribute with the fingerprint of the CA that signed a certificate.
pub(super) const SIGNER: &str = "signed_by";

/// The attribute with the fingerprints of the CAs that a kubeconfig trusts.
pub(super) const TRUSTS: &str = "trusts";

/// The attributes of a certificate's subject and names.
pub(super) fn subject_attributes() -> [(&'static str, Attribute); 4] {
    let set = |text: &str| Attribute::optional(Type::set(Type::String)).describe(text);
    [
        ("common_name", Attribute::required(Type::String).describe("Its common name: the user.")),
        ("organizations", set("Its organizations: the groups.")),
        ("dns_names", set("The DNS names of the server.")),
        ("ip_addresses", set("The IP addresses of the server.")),
    ]
}

/// The algorithm of a key.
pub(super) fn algorithm_attribute() -> Attribute {
    Attribute::optional(Type::String)
        .default_to(EncryptionAlgorithm::Rsa2048.as_str())
        .kept_on_adoption()
        .describe("The algorithm of its key: RSA-2048, RSA-3072, RSA-4096, ECDSA-P256 or ECDSA-P384.")
}

pub(super) fn algorithm(wanted: Attributes<'_>, name: &str) -> Result<EncryptionAlgorithm, ProviderError> {
    match wanted.optional_text(name)? {
        None => Ok(EncryptionAlgorithm::Rsa2048),
        Some(text) => text.parse().map_err(|error| invalid(format!("{name}: {error}"))),
    }
}

/// Refuses a planned algorithm that is none.
pub(super) fn check_algorithm(planned: &Value, name: &str) -> Result<(), ProviderError> {
    match planned.get(name) {
        Some(Value::String(_)) => algorithm(Attributes(planned), name).map(drop),
        _ => Ok(()),
    }
}

pub(super) fn subject(wanted: Attributes<'_>) -> Result<Subject, ProviderError> {
    Ok(Subject::new(wanted.text("common_name")?).with_organizations(wanted.texts("organizations")))
}

pub(super) fn names(wanted: Attributes<'_>) -> Result<AlternativeNames, ProviderError> {
    let mut names = AlternativeNames { dns: wanted.texts("dns_names"), ip: Vec::new() };
    for text in wanted.texts("ip_addresses") {
        let address = text.parse();
        names.ip.push(address.map_err(|_| invalid(format!("ip_addresses: `{text}` is not an IP address")))?);
    }
    Ok(names)
}

pub(super) fn usages(wanted: Attributes<'_>) -> Result<Vec<Usage>, ProviderError> {
    let usage = |text: String| match text.as_str() {
        "server" => Ok(Usage::Server),
        "client" => Ok(Usage::Client),
        _ => Err(invalid(format!("usages: `{text}` is neither server nor client"))),
    };
    let mut usages = wanted.texts("usages").into_iter().map(usage).collect::<Result<Vec<_>, _>>()?;
    usages.sort();
    usages.dedup();
    Ok(usages)
}

pub(super) fn validity(wanted: Attributes<'_>) -> Duration {
    wanted.seconds("validity_seconds", VALIDITY)
}

/// The subject and names of a certificate, as attributes.
pub(super) fn show(subject: &Subject, names: &AlternativeNames, into: &mut Value) {
    let mut set = |name: &str, value: Value| into.set(&Path::key(name), value);
    set("common_name", subject.common_name.as_str().into());
    set("organizations", sorted(subject.organizations.iter().cloned()));
    set("dns_names", sorted(names.dns.iter().cloned()));
    set("ip_addresses", sorted(names.ip.iter().map(ToString::to_string)));
}

pub(super) fn show_usages(usages: &[Usage]) -> Value {
    sorted(usages.iter().map(|usage| match usage {
        Usage::Server => "server".to_owned(),
        Usage::Client => "client".to_owned(),
    }))
}

fn sorted(texts: impl Iterator<Item = String>) -> Value {
    let texts: BTreeSet<String> = texts.collect();
    if texts.is_empty() { Value::Null } else { Value::list(texts) }
}

/// A desired set, with existing entries that were never requested here: kubeadm accepts a certificate with
/// more entries than it needs. Entries that were requested once and are not desired any more are removed.
pub(super) fn tolerate(planned: &mut Value, observed: &Value, last_applied: Option<&Value>, name: &str) {
    let texts = |value: Option<&Value>| -> Option<BTreeSet<String>> {
        match value {
            None | Some(Value::Null) => Some(BTreeSet::new()),
            Some(Value::List(items)) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            Some(_) => None,
        }
    };
    let (Some(mut wanted), Some(there)) = (texts(planned.get(name)), texts(observed.get(name))) else {
        return;
    };
    let asked = last_applied.and_then(|applied| texts(applied.get(name))).unwrap_or_default();
    wanted.extend(there.difference(&asked).cloned());
    planned.set(&Path::key(name), if wanted.is_empty() { Value::Null } else { Value::list(wanted) });
}

/// A time as text (RFC 3339).
pub(super) fn time(time: Timestamp) -> Value {
    time.to_string().into()
}

/// Converts an error of the certificate library into an error about a file.
pub(super) fn of_pki(path: &str) -> impl Fn(pki::Error) -> ProviderError {
    move |error| match error {
        pki::Error::Template(_) => invalid(format!("{path}: {error}")),
        _ => permanent(format!("{path}: {error}")),
    }
}

/// The certificates of a file, at least one.
pub(super) fn read_chain(disk: &Disk, path: &str) -> Result<Option<Vec<Certificate>>, ProviderError> {
    let Some(text) = disk.read_text(path)? else { return Ok(None) };
    Certificate::chain_from_pem(&text).map(Some).map_err(of_pki(path))
}

/// The key of a file.
pub(super) fn read_key(disk: &Disk, path: &str) -> Result<Option<PrivateKey>, ProviderError> {
    let Some(text) = disk.read_text(path)?.map(SecretText::new) else { return Ok(None) };
    PrivateKey::from_pem(text.expose()).map(Some).map_err(of_pki(path))
}

/// A CA that signs.
pub(super) struct Authority {
    pub(super) certificate: Certificate,
    pub(super) key: PrivateKey,
}

impl Authority {
    /// The CA of two files.
    pub(super) fn read(disk: &Disk, certificate: &str, key: &str) -> Result<Self, ProviderError> {
        let missing = |path: &str| not_found(format!("the CA's file {path} is not there"));
        let chain = read_chain(disk, certificate)?.ok_or_else(|| missing(certificate))?;
        let first = chain.into_iter().next().ok_or_else(|| missing(certificate))?;
        let key = read_key(disk, key)?.ok_or_else(|| {
            missing(key).with_hint(
                "the CA is an external one then: have it sign the requests that are written for it, and put the \
                 certificates in their places",
            )
        })?;
        if key.public_key() != first.public_key() {
            return Err(conflict(format!("{certificate} is the certificate of another key than the CA's")));
        }
        Ok(Self { certificate: first, key })
    }
}

/// The fingerprint of a CA: the pin of its key.
pub(super) fn fingerprint(authority: &Certificate) -> String {
    Pin::of(authority.public_key()).to_string()
}

/// The fingerprint of the CA that signed a certificate, among those of a file.
pub(super) fn signer(
    disk: &Disk,
    path: &str,
    certificate: &Certificate,
    intermediates: &[Certificate],
) -> Option<String> {
    let authorities = read_chain(disk, path).ok().flatten()?;
    let signed = |intermediates: &[Certificate]| -> Option<String> {
        let is_signed = |authority: &&Certificate| verify::is_signed(certificate, intermediates, authority);
        authorities.iter().find(is_signed).map(fingerprint)
    };
    // A cross-certificate beside it leads to further CAs.
    signed(&[]).or_else(|| signed(intermediates))
}

/// Refuses another CA than the one that signs the certificate in this stage of a rotation.
pub(super) fn check_signer(
    path: &str,
    authority: &Certificate,
    wanted: Attributes<'_>,
) -> Result<(), ProviderError> {
    match wanted.optional_text(SIGNER)? {
        Some(signer) if signer != fingerprint(authority) => {
            let text = format!(
                "{path} is the CA {}, and the certificate is signed by {signer}",
                fingerprint(authority)
            );
            Err(conflict(text).with_hint("run the command again: the file of the CA changes before"))
        }
        _ => Ok(()),
    }
}

/// Whether a certificate has expired, or will expire within the requested number of seconds.
pub(super) fn is_due(certificate: &Certificate, wanted: Attributes<'_>) -> bool {
    let before = wanted.seconds("renew_before_seconds", 0);
    pki::renew::is_due(certificate, Timestamp::now(), before)
}

/// The reason for the renewal of a certificate that is due.
pub(super) fn renewal_reason(observed: &Value) -> Option<String> {
    let is_due = observed.get("needs_renewal") == Some(&Value::Bool(true));
    let end = observed.get("not_after").and_then(Value::as_str).filter(|_| is_due)?;
    Some(format!("its time ends at {end}: a successor is made"))
}

/// The attribute that turns into a difference when a certificate must be renewed.
pub(super) fn renewal_attributes() -> [(&'static str, Attribute); 4] {
    [
        (
            "validity_seconds",
            Attribute::optional(Type::Integer)
                .write_only()
                .describe("For how many seconds it is valid when it is made; else a year."),
        ),
        (
            "renew_before_seconds",
            Attribute::optional(Type::Integer)
                .write_only()
                .describe("How many seconds before its end it is renewed; else when it is over."),
        ),
        (
            "needs_renewal",
            Attribute::optional(Type::Bool)
                .default_to(false)
                .describe("Whether its time is over, or nearly so. Not to be set."),
        ),
        (
            "valid",
            Attribute::optional(Type::Bool)
                .default_to(true)
                .describe("Whether it belongs to its key and was signed by its CA. Not to be set."),
        ),
    ]
}
