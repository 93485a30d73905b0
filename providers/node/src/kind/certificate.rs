//! A certificate with its key.

mod check;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_bootstrap::material::FINGERPRINT;
use slipway_bootstrap::pki::{Certificate as Made, PrivateKey, Template, Usage};
use slipway_resource::provider::{Disruption, PlanItem, Planned};
use slipway_resource::{Attribute, Mode, Path, ProviderError, ResourceType, Type, Value};

use super::form::{self, memorise, recall};
use super::x509::{self, Authority, SIGNER, check_signer, of_pki};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::disk::{Access, Disk};
use crate::error::{conflict, invalid};
use crate::ledger::Found;
use check::{CA_PATH, CHAIN, Pair};

/// A certificate with its key, signed by a CA of the node, or by itself. An existing certificate that fits is
/// kept, as kubeadm does.
pub(crate) struct Certificate;

#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    /// Whether the key was there before the certificate was made.
    key_found: bool,
}

/// The attributes that a new certificate changes.
const OUTPUTS: [&str; 6] =
    ["certificate_pem", "certificate_base64", "not_after", "serial", "public_key_sha256", "sha256"];

/// The attributes of a CA's certificate that never change.
const OF_AUTHORITY: [&str; 7] =
    ["common_name", "organizations", "dns_names", "ip_addresses", "usages", "key_algorithm", "needs_renewal"];

