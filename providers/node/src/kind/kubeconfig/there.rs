//! An existing kubeconfig, and whether it is as desired.

use std::collections::BTreeSet;

use jiff::Timestamp;
use slipway_bootstrap::kubeconfig::{Credentials, Kubeconfig as Document};
use slipway_bootstrap::pki::{Certificate, PrivateKey, Subject, Template, Usage, verify};
use slipway_resource::{Path, ProviderError, Value};

use super::super::form::recall;
use super::super::x509::{self, SIGNER, TRUSTS, fingerprint, of_pki};
use super::super::{Place, file_digest};
use super::Memory;
use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::error::permanent;

/// Why the client certificate of a kubeconfig cannot be used.
#[derive(Debug, thiserror::Error)]
enum Flaw {
    #[error("it has no client certificate")]
    NoCertificate,
    #[error("it has no client key")]
    NoKey,
    #[error("its CA is not there")]
    NoAuthority,
    #[error("the CA {0} did not sign its client certificate")]
    OtherSigner(String),
    #[error(transparent)]
    Certificate(verify::Problem),
}

impl Flaw {
    /// Whether the certificate was signed by another authority, or for another key.
    const fn is_of_signature(&self) -> bool {
        matches!(self, Self::Certificate(verify::Problem::OtherKey | verify::Problem::NotSigned { .. }))
    }
}

/// An existing kubeconfig.
pub(super) struct There {
    document: Document,
    /// Its client certificate, embedded or from the file that it names.
    certificate: Option<Certificate>,
    key: Option<PrivateKey>,
    /// The certificate and key files that it names.
    files: Option<(String, String)>,
}

impl There {
    pub(super) fn read(disk: &Disk, path: &str) -> Result<Option<Self>, ProviderError> {
        let Some(text) = disk.read_text(path)? else { return Ok(None) };
        let wrong = |error: &dyn std::fmt::Display| permanent(format!("{path}: {error}"));
        let document = Document::parse(&text).map_err(|error| wrong(&error))?;
        let files = document.client_files();
        let (certificate, key) = match &files {
            Some((certificate, key)) => {
                let chain = x509::read_chain(disk, certificate)?;
                (chain.and_then(|chain| chain.into_iter().next()), x509::read_key(disk, key)?)
            }
            None => (
                document.certificate().map_err(|error| wrong(&error))?,
                document.key().map_err(|error| wrong(&error))?,
            ),
        };
        Ok(Some(Self { document, certificate, key, files }))
    }

    /// The differences from the desired kubeconfig; empty when there are none.
    pub(super) fn misfits(&self, disk: &Disk, wanted: Attributes<'_>) -> Result<Vec<String>, ProviderError> {
        let mut problems = Vec::new();
        match self.document.cluster() {
            Ok(cluster) => {
                for (name, found) in [("server", &cluster.server), ("cluster_name", &cluster.name)] {
                    let asked = wanted.text(name)?;
                    let stays = name == "server" && wanted.flag("keep_server");
                    if found != asked && !stays {
                        problems.push(format!("its {name} is {found}, not {asked}"));
                    }
                }
            }
            Err(error) => problems.push(error.to_string()),
        }
        let user = wanted.text("user_name")?;
        if self.document.user().ok() != Some(user) {
            problems.push(format!("its user is not {user}"));
        }
        problems.extend(self.authority_problem(disk, wanted));
        if let Some(token) = wanted.optional_text("token")? {
            if self.document.token().is_none_or(|there| there.expose() != token) {
                problems.push("its token is another one".to_owned());
            }
        } else if let Some(certificate) = wanted.optional_text("client_certificate_path")? {
            let key = wanted.optional_text("client_key_path")?.unwrap_or(certificate);
            if self.files.as_ref().is_none_or(|(a, b)| (a.as_str(), b.as_str()) != (certificate, key)) {
                problems.push(format!("its client certificate is not the file {certificate}"));
            }
        } else {
            problems.extend(self.certificate_problems(disk, wanted)?.iter().map(ToString::to_string));
        }
        Ok(problems)
    }

