//! A request for a certificate from an external CA.

use async_trait::async_trait;
use serde_json::Value as Json;
use slipway_bootstrap::pki::{PrivateKey, Request};
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Attribute, Path, ProviderError, ResourceType, Type, Value};

use super::form;
use super::x509::{self, of_pki};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::disk::Access;
use crate::ledger::Found;

/// A key, and a certificate request for it. The operator brings the certificate.
pub(crate) struct CertificateRequest;

#[async_trait]
impl Kind for CertificateRequest {
    fn resource_type(&self) -> ResourceType {
        let mut kind = form::resource_type(
            "A request for a certificate, with its key.",
            200,
            [
                (
                    "request_path",
                    Attribute::required(Type::String).immutable().describe("The path of the request."),
                ),
                ("key_path", Attribute::required(Type::String).immutable().describe("The path of the key.")),
                ("key_algorithm", x509::algorithm_attribute()),
                (
                    "valid",
                    Attribute::optional(Type::Bool)
                        .default_to(true)
                        .describe("Whether it was made with the key beside it. Not to be set."),
                ),
                ("request_pem", Attribute::computed(Type::String).describe("The request in PEM.")),
            ],
        );
        form::keep(&mut kind, &["key_algorithm"]);
        let subject = x509::subject_attributes();
        kind.attributes.extend(subject.map(|(name, attribute)| (name.to_owned(), attribute)));
        kind
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        form::checked_path(desired, "key_path")?;
        form::checked_path(desired, "request_path").map(str::to_owned)
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "request_path")?;
        form::plan_path(planned, "key_path")?;
        x509::check_algorithm(&planned.normalised, "key_algorithm")?;
        if planned.normalised.is_known() {
            x509::names(Attributes(&planned.normalised))?;
        }
        if let Some(observed) = &item.observed {
            let kept = observed.get("key_algorithm").cloned().unwrap_or_default();
            planned.normalised.set(&Path::key("key_algorithm"), kept);
            planned.unknown_after.push(Path::key("request_pem"));
        }
        Ok(())
    }

    async fn look(&self, work: &Work) -> Result<Found, ProviderError> {
        // A request can be replaced; an existing key is used and kept.
        work.blocking(|work| {
            let key = work.host().disk.status(work.wanted().text("key_path")?)?;
            Ok(if key.is_some() { Found::Kept } else { Found::Nothing })
        })
        .await
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            let wanted = work.wanted();
            let key_path = wanted.text("key_path")?;
            let key = match x509::read_key(disk, key_path)? {
                Some(key) => key,
                None => {
                    let algorithm = x509::algorithm(wanted, "key_algorithm")?;
                    let key = PrivateKey::generate(algorithm).map_err(of_pki(key_path))?;
                    let text = key.to_pem().map_err(of_pki(key_path))?;
                    disk.write(key_path, text.expose().as_bytes(), Access::mode(0o600))?;
                    key
                }
            };
            let request = Request::new(&x509::subject(wanted)?, &x509::names(wanted)?, &key);
            let request = request.map_err(of_pki(work.identity()))?;
            disk.write(work.identity(), request.to_pem().as_bytes(), Access::mode(0o600))?;
            Ok(Json::Null)
        })
        .await
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            let Some(entry) = &work.place.entry else { return Ok(()) };
            disk.remove(work.identity())?;
            if entry.found != Found::Kept {
                disk.remove(work.place.wanted().text("key_path")?)?;
            }
            Ok(())
        })
        .await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        Place::blocking(place, |place, host| {
            let path = place.identity.as_str();
            let Some(text) = host.disk.read_text(path)? else { return Ok(None) };
            let key_path = match place.wanted().optional_text("key_path")? {
                Some(path) => path.to_owned(),
                None => format!("{}.key", path.trim_end_matches(".csr")),
            };
            let mut value = Value::map([("request_path", path), ("key_path", key_path.as_str())]);
            let key = x509::read_key(&host.disk, &key_path)?;
            let request = Request::from_pem(&text).ok();
            let valid = match (&request, &key) {
                (Some(request), Some(key)) => request.public_key() == key.public_key(),
                _ => false,
            };
            value.set(&Path::key("valid"), valid.into());
            if let Some(request) = &request {
                x509::show(request.subject(), request.names(), &mut value);
                value.set(&Path::key("key_algorithm"), request.public_key().algorithm().into());
                value.set(&Path::key("request_pem"), request.to_pem().into());
            }
            Ok(Some(value))
        })
        .await
    }
}
