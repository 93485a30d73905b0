use std::time::Duration;

use jiff::Timestamp;

use super::{Credentials, Kubeconfig, Result};
use crate::{
    configuration::EncryptionAlgorithm,
    pki::{self, Certificate, PrivateKey, Subject, Template, Usage},
};

/// The template of a kubeconfig's client certificate, as in kubeadm: it begins when its CA began, and ends
/// `validity` after `now`.
///
/// # Errors
/// When its end is not a valid time.
pub fn client_template(
    subject: Subject,
    authority: &Certificate,
    now: Timestamp,
    validity: Duration,
) -> pki::Result<Template> {
    let template = Template::leaf(subject, now, validity)?.with_usages([Usage::Client]);
    Ok(Template { not_before: authority.not_before(), ..template })
}

/// A client certificate with a new key, for a user whose groups are the subject's organizations. Choose a
/// short `validity` for persons: a certificate cannot be revoked.
///
/// # Errors
/// [`super::Error::Certificate`] when it cannot be made.
pub fn client_certificate(
    subject: &Subject,
    algorithm: EncryptionAlgorithm,
    authority: &Certificate,
    authority_key: &PrivateKey,
    now: Timestamp,
    validity: Duration,
) -> Result<Credentials> {
    let key = PrivateKey::generate(algorithm)?;
    let template = Template::leaf(subject.clone(), now, validity)?.with_usages([Usage::Client]);
    let certificate = template.signed_by(key.public_key(), authority, authority_key)?;
    Ok(Credentials::Certificate { certificate: certificate.to_pem(), key: key.to_pem()? })
}

impl Kubeconfig {
    /// The kubeconfig with which a kubelet requests its certificate, in the form of `kubeadm join`.
    #[must_use]
    pub fn bootstrap_kubelet(
        cluster: &str,
        server: &str,
        authority: &str,
        token: &slipway_resource::SecretText,
    ) -> Self {
        let credentials = Credentials::Token(token.clone());
        Self::new(cluster, server, authority, super::inventory::BOOTSTRAP_USER, &credentials)
    }
}
