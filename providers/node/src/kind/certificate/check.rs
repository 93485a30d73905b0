//! A certificate and a key that are there, and whether they are what they should be.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use slipway_bootstrap::material::FINGERPRINT;
use slipway_bootstrap::pki::{Certificate, PrivateKey, Template, verify};
use slipway_resource::{Path, ProviderError, Value};

use super::super::file_digest;
use super::super::x509::{self, SIGNER, fingerprint, of_pki};
use crate::attributes::Attributes;
use crate::disk::Disk;

/// The attribute that names the CA.
pub(super) const CA_PATH: &str = "ca_path";

/// The attribute with the certificates that follow it.
pub(super) const CHAIN: &str = "chain_pem";

/// A certificate and a key that are there, or are not.
pub(super) struct Pair {
    /// The certificates of the file, or why it has none; `None` when there is no file.
    pub(super) chain: Option<Result<Vec<Certificate>, ProviderError>>,
    /// The file's bytes.
    bytes: Vec<u8>,
    pub(super) key: Option<PrivateKey>,
    /// Why the key's file holds none.
    key_problem: Option<String>,
}

impl Pair {
    pub(super) fn read(disk: &Disk, path: &str, key_path: &str) -> Result<Self, ProviderError> {
        let bytes = disk.read(path)?;
        let chain = match &bytes {
            None => None,
            Some(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                Some(Certificate::chain_from_pem(&text).map_err(of_pki(path)))
            }
        };
        let (key, key_problem) = match x509::read_key(disk, key_path) {
            Ok(key) => (key, None),
            Err(error) => (None, Some(error.message)),
        };
        Ok(Self { chain, bytes: bytes.unwrap_or_default(), key, key_problem })
    }

    /// The certificate that is meant.
    pub(super) fn first(&self) -> Option<&Certificate> {
        self.chain.as_ref()?.as_ref().ok()?.first()
    }

    /// The file's certificate with the desired ones after it, in PEM; `None` when they are there already. Where none are desired, those
    /// of the file stay, but for cross-certificates: certificates of its CAs that another CA has signed.
    pub(super) fn with_chain(
        &self,
        disk: &Disk,
        wanted: Attributes<'_>,
    ) -> Result<Option<String>, ProviderError> {
        let Some(Ok(chain)) = &self.chain else { return Ok(None) };
        let Some((certificate, there)) = chain.split_first() else { return Ok(None) };
        let after: Vec<Certificate> = match wanted.optional_text(CHAIN)? {
            Some(text) => Certificate::chain_from_pem(text).map_err(of_pki(CHAIN))?,
            None => {
                let path = wanted.optional_text(CA_PATH)?;
                let authorities = path.map(|path| x509::read_chain(disk, path)).transpose()?.flatten();
                let authorities = authorities.unwrap_or_default();
                let is_cross = |other: &Certificate| {
                    let is_of = |authority: &Certificate| {
                        authority.public_key() == other.public_key() && authority != other
                    };
                    authorities.iter().any(is_of)
                };
                there.iter().filter(|other| !is_cross(other)).cloned().collect()
            }
        };
        if after == there {
            return Ok(None);
        }
        Ok(Some(std::iter::once(certificate).chain(&after).map(Certificate::to_pem).collect()))
    }

    /// Why the existing certificate does not fit the desired one, by kubeadm's rules; `None` when there is no
    /// certificate.
    pub(super) fn problems(
        &self,
        disk: &Disk,
        wanted: Attributes<'_>,
    ) -> Result<Option<Vec<String>>, ProviderError> {
        let chain = match &self.chain {
            None => return Ok(None),
            Some(Err(error)) => return Ok(Some(vec![error.message.clone()])),
            Some(Ok(chain)) => chain,
        };
        let Some((certificate, intermediates)) = chain.split_first() else { return Ok(None) };
        let now = Timestamp::now();
        let key = self.key.as_ref().map(PrivateKey::public_key);
        let mut problems = Vec::new();
        problems.extend(self.key_problem.clone());
        let signs = wanted.flag("is_ca");
        if self.key.is_none() && self.key_problem.is_none() && !signs {
            problems.push("its key is not there".to_owned());
        }
        let found = match (signs, wanted.optional_text(CA_PATH)?) {
            (true, None) => verify::authority(certificate, key, now),
            (_, authority) => {
                let template = Template::leaf(x509::subject(wanted)?, now, x509::validity(wanted));
                let template = template
                    .map_err(of_pki("validity_seconds"))?
                    .with_names(x509::names(wanted)?)
                    .with_usages(x509::usages(wanted)?);
                let authority = match authority {
                    Some(path) => x509::read_chain(disk, path)?.and_then(|chain| chain.into_iter().next()),
                    None => Some(certificate.clone()),
                };
                match authority {
                    Some(authority) => {
                        verify::leaf(certificate, intermediates, key, &authority, &template, now)
                    }
                    None => {
                        problems.push("its CA is not there".to_owned());
                        Vec::new()
                    }
                }
            }
        };
        let fatal = found.iter().filter(|problem| problem.is_fatal());
        problems.extend(fatal.map(ToString::to_string));
        if let Some(signer) = wanted.optional_text(SIGNER)?.filter(|_| !signs)
            && self.signer(disk, wanted).as_deref() != Some(signer)
        {
            problems.push(format!("the CA {signer} did not sign it"));
        }
        Ok(Some(problems))
    }

