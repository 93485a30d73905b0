//! A key pair without a certificate, as that which signs the tokens of service accounts.

use async_trait::async_trait;
use serde_json::Value as Json;
use slipway_bootstrap::material::{self, FINGERPRINT};
use slipway_bootstrap::pki::{PrivateKey, PublicKey};
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Attribute, Path, ProviderError, ResourceType, Type, Value};

use super::form;
use super::x509::{self, of_pki};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::error::conflict;
use crate::ledger::Found;

/// A private and a public key in two files. An existing key is kept: all signatures of the key depend on it.
pub(crate) struct KeyPair;

#[async_trait]
impl Kind for KeyPair {
    fn resource_type(&self) -> ResourceType {
        let mut kind = form::resource_type(
            "A key pair in two files.",
            200,
            [
                (
                    "private_path",
                    Attribute::required(Type::String).immutable().describe("The path of the private key."),
                ),
                (
                    "public_path",
                    Attribute::required(Type::String).immutable().describe("The path of the public key."),
                ),
                ("algorithm", x509::algorithm_attribute()),
                ("mode", form::mode("0600")),
                (
                    "valid",
                    Attribute::optional(Type::Bool)
                        .default_to(true)
                        .describe("Whether the two belong together. Not to be set."),
                ),
                ("public_key_pem", Attribute::computed(Type::String).describe("The public key in PEM.")),
                (
                    FINGERPRINT,
                    Attribute::computed(Type::String)
                        .describe("The public fingerprint: sha256: and hexadecimal digits."),
                ),
            ],
        );
        kind.irreplaceable = Some(form::irreplaceable());
        form::keep(&mut kind, &["algorithm"]);
        kind
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "private_path")?;
        form::checked_path(desired, "public_path").map(str::to_owned)
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "private_path")?;
        form::plan_path(planned, "public_path")?;
        form::plan_mode(planned, "mode")?;
        x509::check_algorithm(&planned.normalised, "algorithm")?;
        if let Some(observed) = &item.observed {
            let kept = observed.get("algorithm").cloned().unwrap_or_default();
            planned.normalised.set(&Path::key("algorithm"), kept);
            // A public key without its private key can only be replaced by another pair.
            if observed.get("valid").and_then(Value::as_bool) == Some(false) {
                planned.normalised.set(&Path::key(FINGERPRINT), Value::Unknown);
                planned.unknown_after.push(Path::key(FINGERPRINT));
            }
        }
        Ok(())
    }

    async fn look(&self, work: &Work) -> Result<Found, ProviderError> {
        work.blocking(|work| {
            let wanted = work.wanted();
            let (private, public) = read(&work.host().disk, wanted.text("private_path")?, work.identity())?;
            match (private, public) {
                (None, None) => Ok(Found::Nothing),
                (Some(private), Some(public)) if *private.public_key() != public => {
                    let text =
                        format!("{} is there already, and not of the private key beside it", work.identity());
                    Err(conflict(text)
                        .with_hint("bring the private key that belongs to it, or move both aside with `mv`"))
                }
                _ => Ok(Found::Kept),
            }
        })
        .await
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            let wanted = work.wanted();
            let private_path = wanted.text("private_path")?;
            let access = form::access(disk, wanted, "mode", 0o600)?;
            let (private, public) = read(disk, private_path, work.identity())?;
            let private = match (private, &public) {
                (Some(private), _) => Some(private),
                // The private key is on another machine: tokens are verified here, and signed there.
                (None, Some(_))
                    if work.place.entry.as_ref().is_some_and(|entry| entry.found == Found::Kept) =>
                {
                    None
                }
                (None, Some(public)) => {
                    let fingerprint = material::of_key(public);
                    let text = format!(
                        "{private_path} is missing, and {} holds the key {fingerprint}, which a new pair would overwrite",
                        work.identity()
                    );
                    let hint = "bring the private key back; tokens that it has signed are worth nothing under another one";
                    return Err(conflict(text).with_hint(hint));
                }
                (None, None) => {
                    let algorithm = x509::algorithm(wanted, "algorithm")?;
                    let made = PrivateKey::generate(algorithm).map_err(of_pki(private_path))?;
                    let text = made.to_pem().map_err(of_pki(private_path))?;
                    disk.write(private_path, text.expose().as_bytes(), access)?;
                    Some(made)
                }
            };
            if let Some(private) = &private {
                disk.set_access(private_path, access)?;
                if public.as_ref() != Some(private.public_key()) {
                    disk.write(work.identity(), private.public_key().to_pem().as_bytes(), access)?;
                }
            }
            disk.set_access(work.identity(), access)?;
            Ok(Json::Null)
        })
        .await
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            if work.place.entry.is_none() || work.stays() {
                return Ok(());
            }
            disk.remove(work.place.wanted().text("private_path")?)?;
            disk.remove(work.identity()).map(drop)
        })
        .await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        Place::blocking(place, |place, host| {
            let path = place.identity.as_str();
            let private_path = match place.wanted().optional_text("private_path")? {
                Some(path) => path.to_owned(),
                None => format!("{}.key", path.trim_end_matches(".pub")),
            };
            let Some(status) = host.disk.status(path)? else { return Ok(None) };
            let (private, public) = read(&host.disk, &private_path, path)?;
            let mut value = Value::map([("public_path", path), ("private_path", private_path.as_str())]);
            let mut set = |name: &str, value_of: Value| value.set(&Path::key(name), value_of);
            set("mode", form::mode_text(status.mode()).into());
            let was_kept = place.entry.as_ref().is_none_or(|entry| entry.found == Found::Kept);
            let valid = match (&private, &public) {
                (Some(private), Some(public)) => private.public_key() == public,
                (None, Some(_)) => was_kept,
                _ => false,
            };
            set("valid", valid.into());
            if let Some(key) = public.as_ref().or(private.as_ref().map(PrivateKey::public_key)) {
                set("algorithm", key.algorithm().into());
            }
            if let Some(public) = &public {
                set("public_key_pem", public.to_pem().into());
            }
            if let Some(key) = public.as_ref().or(private.as_ref().map(PrivateKey::public_key)) {
                set(FINGERPRINT, material::of_key(key).into());
            }
            Ok(Some(value))
        })
        .await
    }
}

fn read(
    disk: &Disk,
    private_path: &str,
    public_path: &str,
) -> Result<(Option<PrivateKey>, Option<PublicKey>), ProviderError> {
    let private = x509::read_key(disk, private_path)?;
    // An invalid public key is written again.
    let public = disk.read_text(public_path)?.and_then(|text| PublicKey::from_pem(&text).ok());
    Ok((private, public))
}
