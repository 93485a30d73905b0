//! A kubeconfig.

mod there;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_bootstrap::kubeconfig::{Credentials, Kubeconfig as Document, client_template};
use slipway_bootstrap::pki::{PrivateKey, Subject};
use slipway_resource::provider::{Disruption, PlanItem, Planned};
use slipway_resource::{Attribute, Path, ProviderError, ResourceType, SecretText, Type, Value};

use super::form::{self, memorise};
use super::x509::{self, Authority, SIGNER, TRUSTS, check_signer, of_pki};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::error::{conflict, invalid, not_found, permanent};
use crate::ledger::Found;
use there::There;

/// A kubeconfig with a client certificate that this type makes, with a token, or with files that another
/// program renews. An existing kubeconfig that fits is kept, as kubeadm does.
pub(crate) struct Kubeconfig;

/// The attributes of the CAs.
const OF_AUTHORITIES: [&str; 2] = [TRUSTS, SIGNER];

/// The digest of the written token, to notice another one.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Memory {
    token: Option<String>,
}

#[async_trait]
impl Kind for Kubeconfig {
    fn resource_type(&self) -> ResourceType {
        let optional = |text: &str| Attribute::optional(Type::String).describe(text);
        let mut kind = form::resource_type(
            "A kubeconfig.",
            200,
            [
                ("path", form::path()),
                (
                    "cluster_name",
                    Attribute::required(Type::String).describe("Name of the cluster in the kubeconfig."),
                ),
                ("server", Attribute::required(Type::String).describe("The URL of the cluster's API.")),
                (
                    "keep_server",
                    Attribute::optional(Type::Bool).write_only().describe(
                        "Whether the server of an existing file stays: `kubelet_credentials` changes it, and restarts the kubelet.",
                    ),
                ),
                (
                    "keep_authorities",
                    Attribute::optional(Type::Bool).write_only().describe(
                        "Whether the CAs of an existing file stay if the CA's file has one of them: `kubelet_credentials` changes them.",
                    ),
                ),
                (
                    "ca_path",
                    optional("The cluster's CA, which is embedded; it also signs the client certificate.")
                        .write_only(),
                ),
                (
                    "certificate_authority",
                    optional("The CA in PEM, in place of a file with it.").write_only(),
                ),
                (
                    "ca_key_path",
                    optional("The key of that CA; without, the name of the CA's file with .key.")
                        .write_only(),
                ),
                ("user_name", Attribute::required(Type::String).describe("Name of the user in the kubeconfig.")),
                ("common_name", optional("The user, as the client certificate has it.")),
                (
                    "organizations",
                    Attribute::optional(Type::set(Type::String))
                        .describe("The groups, as the client certificate has them."),
                ),
                ("token", optional("A bearer token in place of a certificate.").sensitive().write_only()),
                (
                    "client_certificate_path",
                    optional(
                        "A client certificate that another component renews, in place of an embedded one.",
                    ),
                ),
                ("client_key_path", optional("Its key; it may be the same file.")),
                (
                    "rotated_certificate_path",
                    optional("The file in which the user renews its certificate itself, later.").write_only(),
                ),
                (
                    "superseded_by",
                    optional("The file after whose arrival this one is needed no more.").write_only(),
                ),
                (
                    "key_algorithm",
                    optional("The algorithm of its key when it is made; else RSA-2048.").write_only(),
                ),
                (
                    TRUSTS,
                    Attribute::optional_computed(Type::set(Type::String)).describe(
                        "The fingerprints of the CAs that it trusts: all those in the file. Without, one of them is enough.",
                    ),
                ),
                (
                    SIGNER,
                    Attribute::optional_computed(Type::String).describe(
                        "The fingerprint of the CA that signs its client certificate; without, every CA in the file may have signed it.",
                    ),
                ),
                ("mode", form::mode("0600")),
                (
                    "not_after",
                    Attribute::computed(Type::String).describe("When its client certificate ends."),
                ),
                (
                    "sha256",
                    Attribute::computed(Type::String).describe("Digest of its file in hexadecimal digits."),
                ),
                ("problems", Attribute::computed(Type::list(Type::String)).describe("Why it is not valid.")),
            ],
        );
        let renewal = x509::renewal_attributes();
        kind.attributes.extend(renewal.map(|(name, attribute)| (name.to_owned(), attribute)));
        form::keep(&mut kind, &["client_certificate_path", "client_key_path", "needs_renewal", "server"]);
        kind
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "path").map(str::to_owned)
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "path")?;
        form::plan_mode(planned, "mode")?;
        x509::check_algorithm(&planned.normalised, "key_algorithm")?;
        let is_set = |name: &str| planned.normalised.get(name).is_some_and(|value| !value.is_null());
        let ways =
            ["common_name", "token", "client_certificate_path"].into_iter().filter(|name| is_set(name));
        if ways.count() != 1 {
            return Err(invalid(
                "a kubeconfig has one of common_name (for a certificate of its own), token, client_certificate_path",
            ));
        }
        if is_set("common_name") && !is_set("ca_path") {
            return Err(invalid("ca_path: a certificate of its own needs the CA that signs it"));
        }
        let Some(observed) = &item.observed else { return Ok(()) };
        let rotates = observed.get("client_certificate_path").is_some_and(|value| !value.is_null());
        if is_set("common_name") && rotates {
            // The kubelet renews its certificate itself by now, in a file of its own.
            for name in ["client_certificate_path", "client_key_path", "needs_renewal"] {
                let kept = observed.get(name).cloned().unwrap_or_default();
                planned.normalised.set(&Path::key(name), kept);
            }
        }
        if Attributes(&planned.normalised).flag("keep_server")
            && let Some(server) = observed.get("server").filter(|server| !server.is_null())
        {
            planned.normalised.set(&Path::key("server"), server.clone());
        }
        if let Some(applied) = item.last_applied.as_ref().filter(|_| has_done_its_work(observed)) {
            // The kubeconfig is gone because it is not needed any more, so a renewed token or another CA need not be
            // written.
            for name in ["token", "certificate_authority"] {
                let kept = applied.get(name).cloned().unwrap_or_default();
                planned.normalised.set(&Path::key(name), kept);
            }
        }
        x509::tolerate(&mut planned.normalised, observed, item.last_applied.as_ref(), "organizations");
        planned.reasons.extend(x509::renewal_reason(observed));
        let problems = observed.get("problems").and_then(Value::as_list).unwrap_or_default();
        planned.reasons.extend(problems.iter().filter_map(Value::as_str).map(str::to_owned));
        let changes =
            slipway_resource::diff::diff(&self.resource_type(), observed, &planned.normalised, None);
        if changes.iter().any(|change| change.path != Path::key("mode")) {
            let asked = item.desired.as_ref();
            let is_left = |name: &&str| asked.and_then(|asked| asked.get(name)).is_none_or(Value::is_null);
            for name in ["not_after", "sha256"].into_iter().chain(OF_AUTHORITIES.into_iter().filter(is_left))
            {
                planned.normalised.set(&Path::key(name), Value::Unknown);
                planned.unknown_after.push(Path::key(name));
            }
            planned.disruption = Disruption::Brief;
        }
        Ok(())
    }

    async fn look(&self, work: &Work) -> Result<Found, ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            let Some(there) = There::read(disk, work.identity())? else { return Ok(Found::Nothing) };
            let problems = there.misfits(disk, work.wanted())?;
            if problems.is_empty() {
                return Ok(Found::Kept);
            }
            let text =
                format!("{} is there already and does not fit: {}", work.identity(), problems.join("; "));
            Err(conflict(text).with_hint(form::aside(work.identity())))
        })
        .await
    }

    async fn foresee(&self, work: &Work) -> Result<Json, ProviderError> {
        memorise(&Memory { token: token(work.wanted())? })
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            let wanted = work.wanted();
            let access = form::access(disk, wanted, "mode", 0o600)?;
            // An unreadable file is written again; its ownership was checked before.
            let (there, is_broken) = match There::read(disk, work.identity()) {
                Ok(there) => (there, false),
                Err(_) => (None, true),
            };
            if there.is_none() && !is_broken && is_superseded(disk, wanted)? {
                return memorise(&Memory { token: token(wanted)? });
            }
            let fits = match &there {
                Some(there) => there.misfits(disk, wanted)?.is_empty() && !there.is_due(disk, wanted),
                None => false,
            };
            if !fits {
                let document = make(disk, wanted, there.as_ref())?;
                disk.write(work.identity(), document.to_yaml().expose().as_bytes(), access)?;
            }
            disk.set_access(work.identity(), access)?;
            memorise(&Memory { token: token(wanted)? })
        })
        .await
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        if work.stays() {
            return Ok(());
        }
        work.blocking(|work| {
            remove_begun(&work.host().disk, work.place.wanted())?;
            work.host().disk.remove(work.identity()).map(drop)
        })
        .await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        Place::blocking(place, |place, host| {
            let path = place.identity.as_str();
            let Some(status) = host.disk.status(path)? else {
                return Ok(if is_superseded(&host.disk, place.wanted())? { as_wanted(place) } else { None });
            };
            let mut value = Value::map([("path", path)]);
            value.set(&Path::key("mode"), form::mode_text(status.mode()).into());
            value.set(&Path::key("needs_renewal"), false.into());
            let there = match There::read(&host.disk, path) {
                Ok(Some(there)) => there,
                Ok(None) => return Ok(None),
                Err(error) => {
                    value.set(&Path::key("valid"), false.into());
                    value.set(&Path::key("problems"), Value::list([error.message]));
                    return Ok(Some(value));
                }
            };
            if let Some(bytes) = host.disk.read(path)? {
                value.set(&Path::key("sha256"), super::file_digest(&bytes).into());
            }
            there.show(&host.disk, place, &mut value);
            Ok(Some(value))
        })
        .await
    }
}

