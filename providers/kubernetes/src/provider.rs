//! The provider: its name, its limits, its sessions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use slipway_resource::provider::{Capabilities, Info, RateClass, Scope, SessionRequest, Terms};
use slipway_resource::validate::misfits;
use slipway_resource::{Provider, ProviderError, Schema, Session, Value};

use crate::access::{Access, FileAccess, NotYet};
use crate::api::Connector;
use crate::manifest::invalid;
use crate::schema::{config, schema};
use crate::session::KubernetesSession;

/// The one class of calls.
pub(crate) const RATE_CLASS: &str = "api";

/// How many actions run at once: priority and fairness lets this many requests of one user through without
/// long queueing.
const CONCURRENCY: u32 = 64;

/// The objects of a cluster as a provider.
#[derive(Clone)]
pub struct Kubernetes {
    /// How to come to the API; by the session's configuration without.
    access: Option<Arc<dyn Access>>,
    /// How to come to the API for nodes alone; as to that of the objects without.
    nodes: Option<Arc<dyn Access>>,
}

impl Kubernetes {
    /// A provider that is linked in: the program that links it gives it access to the API. Its sessions have
    /// no configuration.
    #[must_use]
    pub fn new(access: Arc<dyn Access>) -> Self {
        Self { access: Some(access), nodes: None }
    }

    /// A provider that connects by the configuration of each session, as the executable does.
    #[must_use]
    pub fn configured() -> Self {
        Self { access: None, nodes: None }
    }

    /// The same for a cluster that Slipway did not make: its nodes are listed, and their gates run, by another way. Nothing else
    /// is read or changed by that way.
    #[must_use]
    pub fn with_nodes_by(self, nodes: Arc<dyn Access>) -> Self {
        Self { nodes: Some(nodes), ..self }
    }

    fn access(&self, config: &Value, terms: &Terms) -> Result<Arc<dyn Access>, ProviderError> {
        if let Some(access) = &self.access {
            return Ok(Arc::clone(access));
        }
        let field = |name: &str| config.get(name).and_then(Value::as_str).map(str::to_owned);
        let path = match field("kubeconfig") {
            Some(path) => PathBuf::from(path),
            None => usual_path().ok_or_else(|| {
                invalid("no kubeconfig is named, and there is none in its usual place")
                    .with_hint("name one in the provider's configuration, or by KUBECONFIG")
            })?,
        };
        let is_callers = field("kubeconfig").is_none() || terms.from_caller.contains("kubeconfig");
        let networks = terms.networks.clone();
        Ok(Arc::new(FileAccess {
            path,
            context: field("context"),
            may_be_missing: false,
            is_callers,
            networks,
        }))
    }
}

/// As kubectl has it; of a list of files the first.
fn usual_path() -> Option<PathBuf> {
    if let Some(paths) = std::env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty()) {
        return std::env::split_paths(&paths).next();
    }
    std::env::home_dir().map(|home| home.join(".kube/config")).filter(|path| path.exists())
}

fn problems(value: &Value) -> Vec<String> {
    if value.is_null() {
        return Vec::new();
    }
    let mut problems: Vec<String> = misfits(&config(), value).iter().map(ToString::to_string).collect();
    for name in ["kubeconfig", "context"] {
        if value.get(name).and_then(Value::as_str) == Some("") {
            problems.push(format!("{name}: is empty"));
        }
    }
    problems
}

#[async_trait]
impl Provider for Kubernetes {
    async fn info(&self) -> Result<Info, ProviderError> {
        let class = RateClass { concurrency: CONCURRENCY, per_second: None };
        Ok(Info {
            name: "kubernetes".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            rate_classes: BTreeMap::from([(RATE_CLASS.to_owned(), class)]),
            batch: 1_000,
            capabilities: Capabilities { dry_run: true, nodes: true, ..Capabilities::default() },
        })
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        Ok(schema())
    }

    async fn validate_config(&self, config: &Value) -> Result<Vec<String>, ProviderError> {
        Ok(problems(config))
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        self.open_session_on(request, Terms::default()).await
    }

    async fn open_session_on(
        &self,
        request: SessionRequest,
        terms: Terms,
    ) -> Result<Arc<dyn Session>, ProviderError> {
        if let Some(problem) = problems(&request.config).first() {
            return Err(invalid(problem.as_str()));
        }
        let access = if request.offline { Arc::new(NotYet) } else { self.access(&request.config, &terms)? };
        let connector = Connector::new(access);
        // For a provider that is linked in, its caller chooses the API, which may not exist yet.
        let account = if self.access.is_some() || request.offline {
            String::new()
        } else {
            KubernetesSession::account(&connector).await?
        };
        let nodes = self.nodes.clone().filter(|_| !request.offline).map(Connector::new);
        Ok(Arc::new(KubernetesSession::new(Scope { account, region: None }, connector, nodes)))
    }
}
