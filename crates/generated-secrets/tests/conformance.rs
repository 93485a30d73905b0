//! The provider of the cluster's own secrets keeps every rule but one.
//!
//! It is built in and never a separate process. Here this executable is both sides: started by the suite, it
//! serves the provider over a state store below the folder of a session; started otherwise, it runs the
//! suite.

#![allow(missing_docs, reason = "a test")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use async_trait::async_trait;
use slipway_generated_secrets::{GeneratedSecrets, Vault};
use slipway_protocol::handshake::NONCE;
use slipway_provider_conformance::{Scenario, Suite, Verdict};
use slipway_provider_sdk::{ServeOptions, serve};
use slipway_resource::provider::{Info, SessionRequest, Terms};
use slipway_resource::{ErrorClass, Provider, ProviderError, Schema, Session, Value};
use slipway_secrets::key::GivenKeys;
use slipway_secrets::{Keyring, age};
use slipway_state_store::{Acquire, Backend, ClusterName, FileBackend, Holder, Identity, SystemClock};
use tokio::sync::Mutex;

/// Rules that cannot be kept. A secret is encrypted under its name, which is its identity: under another name
/// it is another secret. Only `slipway state mv` could rename one, and the step of a tag refuses it with a
/// message.
const NOT_KEPT: [&str; 1] = ["tag"];

/// The name that the suite gives to all clusters.
const CLUSTER: &str = "conformance";

/// The file with the key of secrets, beside the store.
const KEY: &str = "key";

/// A held state store.
struct Held {
    backend: Arc<dyn Backend>,
    holder: Holder,
    key: String,
}

/// The provider, over the store that a session names.
#[derive(Default)]
struct OverStores {
    held: Mutex<BTreeMap<String, Held>>,
}

impl OverStores {
    fn nowhere() -> GeneratedSecrets {
        GeneratedSecrets::new(Arc::new(Vault::nowhere(CLUSTER)))
    }

    /// The vault over a store: held, unless the session is read-only.
    async fn vault(&self, folder: &str, stranger: bool, read_only: bool) -> anyhow::Result<Vault> {
        if read_only {
            let key = std::fs::read_to_string(Path::new(folder).with_extension(KEY))?;
            let key = age::Identity::read_all(&key)?.pop().context("a key")?;
            let keyring = Arc::new(Keyring::new(Arc::new(GivenKeys::of_identity(key))));
            return Ok(Vault::new(Arc::new(FileBackend::open(folder)), keyring, ClusterName::new(CLUSTER)?));
        }
        let mut held = self.held.lock().await;
        if !held.contains_key(folder) {
            held.insert(folder.to_owned(), Held::take(folder).await?);
        }
        let held = held.get(folder).context("it was held")?;
        let key = match stranger {
            true => age::Identity::generate()?,
            false => age::Identity::read_all(&held.key)?.pop().context("a key")?,
        };
        let keyring = Arc::new(Keyring::new(Arc::new(GivenKeys::of_identity(key))));
        let vault = Vault::new(held.backend.clone(), keyring, ClusterName::new(CLUSTER)?);
        Ok(vault.held(held.holder.journal().clone()))
    }
}

impl Held {
    async fn take(folder: &str) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let file = Path::new(folder).with_extension(KEY);
        if !file.exists() {
            std::fs::write(&file, age::Identity::generate()?.to_secret_text().as_bytes())?;
        }
        let backend: Arc<dyn Backend> = Arc::new(FileBackend::open(folder));
        let acquire = Acquire::new(Identity::current("ada", "test")).create("u1".parse()?);
        let name = ClusterName::new(CLUSTER)?;
        let holder = Holder::acquire(backend.clone(), &name, acquire, Arc::new(SystemClock)).await?;
        Ok(Self { backend, holder, key: std::fs::read_to_string(file)? })
    }
}

#[async_trait]
impl Provider for OverStores {
    async fn info(&self) -> Result<Info, ProviderError> {
        Self::nowhere().info().await
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        Self::nowhere().schema().await
    }

    async fn validate_config(&self, config: &Value) -> Result<Vec<String>, ProviderError> {
        Self::nowhere().validate_config(config).await
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        self.open_session_on(request, Terms::default()).await
    }

    async fn open_session_on(
        &self,
        request: SessionRequest,
        terms: Terms,
    ) -> Result<Arc<dyn Session>, ProviderError> {
        let folder = request.config.get("state").and_then(Value::as_str).map(ToOwned::to_owned);
        let stranger = request.config.get("stranger").is_some();
        match folder.filter(|_| !request.offline) {
            Some(folder) => {
                let vault = self.vault(&folder, stranger, terms.read_only).await;
                let vault =
                    vault.map_err(|error| ProviderError::new(ErrorClass::Permanent, format!("{error:#}")))?;
                GeneratedSecrets::new(Arc::new(vault)).open_session(request).await
            }
            None => Self::nowhere().open_session(request).await,
        }
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    if std::env::var_os(NONCE).is_some() {
        serve(Arc::new(OverStores::default()), ServeOptions::from_environment()?).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance.json");
    let suite = Suite::new("secrets", std::env::current_exe()?, Scenario::read(&file)?);
    let report = suite.run(&[]).await;
    std::io::stdout().lock().write_all(report.to_text().as_bytes())?;
    let broken = report.rules.iter().filter(|line| line.verdict == Verdict::Fail);
    let broken: Vec<&str> = broken.map(|line| line.rule).collect();
    // A rule that is kept must not be in the list.
    Ok(if broken == NOT_KEPT { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
