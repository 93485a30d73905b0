//! The certificates of an `EtcdStorage`: what exists, what is due, and where it is written.
//!
//! The order makes that no connection is refused: an authority is written to everyone who checks its certificates, then it
//! signs ([`super::authority`]). A certificate is replaced in one write, and the proxy reads it without a restart.

use jiff::Timestamp;
use serde_json::json;
use slipway_bootstrap::pki::{Certificate, Usage};
use slipway_controller::k8s_openapi::ByteString;
use slipway_controller::k8s_openapi::api::core::v1::{ConfigMap, Secret};
use slipway_controller::kube::api::{Api, PostParams};

use crate::storage::{CertificateStatus, EtcdStorage, SuccessorStatus};

use super::apply::{apply, check_owner, metadata};
use super::authority::{Authority, Step, Wanted};
use super::context::Context;
use super::failure::Failure;
use super::leaf::{Existing, InUse, Leaf, renewal};
use super::names::{CERTIFICATE, CLIENT_CA, EXPIRES, KEY, MANAGER, Names, SIGNED_BY, VALIDITY};
use super::report::Report;
use super::signers::{NAMES, Signers};

/// The desired certificates of an `EtcdStorage`.
#[derive(Debug)]
pub(crate) struct Desired {
    pub(crate) client_ca: Wanted,
    pub(crate) serving_ca: Wanted,
    pub(crate) server: Leaf,
    /// The client certificate without its name, which is different in each destination.
    pub(crate) client: Leaf,
}

impl Desired {
    /// What the spec asks for.
    pub(crate) fn of(storage: &EtcdStorage, names: &Names) -> Result<Self, Failure> {
        let signing = storage.spec.signing_certificate_validity.duration()?;
        let authority =
            |kind: &str| Wanted { name: format!("{}-{kind}-signer", names.host()), validity: signing };
        Ok(Self {
            client_ca: authority("client"),
            serving_ca: authority("server"),
            server: Leaf {
                name: names.host(),
                names: names.server_names(),
                usage: Usage::Server,
                validity: storage.spec.serving_certificate_validity.duration()?,
            },
            client: Leaf {
                name: String::new(),
                names: Default::default(),
                usage: Usage::Client,
                validity: storage.spec.client_certificate_validity.duration()?,
            },
        })
    }
}

/// The authorities of an `EtcdStorage`, and the Secret that they were read from or written to.
pub(crate) struct Stored {
    pub(crate) signers: Signers,
    secret: Secret,
}

/// Reads the authorities, makes those that are missing, and takes the steps that are due.
pub(crate) async fn signers(
    context: &Context,
    storage: &EtcdStorage,
    names: &Names,
    desired: &Desired,
    report: &mut Report,
) -> Result<Stored, Failure> {
    let api: Api<Secret> = context.namespaced();
    let now = Timestamp::now();
    let Some(secret) = api.get_opt(&names.signers()).await? else {
        return create(context, storage, names, desired, now).await;
    };
    check_owner(storage, &secret, &json!({}))?;
    let damaged = |cause| Failure::Damaged { name: names.signers(), cause };
    let mut stored = Stored { signers: Signers::read(&secret).map_err(damaged)?, secret };
    let steps = [
        (NAMES[0], stored.signers.client.advance(&desired.client_ca, now)?),
        (NAMES[1], stored.signers.serving.advance(&desired.serving_ca, now)?),
    ];
    if steps.iter().any(|(_, step)| step.is_some()) {
        stored.save(context).await?;
    }
    tell(steps, context, report);
    Ok(stored)
}

/// Tells of the steps of the authorities. Those of both authorities mostly happen in one moment, and are one event.
fn tell(steps: [(&'static str, Option<Step>); 2], context: &Context, report: &mut Report) {
    for (step, reason, text) in [
        (Step::Prepared, "AuthorityPrepared", "a successor is trusted and does not sign yet"),
        (Step::Switched, "AuthoritySwitched", "the successor signs, and both are trusted"),
        (Step::Replaced, "AuthorityReplaced", "it had ended, and a new one is in use"),
    ] {
        let taken = steps.iter().filter(|(_, taken)| *taken == Some(step));
        let names: Vec<&str> = taken.map(|(name, _)| *name).collect();
        if names.is_empty() {
            continue;
        }
        report.tell(reason, format!("{}: {text}", names.join(", ")));
        for name in names {
            if step != Step::Switched {
                context.metrics.issued(name);
            }
        }
    }
}

async fn create(
    context: &Context,
    storage: &EtcdStorage,
    names: &Names,
    desired: &Desired,
    now: Timestamp,
) -> Result<Stored, Failure> {
    let mut client = Authority::new(&desired.client_ca, now)?;
    // Certificates that another controller has given to clients stay valid until ours are in their places.
    let bundles: Api<ConfigMap> = context.namespaced();
    if let Some(bundle) = bundles.get_opt(&names.client_ca()).await? {
        let text = bundle.data.as_ref().and_then(|data| data.get(CLIENT_CA)).map_or("", String::as_str);
        let earlier = Certificate::chain_from_pem(text).unwrap_or_default();
        client.previous = earlier.into_iter().filter(|one| one.is_ca() && one.not_after() > now).collect();
    }
    let signers = Signers { client, serving: Authority::new(&desired.serving_ca, now)? };
    let object = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": metadata(storage, names, &names.signers()),
        "data": signers.data()?,
    });
    let object: Secret =
        serde_json::from_value(object).map_err(slipway_controller::kube::Error::SerdeError)?;
    let api: Api<Secret> = context.namespaced();
    let parameters = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    let secret = api.create(&parameters, &object).await?;
    for name in NAMES {
        context.metrics.issued(name);
    }
    Ok(Stored { signers, secret })
}

