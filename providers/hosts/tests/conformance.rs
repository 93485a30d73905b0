//! The provider for existing machines keeps every rule.
//!
//! This executable has two roles. Started by the suite, it serves the provider, and agents of hosts below the
//! session's folder. Started otherwise, it runs the suite.

#![allow(missing_docs, reason = "a test")]

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use async_trait::async_trait;
use slipway_protocol::handshake::NONCE;
use slipway_provider_conformance::{Scenario, Suite};
use slipway_provider_hosts::Hosts;
use slipway_provider_sdk::{ServeOptions, serve};
use slipway_resource::provider::{Info, SessionRequest};
use slipway_resource::{ErrorClass, Provider, ProviderError, Schema, Session, Value};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Mutex;

#[path = "support/agent.rs"]
mod agent;

/// How many hosts the suite may claim.
const MANY: u8 = 30;

/// The provider, with agents on the sockets of its hosts.
struct WithAgents {
    hosts: Hosts,
    served: Mutex<BTreeSet<PathBuf>>,
}

impl WithAgents {
    /// Serves an agent on a socket, unless one is served there. `dark.sock` has no agent.
    async fn serve(&self, socket: &Path) -> std::io::Result<()> {
        let mut served = self.served.lock().await;
        if socket.ends_with("dark.sock")
            || served.contains(socket)
            || UnixStream::connect(socket).await.is_ok()
        {
            return Ok(());
        }
        // The socket of a process that has ended.
        let _ = std::fs::remove_file(socket);
        let root = socket.with_extension("root");
        std::fs::create_dir_all(&root)?;
        let listener = UnixListener::bind(socket)?;
        served.insert(socket.to_owned());
        // The agent ends with the process.
        agent::serve(listener, &root, std::future::pending());
        Ok(())
    }
}

#[async_trait]
impl Provider for WithAgents {
    async fn info(&self) -> Result<Info, ProviderError> {
        self.hosts.info().await
    }

    async fn schema(&self) -> Result<Arc<Schema>, ProviderError> {
        self.hosts.schema().await
    }

    async fn validate_config(&self, config: &Value) -> Result<Vec<String>, ProviderError> {
        self.hosts.validate_config(config).await
    }

    async fn open_session(&self, request: SessionRequest) -> Result<Arc<dyn Session>, ProviderError> {
        let hosts = request.config.to_json();
        let hosts = hosts.get("hosts").and_then(|hosts| hosts.as_array().cloned()).unwrap_or_default();
        for host in hosts {
            let socket = host.pointer("/agent/socket").and_then(|socket| socket.as_str());
            let served = match socket {
                Some(socket) if !request.offline => self.serve(Path::new(socket)).await,
                _ => Ok(()),
            };
            served
                .map_err(|error| ProviderError::new(ErrorClass::Permanent, format!("{socket:?}: {error}")))?;
        }
        self.hosts.open_session(request).await
    }
}

/// The bulk type is the claim: adds as many hosts, behind the agent of the last one.
fn with_many_hosts(config: &mut serde_json::Value) {
    let Some(hosts) = config.get_mut("hosts").and_then(|hosts| hosts.as_array_mut()) else { return };
    let Some(last) = hosts.last().cloned() else { return };
    hosts.extend((0..=MANY).map(|number| {
        let mut host = last.clone();
        host["name"] = format!("h{number}").into();
        host["addresses"][0]["address"] = format!("10.0.1.{number}").into();
        host
    }));
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    if std::env::var_os(NONCE).is_some() {
        let provider = WithAgents { hosts: Hosts::new(), served: Mutex::default() };
        serve(Arc::new(provider), ServeOptions::from_environment()?).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance.json");
    let mut scenario = Scenario::read(&file)?;
    let elsewhere = [&mut scenario.other, &mut scenario.unreadable].into_iter().flatten();
    for config in elsewhere.map(|place| &mut place.config).chain([&mut scenario.config]) {
        with_many_hosts(config);
    }
    let suite = Suite::new("hosts", std::env::current_exe()?, scenario);
    let rules: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let report = suite.run(&rules).await;
    std::io::stdout().lock().write_all(report.to_text().as_bytes())?;
    Ok(if report.conforms() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