/// Whether the observed attributes are those of a kubeconfig that is gone because it is not needed any more.
fn has_done_its_work(observed: &Value) -> bool {
    let is_null = |name: &str| observed.get(name).is_none_or(Value::is_null);
    is_null("sha256") && is_null("problems")
}

/// Whether the kubeconfig is gone because it is not needed any more. A successor that names a missing
/// certificate does not count: a kubelet writes its own kubeconfig before it has a certificate.
fn is_superseded(disk: &Disk, wanted: Attributes<'_>) -> Result<bool, ProviderError> {
    let Some(path) = wanted.optional_text("superseded_by")? else { return Ok(false) };
    let Some(text) = disk.read_text(path)? else { return Ok(false) };
    let files = Document::parse(&text).ok().and_then(|document| document.client_files());
    match files {
        Some((certificate, _)) => Ok(disk.status(&certificate)?.is_some()),
        None => Ok(true),
    }
}

/// Removes an unfinished successor of a removed kubeconfig.
fn remove_begun(disk: &Disk, wanted: Attributes<'_>) -> Result<(), ProviderError> {
    match wanted.optional_text("superseded_by")? {
        Some(path) if !is_superseded(disk, wanted)? => disk.remove(path).map(drop),
        _ => Ok(()),
    }
}

/// The attributes of a kubeconfig that is not needed any more: the desired ones, so that no change is
/// planned.
fn as_wanted(place: &Place) -> Option<Value> {
    let mut value = place.entry.as_ref()?.wanted.clone();
    for (name, attribute) in &Kubeconfig.resource_type().attributes {
        if attribute.write_only {
            value.set(&Path::key(name.as_str()), Value::Null);
        } else if value.get(name).is_none() {
            value.set(&Path::key(name.as_str()), attribute.default.clone());
        }
    }
    Some(value)
}