    /// Checks that attributes do not show: the certificate belongs to its key, and was signed by its CA.
    fn bonds(&self, disk: &Disk, wanted: Attributes<'_>) -> Vec<String> {
        let mut problems = Vec::new();
        let chain = match &self.chain {
            Some(Ok(chain)) => chain,
            Some(Err(error)) => return vec![error.message.clone()],
            None => return problems,
        };
        let Some((certificate, intermediates)) = chain.split_first() else { return problems };
        problems.extend(self.key_problem.clone());
        match &self.key {
            Some(key) if key.public_key() != certificate.public_key() => {
                problems.push(verify::Problem::OtherKey.to_string());
            }
            None if !certificate.is_ca() && self.key_problem.is_none() => {
                problems.push("its key is not there".to_owned());
            }
            _ => {}
        }
        let authority = wanted.optional_text(CA_PATH).ok().flatten();
        if let Some(path) = authority {
            match x509::read_chain(disk, path) {
                Ok(Some(authorities)) => {
                    let is_signed =
                        |authority: &Certificate| verify::is_signed(certificate, intermediates, authority);
                    if !authorities.iter().any(is_signed) {
                        problems.push(format!("the CA {path} did not sign it"));
                    }
                }
                Ok(None) => problems.push(format!("its CA {path} is not there")),
                Err(error) => problems.push(error.message),
            }
        }
        problems
    }

    /// The fingerprint of the CA that signed the certificate, among those of its file.
    fn signer(&self, disk: &Disk, wanted: Attributes<'_>) -> Option<String> {
        let (certificate, intermediates) = self.chain.as_ref()?.as_ref().ok()?.split_first()?;
        let path = wanted.optional_text(CA_PATH).ok().flatten()?;
        x509::signer(disk, path, certificate, intermediates)
    }

    /// Puts what is there into attributes.
    pub(super) fn show(&self, disk: &Disk, wanted: Attributes<'_>, into: &mut Value) {
        let problems = self.bonds(disk, wanted);
        into.set(&Path::key("valid"), problems.is_empty().into());
        if !problems.is_empty() {
            into.set(&Path::key("problems"), Value::list(problems));
        }
        into.set(&Path::key("needs_renewal"), false.into());
        into.set(&Path::key("is_ca"), wanted.flag("is_ca").into());
        let Some(certificate) = self.first() else { return };
        x509::show(certificate.subject(), certificate.names(), into);
        let mut set = |name: &str, value: Value| into.set(&Path::key(name), value);
        set("usages", x509::show_usages(&certificate.usages()));
        set("is_ca", certificate.is_ca().into());
        set("key_algorithm", certificate.public_key().algorithm().into());
        set("needs_renewal", x509::is_due(certificate, wanted).into());
        set("certificate_pem", certificate.to_pem().into());
        set("certificate_base64", BASE64_STANDARD.encode(certificate.to_pem()).into());
        set("not_after", x509::time(certificate.not_after()));
        set("serial", certificate.serial().into());
        set("public_key_sha256", fingerprint(certificate).into());
        if let Some(signer) = self.signer(disk, wanted) {
            set(SIGNER, signer.into());
        }
        if wanted.optional_text(CHAIN).is_ok_and(|chain| chain.is_some())
            && let Some(Ok([_, further @ ..])) = self.chain.as_ref().map(|chain| chain.as_deref())
            && !further.is_empty()
        {
            set(CHAIN, further.iter().map(Certificate::to_pem).collect::<String>().into());
        }
        if certificate.is_ca() {
            set(FINGERPRINT, fingerprint(certificate).into());
        }
        set("sha256", file_digest(&self.bytes).into());
    }
}