impl Stored {
    /// Writes the authorities. The version in the Secret makes it a compare-and-swap.
    async fn save(&mut self, context: &Context) -> Result<(), Failure> {
        let mut secret = self.secret.clone();
        secret.data = Some(self.signers.data()?);
        let name = secret.metadata.name.clone().unwrap_or_default();
        let parameters = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let api: Api<Secret> = context.namespaced();
        self.secret = api.replace(&name, &parameters, &secret).await?;
        Ok(())
    }

    /// Remembers which successors everyone trusts by now.
    pub(crate) async fn remember_trust(
        &mut self,
        context: &Context,
        is_client_trusted: bool,
        is_serving_trusted: bool,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let now = Timestamp::now();
        let client = is_client_trusted && self.signers.client.is_trusted(now);
        let serving = is_serving_trusted && self.signers.serving.is_trusted(now);
        if client || serving {
            self.save(context).await?;
        }
        if serving && let Some(moment) = self.signers.serving.signs_from() {
            report.tell(
                "ServingAuthorityPublished",
                format!("API servers that read the authorities of etcd only when they start must be restarted before {moment}"),
            );
        }
        Ok(())
    }

    /// Reports the authorities.
    pub(crate) fn report(&self, report: &mut Report) {
        for (name, authority) in NAMES.into_iter().zip([&self.signers.client, &self.signers.serving]) {
            let not_after = authority.current.certificate.not_after();
            report.ends(not_after, authority.due());
            let next = authority.next.as_ref().map(|next| SuccessorStatus {
                not_after: next.pair.certificate.not_after().to_string(),
                signs_from: next.trusted_since.and(authority.signs_from()).map(|moment| moment.to_string()),
            });
            report.certificates.push(CertificateStatus {
                name: name.to_owned(),
                not_after: not_after.to_string(),
                next,
            });
        }
    }
}

/// Writes the authorities of clients for the proxies.
pub(crate) async fn client_ca(
    context: &Context,
    storage: &EtcdStorage,
    names: &Names,
    authority: &Authority,
) -> Result<(), Failure> {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": metadata(storage, names, &names.client_ca()),
        "data": {CLIENT_CA: authority.bundle()},
    });
    apply::<ConfigMap>(&context.namespaced(), storage, &object).await?;
    Ok(())
}

/// Keeps the certificate of the proxies, or issues another one if that is due.
pub(crate) async fn server(
    context: &Context,
    storage: &EtcdStorage,
    names: &Names,
    desired: &Leaf,
    stored: &Stored,
    report: &mut Report,
) -> Result<(), Failure> {
    let api: Api<Secret> = context.namespaced();
    let signer = &stored.signers.serving.current;
    let now = Timestamp::now();
    let existing = api.get_opt(&names.server()).await?;
    let leaf = existing.as_ref().map(existing_leaf).unwrap_or_default();
    let InUse { certificate, pem, key, is_new } = desired.in_use(leaf, signer, now)?;
    let mut object = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": metadata(storage, names, &names.server()),
        "data": {CERTIFICATE: bytes(&pem), KEY: bytes(key.expose())},
    });
    object["metadata"]["annotations"] = json!({
        EXPIRES: certificate.not_after().to_string(),
        SIGNED_BY: certificate.issuer().common_name,
        VALIDITY: desired.stamp(),
    });
    apply::<Secret>(&api, storage, &object).await?;
    if is_new {
        context.metrics.issued("serving");
        report.tell("ServingCertificateIssued", format!("it is valid until {}", certificate.not_after()));
    }
    report.ends(certificate.not_after(), renewal(&certificate));
    report.certificates.push(CertificateStatus {
        name: "serving".to_owned(),
        not_after: certificate.not_after().to_string(),
        next: None,
    });
    Ok(())
}

/// The certificate in a Secret.
pub(crate) fn existing_leaf(secret: &Secret) -> Existing<'_> {
    let text = |key: &str| {
        let bytes = secret.data.as_ref().and_then(|data| data.get(key));
        bytes.and_then(|bytes| std::str::from_utf8(&bytes.0).ok()).unwrap_or_default()
    };
    let annotations = secret.metadata.annotations.as_ref();
    let stamp = annotations.and_then(|annotations| annotations.get(VALIDITY)).map_or("", String::as_str);
    Existing { certificate: text(CERTIFICATE), key: text(KEY), stamp }
}

/// Text as a value in a Secret.
pub(crate) fn bytes(text: &str) -> ByteString {
    ByteString(text.as_bytes().to_vec())
}