/// The digest of the desired token. It is stored only on the node, where the token is, too.
fn token(wanted: Attributes<'_>) -> Result<Option<String>, ProviderError> {
    Ok(wanted.optional_text("token")?.map(|text| super::file_digest(text.as_bytes())))
}

/// The desired document; parts of the existing one that still fit are kept.
fn make(disk: &Disk, wanted: Attributes<'_>, there: Option<&There>) -> Result<Document, ProviderError> {
    let cluster = wanted.text("cluster_name")?;
    let kept = there.filter(|_| wanted.flag("keep_server")).and_then(There::server);
    let server = kept.as_deref().unwrap_or(wanted.text("server")?);
    let user = wanted.text("user_name")?;
    let authority = match (wanted.optional_text("ca_path")?, wanted.optional_text("certificate_authority")?) {
        (Some(path), _) => {
            let text = disk.read_text(path)?;
            text.ok_or_else(|| not_found(format!("the CA's file {path} is not there")))?
        }
        (None, Some(text)) => text.to_owned(),
        (None, None) => String::new(),
    };
    let kept = there.filter(|_| wanted.flag("keep_authorities"));
    let authority = kept.and_then(|there| there.authorities_beside(&authority)).unwrap_or(authority);
    let credentials = credentials(disk, wanted, there)?;
    Ok(Document::new(cluster, server, &authority, user, &credentials))
}

fn credentials(
    disk: &Disk,
    wanted: Attributes<'_>,
    there: Option<&There>,
) -> Result<Credentials, ProviderError> {
    if let Some(token) = wanted.optional_text("token")? {
        return Ok(Credentials::Token(SecretText::new(token)));
    }
    if let Some(certificate) = wanted.optional_text("client_certificate_path")? {
        let key = wanted.optional_text("client_key_path")?.unwrap_or(certificate);
        return Ok(Credentials::Files { certificate: certificate.to_owned(), key: key.to_owned() });
    }
    if let Some(kept) = there.and_then(|there| there.credentials_that_fit(disk, wanted)) {
        return Ok(kept);
    }
    let path = wanted.text("ca_path")?;
    let key = wanted.optional_text("ca_key_path")?;
    let key = key.map_or_else(|| format!("{}.key", path.trim_end_matches(".crt")), str::to_owned);
    let authority = Authority::read(disk, path, &key)?;
    check_signer(path, &authority.certificate, wanted)?;
    let subject = Subject::new(wanted.text("common_name")?).with_organizations(wanted.texts("organizations"));
    let template = client_template(subject, &authority.certificate, Timestamp::now(), x509::validity(wanted))
        .map_err(of_pki("validity_seconds"))?;
    let key = PrivateKey::generate(x509::algorithm(wanted, "key_algorithm")?).map_err(of_pki(path))?;
    let certificate = template.signed_by(key.public_key(), &authority.certificate, &authority.key);
    let certificate = certificate.map_err(of_pki(path))?;
    let key = key.to_pem().map_err(|error| permanent(error.to_string()))?;
    Ok(Credentials::Certificate { certificate: certificate.to_pem(), key })
}