#[async_trait]
impl Kind for Certificate {
    fn resource_type(&self) -> ResourceType {
        let text = |text: &str| Attribute::computed(Type::String).describe(text);
        let mut kind = form::resource_type(
            "A certificate with its key.",
            200,
            [
                ("path", form::path()),
                ("key_path", Attribute::required(Type::String).immutable().describe("The path of its key.")),
                (
                    "ca_path",
                    Attribute::optional(Type::String)
                        .write_only()
                        .describe("The CA that signs it; without, it signs itself."),
                ),
                (
                    "ca_key_path",
                    Attribute::optional(Type::String)
                        .write_only()
                        .describe("The CA's key; without one there, the certificate must be there already."),
                ),
                (
                    SIGNER,
                    Attribute::optional_computed(Type::String).describe(
                        "The fingerprint of the CA that signs it; without, every CA in the file may have signed it.",
                    ),
                ),
                (
                    CHAIN,
                    Attribute::optional(Type::String).describe(
                        "Certificates in PEM that follow it in its file. Without, those that are there stay, but for cross-certificates.",
                    ),
                ),
                (
                    "usages",
                    Attribute::optional(Type::set(Type::String))
                        .describe("Extended key usages: server, client; none for a CA."),
                ),
                (
                    "is_ca",
                    Attribute::optional(Type::Bool).default_to(false).describe("Whether it signs others."),
                ),
                ("key_algorithm", x509::algorithm_attribute()),
                ("mode", form::mode("0644")),
                ("mode_key", form::mode("0600")),
                ("certificate_pem", text("The certificate in PEM.")),
                ("certificate_base64", text("The PEM in base64, as kubeconfigs have it.")),
                ("not_after", text("When it ends.")),
                ("serial", text("Its serial number in hexadecimal digits.")),
                ("public_key_sha256", text("The pin of its key: sha256: and hexadecimal digits.")),
                (FINGERPRINT, text("The public fingerprint of a CA's key: nothing of another certificate.")),
                ("sha256", text("Digest of the certificate's file in hexadecimal digits.")),
                ("problems", Attribute::computed(Type::list(Type::String)).describe("Why it is not valid.")),
            ],
        );
        let more = x509::subject_attributes().into_iter().chain(x509::renewal_attributes());
        kind.irreplaceable = Some(form::irreplaceable());
        kind.attributes.extend(more.map(|(name, attribute)| (name.to_owned(), attribute)));
        form::keep(&mut kind, &OF_AUTHORITY);
        form::keep(&mut kind, &[SIGNER]);
        kind
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "key_path")?;
        form::checked_path(desired, "path").map(str::to_owned)
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "path")?;
        form::plan_path(planned, "key_path")?;
        form::plan_mode(planned, "mode")?;
        form::plan_mode(planned, "mode_key")?;
        x509::check_algorithm(&planned.normalised, "key_algorithm")?;
        let wanted = Attributes(&planned.normalised);
        if planned.normalised.is_known() {
            x509::names(wanted)?;
            x509::usages(wanted)?;
        }
        let signs = wanted.flag("is_ca");
        if wanted.optional_flag("is_ca") == Some(false) && planned.normalised.get("usages").is_none() {
            return Err(invalid("usages: a certificate that is not a CA's is for server, client or both"));
        }
        if signs && planned.normalised.get("dns_names").is_none() {
            // kubeadm's CAs have their common name as a DNS name.
            let name = planned.normalised.get("common_name").cloned().unwrap_or_default();
            planned.normalised.set(&Path::key("dns_names"), Value::List(vec![name]));
        }
        let Some(observed) = &item.observed else { return Ok(()) };
        for name in ["dns_names", "ip_addresses", "usages"] {
            x509::tolerate(&mut planned.normalised, observed, item.last_applied.as_ref(), name);
        }
        if planned.normalised.get(SIGNER).is_none_or(Value::is_null)
            && let Some(signer) = observed.get(SIGNER)
        {
            planned.normalised.set(&Path::key(SIGNER), signer.clone());
        }
        if signs {
            // An existing CA is kept: all certificates that it has signed depend on it.
            for name in OF_AUTHORITY {
                let kept = observed.get(name).cloned().unwrap_or_default();
                planned.normalised.set(&Path::key(name), kept);
            }
        }
        if !signs {
            planned.reasons.extend(x509::renewal_reason(observed));
        }
        let problems = observed.get("problems").and_then(Value::as_list).unwrap_or_default();
        planned.reasons.extend(problems.iter().filter_map(Value::as_str).map(str::to_owned));
        if self.is_made_anew(observed, &planned.normalised) {
            for name in OUTPUTS {
                planned.normalised.set(&Path::key(name), Value::Unknown);
                planned.unknown_after.push(Path::key(name));
            }
            if observed.get(FINGERPRINT).is_some() {
                // Only with the same key do the certificates of the CA stay valid, and it is not known yet
                // whether the key is the same.
                planned.normalised.set(&Path::key(FINGERPRINT), Value::Unknown);
                planned.unknown_after.push(Path::key(FINGERPRINT));
            }
            planned.disruption = if signs { Disruption::Outage } else { Disruption::Brief };
        }
        Ok(())
    }

    async fn look(&self, work: &Work) -> Result<Found, ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            let pair = Pair::read(disk, work.identity(), work.wanted().text("key_path")?)?;
            let Some(problems) = pair.problems(disk, work.wanted())? else { return Ok(Found::Nothing) };
            if problems.is_empty() {
                return Ok(Found::Kept);
            }
            let text =
                format!("{} is there already and does not fit: {}", work.identity(), problems.join("; "));
            Err(conflict(text).with_hint(format!("{}, and its key with it", form::aside(work.identity()))))
        })
        .await
    }

    async fn foresee(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let memory = match recall::<Memory>(work.place.memory()) {
                Some(memory) => memory,
                None => {
                    let key = work.host().disk.status(work.wanted().text("key_path")?)?;
                    Memory { key_found: key.is_some() }
                }
            };
            memorise(&memory)
        })
        .await
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            let wanted = work.wanted();
            let (path, key_path) = (work.identity(), wanted.text("key_path")?);
            let pair = Pair::read(disk, path, key_path)?;
            let problems = pair.problems(disk, wanted)?;
            let due = pair.first().is_some_and(|certificate| x509::is_due(certificate, wanted));
            let fits = problems.as_ref().is_some_and(Vec::is_empty) && (!due || wanted.flag("is_ca"));
            if !fits {
                if wanted.flag("is_ca") && pair.first().is_some_and(Made::is_ca) {
                    let text = format!(
                        "{path} is a CA that does not fit ({}), and everything it has signed hangs on it",
                        problems.unwrap_or_default().join("; ")
                    );
                    return Err(conflict(text).with_hint("bring its key back, or rotate the CA"));
                }
                issue(disk, wanted, path, key_path, &pair, due)?;
            } else if let Some(text) = pair.with_chain(disk, wanted)? {
                disk.write(path, text.as_bytes(), form::access(disk, wanted, "mode", 0o644)?)?;
            }
            disk.set_access(path, form::access(disk, wanted, "mode", 0o644)?)?;
            if disk.status(key_path)?.is_some() {
                disk.set_access(key_path, form::access(disk, wanted, "mode_key", 0o600)?)?;
            }
            Ok(work.place.memory().clone())
        })
        .await
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            let Some(entry) = &work.place.entry else { return Ok(()) };
            if work.stays() {
                return Ok(());
            }
            disk.remove(work.identity())?;
            let memory: Memory = recall(&entry.memory).unwrap_or_default();
            if !memory.key_found || entry.found == Found::TakenOver {
                disk.remove(work.place.wanted().text("key_path")?)?;
            }
            Ok(())
        })
        .await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        Place::blocking(place, |place, host| {
            let path = place.identity.as_str();
            let Some(status) = host.disk.status(path)?.filter(crate::disk::Status::is_file) else {
                return Ok(None);
            };
            let wanted = place.wanted();
            let key_path = match wanted.optional_text("key_path")? {
                Some(path) => path.to_owned(),
                // As kubeadm names them.
                None => format!("{}.key", path.trim_end_matches(".crt")),
            };
            let pair = Pair::read(&host.disk, path, &key_path)?;
            let mut value = Value::map([("path", path), ("key_path", key_path.as_str())]);
            value.set(&Path::key("mode"), form::mode_text(status.mode()).into());
            let key_mode = host.disk.status(&key_path)?.map(|status| form::mode_text(status.mode()));
            // The key file of an external CA does not exist, and its mode does not matter.
            let wanted_mode = wanted.optional_text("mode_key")?.unwrap_or("0600").to_owned();
            value.set(&Path::key("mode_key"), key_mode.unwrap_or(wanted_mode).into());
            pair.show(&host.disk, wanted, &mut value);
            Ok(Some(value))
        })
        .await
    }
}