    /// The URL of the API in it.
    pub(super) fn server(&self) -> Option<String> {
        self.document.cluster().ok().map(|cluster| cluster.server)
    }

    /// The CAs that it trusts.
    fn authorities(&self, disk: &Disk) -> Vec<Certificate> {
        let Ok(cluster) = self.document.cluster() else { return Vec::new() };
        let text = match (cluster.authority, cluster.authority_path) {
            (Some(text), _) => Some(text),
            (None, Some(path)) => disk.read_text(&path).ok().flatten(),
            (None, None) => None,
        };
        text.and_then(|text| Certificate::chain_from_pem(&text).ok()).unwrap_or_default()
    }

    /// The CAs that are embedded in it, in PEM, if one of them is among these.
    pub(super) fn authorities_beside(&self, others: &str) -> Option<String> {
        let own = self.document.cluster().ok()?.authority?;
        let there = Certificate::chain_from_pem(&own).ok()?;
        let others = Certificate::chain_from_pem(others).ok()?;
        there.iter().any(|authority| others.contains(authority)).then_some(own)
    }

    /// Whether it trusts another CA than it should. Where no CAs are named, it has to trust some of the file and no others: the
    /// file gets a second one in a rotation, before the kubeconfigs do. A kubeconfig whose CAs stay has to trust one of the file:
    /// the file also loses one before it does.
    fn authority_problem(&self, disk: &Disk, wanted: Attributes<'_>) -> Option<String> {
        let text = |name: &str| wanted.optional_text(name).ok().flatten();
        let given = text("certificate_authority").filter(|_| text("ca_path").is_none());
        let path = text("ca_path").or(given.map(|_| "the one that is wanted"))?;
        self.document.cluster().ok()?;
        let there = self.authorities(disk);
        let named: BTreeSet<String> = wanted.texts(TRUSTS).into_iter().collect();
        if !named.is_empty() {
            let is_as_named = there.iter().map(fingerprint).collect::<BTreeSet<String>>() == named;
            return (!is_as_named).then(|| format!("the CAs that it trusts are not those of {path}"));
        }
        let asked = given.map(str::to_owned).or_else(|| disk.read_text(path).ok().flatten());
        let Some(asked) = asked else { return Some(format!("its CA {path} is not there")) };
        let asked = Certificate::chain_from_pem(&asked).unwrap_or_default();
        let is_asked = |authority: &Certificate| asked.contains(authority);
        let fits = match there.is_empty() || asked.is_empty() {
            true => there.is_empty() == asked.is_empty(),
            false if wanted.flag("keep_authorities") => there.iter().any(is_asked),
            false => there.iter().all(is_asked),
        };
        (!fits).then(|| format!("the CA that it trusts is not {path}"))
    }

    fn certificate_problems(&self, disk: &Disk, wanted: Attributes<'_>) -> Result<Vec<Flaw>, ProviderError> {
        let Some(certificate) = &self.certificate else { return Ok(vec![Flaw::NoCertificate]) };
        let Some(key) = &self.key else { return Ok(vec![Flaw::NoKey]) };
        let subject =
            Subject::new(wanted.text("common_name")?).with_organizations(wanted.texts("organizations"));
        let now = Timestamp::now();
        let template =
            Template::leaf(subject, now, x509::validity(wanted)).map_err(of_pki("validity_seconds"))?;
        let template = template.with_usages([Usage::Client]);
        let path = wanted.text("ca_path")?;
        let authorities = x509::read_chain(disk, path)?.unwrap_or_default();
        let mut fewest: Option<Vec<Flaw>> = None;
        for authority in &authorities {
            let key = Some(key.public_key());
            let found = verify::leaf(certificate, &[], key, authority, &template, now);
            let found: Vec<Flaw> =
                found.into_iter().filter(verify::Problem::is_fatal).map(Flaw::Certificate).collect();
            if fewest.as_ref().is_none_or(|fewest| found.len() < fewest.len()) {
                fewest = Some(found);
            }
        }
        let mut flaws = fewest.unwrap_or_else(|| vec![Flaw::NoAuthority]);
        if let Some(signer) = wanted.optional_text(SIGNER)?
            && x509::signer(disk, path, certificate, &[]).as_deref() != Some(signer)
        {
            flaws.push(Flaw::OtherSigner(signer.to_owned()));
        }
        Ok(flaws)
    }

