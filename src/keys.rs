//! The user's keys: from the configuration file, from the environment, or else an identity of their own.

mod service;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use slipway_operations::Processes;
use slipway_protocol::SearchPath;
use slipway_resource::SecretText;
use slipway_secrets::passphrase::{DEFAULT_NAME, Passphrase};
use slipway_secrets::service::ServiceKey;
use slipway_secrets::{Error, Identity, Keys, Recipient, age, identity_file};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use crate::configuration;
use crate::output::Output;
use service::Service;

const PASSPHRASE: &str = "SLIPWAY_PASSPHRASE";
const PASSPHRASE_FILE: &str = "SLIPWAY_PASSPHRASE_FILE";
const FALLBACK: &str = "SLIPWAY_FALLBACK_PASSPHRASE";
const FALLBACK_FILE: &str = "SLIPWAY_FALLBACK_PASSPHRASE_FILE";
const IDENTITY_FILE: &str = "SLIPWAY_AGE_IDENTITY_FILE";
const SOPS_KEY_FILE: &str = "SOPS_AGE_KEY_FILE";
const RECIPIENTS: &str = "SLIPWAY_AGE_RECIPIENTS";

/// The file with the user's own identity, beside the configuration file.
const OWN_IDENTITY: &str = "age-identity.txt";

/// How the state is encrypted: `[encryption]` of the configuration file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct Encryption {
    /// Whether the whole state is encrypted, and not its secrets only.
    pub state: bool,
    /// The recipients to encrypt for, each as `age1…`.
    pub age_recipients: Vec<String>,
    /// Files with identities to decrypt with.
    pub age_identity_files: Vec<PathBuf>,
    /// A file with a passphrase, to encrypt for and to decrypt with.
    pub passphrase_file: Option<PathBuf>,
    /// The name of the passphrase in envelopes.
    pub passphrase_name: Option<String>,
    /// Keys of the key services of providers.
    pub key_services: Vec<KeyService>,
}

/// A key of a provider's key service.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct KeyService {
    /// The provider.
    pub provider: String,
    /// The key, by its name in the service.
    pub key: String,
    /// The region, where the provider has regions.
    #[serde(default)]
    pub region: Option<String>,
    /// The provider's settings.
    #[serde(default)]
    pub config: serde_json::Value,
    /// Whether to encrypt for this key. If not, it only decrypts older objects.
    #[serde(default = "yes")]
    pub seal: bool,
}

fn yes() -> bool {
    true
}

/// The keys of one user.
pub(crate) struct UserKeys {
    encryption: Encryption,
    services: Vec<(bool, Arc<ServiceKey>)>,
    /// The passphrase, read once, so that its key is derived once.
    passphrase: OnceCell<Option<Arc<Passphrase>>>,
    output: Output,
}

impl UserKeys {
    /// Reads nothing yet.
    pub fn new(
        encryption: &Encryption,
        (search_path, lock_file): (&SearchPath, &Path),
        processes: &Processes,
        output: Output,
    ) -> Self {
        let service = |service: &KeyService| {
            let open =
                Service::new(service.clone(), (search_path.clone(), lock_file.to_owned()), processes.clone());
            (service.seal, Arc::new(ServiceKey::new(&service.provider, &service.key, Box::new(open))))
        };
        let services = encryption.key_services.iter().map(service).collect();
        Self { encryption: encryption.clone(), services, passphrase: OnceCell::new(), output }
    }

    /// The recipients that the user names.
    fn named_recipients(&self) -> Result<Vec<age::Recipient>, Error> {
        match std::env::var(RECIPIENTS) {
            Ok(listed) => listed.split([',', ' ']).filter(|text| !text.is_empty()).map(str::parse).collect(),
            Err(_) => self.encryption.age_recipients.iter().map(|text| text.parse()).collect(),
        }
    }

    async fn passphrase(&self) -> Result<Option<Arc<Passphrase>>, Error> {
        self.passphrase.get_or_try_init(async || self.read_passphrase()).await.cloned()
    }

    fn read_passphrase(&self) -> Result<Option<Arc<Passphrase>>, Error> {
        let text = match from_environment(PASSPHRASE, PASSPHRASE_FILE)? {
            Some(text) => Some(text),
            None => self.encryption.passphrase_file.as_deref().map(first_line).transpose()?,
        };
        let name = self.encryption.passphrase_name.as_deref().unwrap_or(DEFAULT_NAME);
        text.map(|text| Passphrase::new(name, text).map(Arc::new)).transpose()
    }

    /// Makes the user's own identity, when there is none yet, and says so.
    fn make_own_identity(&self) -> Result<Vec<age::Identity>, Error> {
        let path = own_identity()?;
        let (identities, created) = identity_file::read_or_create(&path)?;
        if created {
            self.output.message(&format!(
                "A key for the secrets in your state was made: {}. Keep a copy of it somewhere safe: without it, what \
                 is sealed cannot be opened again.",
                path.display()
            ));
        }
        Ok(identities)
    }
}