impl Certificate {
    /// Whether a change needs a new certificate, and not only another mode.
    fn is_made_anew(&self, observed: &Value, planned: &Value) -> bool {
        let kind = self.resource_type();
        let changes = slipway_resource::diff::diff(&kind, observed, planned, Some(planned));
        changes.iter().any(|change| {
            let is_mode = [Path::key("mode"), Path::key("mode_key")].contains(&change.path);
            let is_set = kind.attributes.get(&change.path.to_string());
            !is_mode && is_set.is_none_or(|attribute| attribute.mode != Mode::Computed)
        })
    }
}

/// Makes a certificate, with a new key where that is needed: for a successor, and where there is none that fits.
fn issue(
    disk: &Disk,
    wanted: Attributes<'_>,
    path: &str,
    key_path: &str,
    pair: &Pair,
    due: bool,
) -> Result<(), ProviderError> {
    let algorithm = x509::algorithm(wanted, "key_algorithm")?;
    let subject = x509::subject(wanted)?;
    let signs = wanted.flag("is_ca");
    let now = Timestamp::now();
    let mut template = if signs {
        Template::authority(&subject.common_name, now, x509::validity(wanted)).map_err(of_pki(path))?
    } else {
        Template::leaf(subject.clone(), now, x509::validity(wanted)).map_err(of_pki(path))?
    };
    template.subject = subject;
    let names = x509::names(wanted)?;
    if !names.is_empty() || !signs {
        template = template.with_names(names);
    }
    let usages: Vec<Usage> = x509::usages(wanted)?;
    template = template.with_usages(usages);
    // The CA comes first: without its key no key is made for nothing.
    let authority = match wanted.optional_text(CA_PATH)? {
        Some(authority) => {
            let key = wanted.optional_text("ca_key_path")?;
            let key =
                key.map_or_else(|| format!("{}.key", authority.trim_end_matches(".crt")), str::to_owned);
            let found = Authority::read(disk, authority, &key)?;
            check_signer(authority, &found.certificate, wanted)?;
            Some(found)
        }
        None => None,
    };
    let kept = pair.key.as_ref().filter(|key| !due && key.public_key().algorithm() == algorithm.as_str());
    let made;
    let key = match kept {
        Some(key) => key,
        None => {
            made = PrivateKey::generate(algorithm).map_err(of_pki(key_path))?;
            let text = made.to_pem().map_err(of_pki(key_path))?;
            let access = form::access(disk, wanted, "mode_key", 0o600)?;
            disk.write(key_path, text.expose().as_bytes(), Access { ..access })?;
            &made
        }
    };
    let certificate = match &authority {
        Some(authority) => template.signed_by(key.public_key(), &authority.certificate, &authority.key),
        None => template.self_signed(key),
    };
    let text = format!(
        "{}{}",
        certificate.map_err(of_pki(path))?.to_pem(),
        wanted.optional_text(CHAIN)?.unwrap_or_default()
    );
    disk.write(path, text.as_bytes(), form::access(disk, wanted, "mode", 0o644)?)
}