    /// Whether its certificate must be renewed. Another program renews a certificate in a file.
    pub(super) fn is_due(&self, _: &Disk, wanted: Attributes<'_>) -> bool {
        self.files.is_none()
            && wanted.0.get("common_name").is_some()
            && self.certificate.as_ref().is_some_and(|certificate| x509::is_due(certificate, wanted))
    }

    /// Its credentials, if they are the desired ones and are not due for renewal.
    pub(super) fn credentials_that_fit(&self, disk: &Disk, wanted: Attributes<'_>) -> Option<Credentials> {
        if self.is_due(disk, wanted) || !self.certificate_problems(disk, wanted).ok()?.is_empty() {
            return None;
        }
        if let Some((certificate, key)) = &self.files {
            return Some(Credentials::Files { certificate: certificate.clone(), key: key.clone() });
        }
        let key = self.key.as_ref()?.to_pem().ok()?;
        Some(Credentials::Certificate { certificate: self.certificate.as_ref()?.to_pem(), key })
    }

    /// Puts the existing kubeconfig into attributes.
    pub(super) fn show(&self, disk: &Disk, place: &Place, into: &mut Value) {
        let wanted = place.wanted();
        let mut problems: Vec<String> = self.authority_problem(disk, wanted).into_iter().collect();
        let mut set = |name: &str, value: Value| into.set(&Path::key(name), value);
        if let Ok(cluster) = self.document.cluster() {
            set("cluster_name", cluster.name.into());
            set("server", cluster.server.into());
        }
        if let Ok(user) = self.document.user() {
            set("user_name", user.into());
        }
        let remembered = recall::<Memory>(place.memory()).and_then(|memory| memory.token);
        if let Some(digest) = remembered
            && self.document.token().is_none_or(|token| file_digest(token.expose().as_bytes()) != digest)
        {
            problems.push("its token is another one".to_owned());
        }
        let trusted: BTreeSet<String> = self.authorities(disk).iter().map(fingerprint).collect();
        if !trusted.is_empty() {
            set(TRUSTS, Value::list(trusted));
        }
        let signer = wanted.optional_text("ca_path").ok().flatten().zip(self.certificate.as_ref());
        if let Some((path, certificate)) = signer
            && let Some(signer) = x509::signer(disk, path, certificate, &[])
        {
            set(SIGNER, signer.into());
        }
        if let Some((certificate, key)) = &self.files {
            set("client_certificate_path", certificate.as_str().into());
            set("client_key_path", key.as_str().into());
        }
        set("needs_renewal", self.is_due(disk, wanted).into());
        // The subject in a file that another program renews is shown where it is desired.
        let shows = self.files.is_none() || place.entry.is_none() || wanted.0.get("common_name").is_some();
        if let Some(certificate) = self.certificate.as_ref().filter(|_| shows) {
            let mut who = Value::map::<&str, Value>([]);
            x509::show(certificate.subject(), certificate.names(), &mut who);
            for name in ["common_name", "organizations"] {
                set(name, who.get(name).cloned().unwrap_or_default());
            }
            set("not_after", x509::time(certificate.not_after()));
            if wanted.0.get("common_name").is_some()
                && let Ok(found) = self.certificate_problems(disk, wanted)
            {
                // Other problems are differences of attributes already.
                problems.extend(found.iter().filter(|flaw| flaw.is_of_signature()).map(ToString::to_string));
            }
        }
        if self.certificate.is_none() && self.files.is_some() && wanted.0.get("common_name").is_some() {
            // The certificate file belongs to another program and is gone, as after a reset of the kubelet.
            // The resource that waits for the file reports that, so the desired subject is shown here.
            for name in ["common_name", "organizations"] {
                set(name, wanted.0.get(name).cloned().unwrap_or_default());
            }
        }
        set("valid", problems.is_empty().into());
        if !problems.is_empty() {
            set("problems", Value::list(problems));
        }
    }
}
