//! The provider: its name, its schema, its sessions.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use slipway_resource::provider::{Capabilities, Info, RateClass, SessionRequest, Terms};
use slipway_resource::validate::misfits;
use slipway_resource::{Provider, ProviderError, Schema, Session, Value};

use crate::cloud::log;
use crate::config::{self, Config};
use crate::error::invalid;
use crate::session::{SimSession, keys};
use crate::{calls, fault, kind};

/// The environment variable that has calls recorded that only look.
const CALLS: &str = "SLIPWAY_SIM_CALLS";

/// Files by which the directory of a cloud is known.
const FILES: [&str; 4] = [log::EVENTS, calls::FILE, fault::FILE, keys::FOLDER];

/// How many files of a directory are looked at.
const MOST_FILES: usize = 64;

/// The simulated cloud as a provider.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sim;

/// The schema of every resource type and of the configuration.
pub(crate) fn schema() -> Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    SCHEMA
        .get_or_init(|| {
            Arc::new(Schema {
                config: config::schema(),
                types: kind::all()
                    .values()
                    .map(|kind| (kind.name.to_owned(), kind.resource.clone()))
                    .collect(),
            })
        })
        .clone()
}

fn rate_classes() -> BTreeMap<String, RateClass> {
    [
        ("network", 32),
        ("balance", 16),
        ("dns", 8),
        ("identity", 16),
        ("storage", 16),
        ("compute", 64),
        ("workload", 32),
        ("object", 256),
    ]
    .into_iter()
    .map(|(name, concurrency)| {
        let class = RateClass { concurrency, per_second: None };
        (name.to_owned(), class)
    })
    .collect()
}

#[async_trait]
impl Provider for Sim {
    async fn info(&self) -> Result<Info, ProviderError> {
        Ok(Info {
            name: "sim".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rate_classes: rate_classes(),
            batch: 1_000,
            capabilities: Capabilities {
                nodes: true,
                instances: true,
                load_balancers: true,
                routes: true,
                ..Capabilities::default()
            },
        })
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        Ok(schema())
    }

    async fn validate_config(&self, config: &Value) -> Result<Vec<String>, ProviderError> {
        if config.is_null() {
            return Ok(Vec::new());
        }
        let mut problems: Vec<String> = misfits(&config::schema(), config)
            .into_iter()
            .map(|misfit| match &misfit.suggestion {
                Some(name) => format!("{misfit}; did you mean {name}?"),
                None => misfit.to_string(),
            })
            .collect();
        if problems.is_empty()
            && let Err(error) = Config::from_value(config)
        {
            problems.push(error.to_string());
        }
        Ok(problems)
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        self.open_session_on(request, Terms::default()).await
    }

    async fn open_session_on(
        &self,
        request: SessionRequest,
        terms: Terms,
    ) -> Result<Arc<dyn Session>, ProviderError> {
        let config = Config::from_value(&request.config).map_err(|error| invalid(error.to_string()))?;
        check_directory(&config.directory)?;
        check_content(&config.directory)?;
        // A read-only session writes nothing, unless the variable asks for a record of its calls.
        #[allow(clippy::disallowed_methods, reason = "the caller's own variable")]
        let recorded = !terms.read_only || std::env::var_os(CALLS).is_some_and(|asked| !asked.is_empty());
        Ok(Arc::new(SimSession::new(config, request.region, request.offline, recorded)))
    }
}

/// Refuses a directory with files of others, such as a state store, and no simulated cloud: a look at it would write a record of
/// calls there.
#[allow(clippy::disallowed_methods, reason = "the policy has granted the folder; no file in it is opened")]
fn check_content(directory: &Path) -> Result<(), ProviderError> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Ok(()) };
    let names: Vec<OsString> = entries.flatten().take(MOST_FILES).map(|entry| entry.file_name()).collect();
    let is_of_a_cloud = |name: &OsString| FILES.iter().any(|own| name == own);
    let is_rest = |name: &OsString| name == log::LOCK || name == log::NEXT;
    if names.iter().any(is_of_a_cloud) {
        return Ok(());
    }
    names.iter().find(|name| !is_rest(name)).map_or(Ok(()), |other| {
        let (directory, other) = (directory.display(), Path::new(other).display());
        let text =
            format!("{directory} is not used for a simulated cloud: it has other files, such as {other}");
        Err(invalid(text).with_hint("name a folder that is empty or does not exist"))
    })
}

/// Refuses a relative directory that a symbolic link leads to: such a link may come with a checkout.
fn check_directory(directory: &Path) -> Result<(), ProviderError> {
    let is_link =
        |part: &Path| std::fs::symlink_metadata(part).is_ok_and(|found| found.file_type().is_symlink());
    let link = directory.ancestors().find(|part| part.is_relative() && is_link(part));
    link.map_or(Ok(()), |link| {
        let (directory, link) = (directory.display(), link.display());
        Err(invalid(format!("the simulated cloud in {directory} is not used: {link} is a symbolic link"))
            .with_hint(
                "name the real directory: `--provider sim --provider-config '{\"directory\": \"/PATH\"}'`",
            ))
    })
}