#[async_trait]
impl Keys for UserKeys {
    async fn is_ready(&self) -> Result<bool, Error> {
        let seals = self.services.iter().any(|(seals, _)| *seals);
        let named = seals || !self.named_recipients()?.is_empty() || self.passphrase().await?.is_some();
        Ok(named || !identities(&self.encryption)?.is_empty())
    }

    async fn recipients(&self) -> Result<Vec<Arc<dyn Recipient>>, Error> {
        let mut recipients: Vec<Arc<dyn Recipient>> = Vec::new();
        for recipient in self.named_recipients()? {
            recipients.push(Arc::new(recipient));
        }
        if let Some(passphrase) = self.passphrase().await? {
            recipients.push(passphrase);
        }
        for (_, service) in self.services.iter().filter(|(seals, _)| *seals) {
            recipients.push(service.clone());
        }
        if recipients.is_empty() {
            let mut identities = named_identities(&self.encryption)?;
            if identities.is_empty() {
                identities = self.make_own_identity()?;
            }
            for identity in identities {
                recipients.push(Arc::new(identity.recipient().clone()));
            }
        }
        Ok(recipients)
    }

    async fn identities(&self) -> Result<Vec<Arc<dyn Identity>>, Error> {
        let mut keys: Vec<Arc<dyn Identity>> = Vec::new();
        for identity in identities(&self.encryption)? {
            keys.push(Arc::new(identity));
        }
        if let Some(passphrase) = self.passphrase().await? {
            keys.push(passphrase);
        }
        if let Some(text) = from_environment(FALLBACK, FALLBACK_FILE)? {
            keys.push(Arc::new(Passphrase::new(DEFAULT_NAME, text)?));
        }
        for (_, service) in &self.services {
            keys.push(service.clone());
        }
        Ok(keys)
    }
}

/// A keyring without keys: specs of other persons are planned without secrets.
pub(crate) struct NoKeys;

#[async_trait]
impl Keys for NoKeys {
    async fn is_ready(&self) -> Result<bool, Error> {
        Ok(false)
    }

    async fn recipients(&self) -> Result<Vec<Arc<dyn Recipient>>, Error> {
        Ok(Vec::new())
    }

    async fn identities(&self) -> Result<Vec<Arc<dyn Identity>>, Error> {
        Ok(Vec::new())
    }
}

/// The identities in the files that the user names.
fn named_identities(encryption: &Encryption) -> Result<Vec<age::Identity>, Error> {
    let files = match std::env::var_os(IDENTITY_FILE) {
        Some(listed) => std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect(),
        None => encryption.age_identity_files.clone(),
    };
    let mut identities = Vec::new();
    for file in files {
        identities.extend(identity_file::read(&file)?);
    }
    Ok(identities)
}

fn own_identity() -> Result<PathBuf, Error> {
    let folder = configuration::folder().ok_or_else(|| Error::KeyFile {
        path: OWN_IDENTITY.to_owned(),
        source: Arc::new(std::io::Error::other("neither HOME nor XDG_CONFIG_HOME says where to keep it")),
    })?;
    Ok(folder.join(OWN_IDENTITY))
}

/// All available identities.
fn identities(encryption: &Encryption) -> Result<Vec<age::Identity>, Error> {
    let mut identities = named_identities(encryption)?;
    if let Ok(path) = own_identity() {
        identities.extend(identity_file::read_if_there(&path)?.unwrap_or_default());
    }
    Ok(identities)
}

/// The identities for files that SOPS has encrypted: the user's, and those that SOPS itself would use.
pub(crate) fn sops_identities(encryption: &Encryption) -> Result<Vec<age::Identity>, Error> {
    let mut all = identities(encryption)?;
    if let Some(path) = std::env::var_os(SOPS_KEY_FILE) {
        all.extend(identity_file::read(Path::new(&path))?);
    } else if let Some(folder) = configuration::base() {
        all.extend(identity_file::read_if_there(&folder.join("sops/age/keys.txt"))?.unwrap_or_default());
    }
    Ok(all)
}

/// A text from a variable, or from the file that another one names.
fn from_environment(variable: &str, file_variable: &str) -> Result<Option<SecretText>, Error> {
    if let Ok(text) = std::env::var(variable) {
        return Ok(Some(SecretText::new(text)));
    }
    std::env::var_os(file_variable).map(|path| first_line(Path::new(&path))).transpose()
}

/// The first line of a file.
fn first_line(path: &Path) -> Result<SecretText, Error> {
    let read =
        slipway_limits::file::read_given_text(path, slipway_limits::size::KEY_FILE).map(Zeroizing::new);
    let text =
        read.map_err(|error| Error::KeyFile { path: path.display().to_string(), source: Arc::new(error) })?;
    Ok(SecretText::new(text.lines().next().unwrap_or_default()))
}
