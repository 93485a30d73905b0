//! The phases of a host: register, bootstrap, reset.
//!
//! Two files in the folder of the agent record the bootstrap: one that it began, one that it succeeded. Bootstrap data
//! runs at most once: an interrupted run is reported, and only a reset of the host helps.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::client::Api;
use super::config::Config;
use super::owner::Owner;
use super::recipe::{File, Recipe};
use super::{AgentError, host_addresses, identity, run};
use crate::api::Phase;
use crate::arguments::AgentPhase;
use crate::keys::PrivateKey;
use crate::server::{HostState, Report};

/// The longest time between two attempts after failures.
const LONGEST: Duration = Duration::from_secs(300);

/// The agent of a host.
pub(super) struct Agent {
    config: Config,
    name: String,
    owner: Owner,
    api: Api,
    key: PrivateKey,
    registered: bool,
}

impl Agent {
    pub(super) fn new(config: Config) -> Result<Self, AgentError> {
        let name = config.hostname.clone().unwrap_or_else(host_addresses::hostname);
        let owner = Owner::of(&config.registration.uri, &name);
        if !identity::exists(&config.work_dir) {
            // A machine of another cluster is not offered to Cluster API.
            owner.check(&config.owner_file)?;
        }
        let api = Api::new(config.registration.clone(), name.clone())?;
        let key = identity::load(&config.work_dir)?;
        let agent = Self { config, name, owner, api, key, registered: false };
        if agent.began().exists() {
            // Agents of earlier versions left no record.
            agent.owner.claim(&agent.config.owner_file)?;
        }
        Ok(agent)
    }

    /// Works until the stop. Failures are logged, and what failed is tried again.
    pub(super) async fn run(&mut self, stop: &CancellationToken) {
        let mut failures = 0_u32;
        loop {
            match self.step().await {
                Ok(()) => failures = 0,
                Err(error) => {
                    failures += 1;
                    tracing::warn!(host = self.name, error = %slipway_resource::with_causes(&error), "the host is not up to date");
                }
            }
            let wait = self
                .config
                .period()
                .saturating_mul(1 << failures.min(6))
                .min(LONGEST.max(self.config.period()));
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Runs one phase, and waits for what it needs.
    pub(super) async fn run_phase(
        &mut self,
        phase: AgentPhase,
        stop: &CancellationToken,
    ) -> Result<(), AgentError> {
        loop {
            let state = self.register().await?;
            match phase {
                AgentPhase::Register => return Ok(()),
                AgentPhase::Reset if state.needs_reset => return self.reset().await,
                AgentPhase::Reset => return Ok(()),
                AgentPhase::Bootstrap if state.bootstrapped => return Ok(()),
                AgentPhase::Bootstrap if state.bootstrap_ready => {
                    self.bootstrap().await?;
                    return self.outcome().failure.map_or(Ok(()), |failure| Err(AgentError::Failed(failure)));
                }
                AgentPhase::Bootstrap => {}
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(()),
                () = tokio::time::sleep(self.config.period()) => {}
            }
        }
    }

    async fn step(&mut self) -> Result<(), AgentError> {
        let state = self.register().await?;
        if state.needs_reset {
            self.reset().await
        } else if state.bootstrap_ready && !state.bootstrapped {
            self.bootstrap().await
        } else {
            Ok(())
        }
    }

    /// Registers the host if that was not done, and reports its addresses.
    async fn register(&mut self) -> Result<HostState, AgentError> {
        if !self.registered {
            if !identity::exists(&self.config.work_dir) {
                self.owner.check(&self.config.owner_file)?;
                self.key = identity::load(&self.config.work_dir)?;
            }
            let new = self.api.register(&self.key).await?;
            tracing::info!(host = self.name, new, "the host is registered");
            self.registered = true;
        }
        let mut addresses = self.config.addresses.clone();
        addresses.extend(host_addresses::all(&self.name));
        let report = Report {
            phase: Some(Phase::Running),
            installed: Some(true),
            addresses: Some(addresses),
            ..self.outcome()
        };
        match self.api.report(&self.key, &report).await {
            Err(AgentError::Refused { status: 404, message }) => {
                self.registered = false;
                // Its object was deleted without the agent: the bootstrap of this host belongs to no machine.
                if self.began().exists() || self.succeeded().exists() {
                    self.clean().await?;
                }
                Err(AgentError::Refused { status: 404, message })
            }
            Err(AgentError::Refused { status: 403, message }) => Err(AgentError::Refused {
                status: 403,
                message: format!(
                    "{message} (host {} may be registered with another key: delete that ElementalHost)",
                    self.name
                ),
            }),
            answer => answer,
        }
    }

    /// The result of the bootstrap, for the next report.
    fn outcome(&self) -> Report {
        if self.succeeded().exists() {
            return Report { bootstrapped: Some(true), ..Report::default() };
        }
        if let Ok(failure) = fs::read_to_string(self.failed()) {
            return Report { failure: Some(failure), ..Report::default() };
        }
        let interrupted = self.began().exists();
        let failure = interrupted.then(|| {
            "the bootstrap data was interrupted, and may not run twice: delete the Machine, so that the host is reset".to_owned()
        });
        Report { failure, ..Report::default() }
    }

    /// Runs the bootstrap data, unless that has begun before.
    async fn bootstrap(&mut self) -> Result<(), AgentError> {
        if self.began().exists() || self.failed().exists() {
            return Ok(());
        }
        let bootstrap = self.api.bootstrap(&self.key).await?;
        let names = ["ds.meta_data.local_hostname", "ds.meta_data.hostname", "v1.local_hostname"];
        let names: BTreeMap<&str, String> = names.map(|name| (name, self.name.clone())).into();
        let mut recipe = match Recipe::read(&bootstrap.format, &bootstrap.config, &names) {
            Ok(recipe) => recipe,
            Err(error) => return self.give_up(error.to_string()).await,
        };
        recipe.files.extend(bootstrap.files.into_iter().map(|file| File::private(file.path, file.content)));
        match self.owner.claim(&self.config.owner_file) {
            Err(error @ AgentError::Taken { .. }) => return self.give_up(error.to_string()).await,
            other => other?,
        }
        let began = Report { phase: Some(Phase::Bootstrapping), ..Report::default() };
        self.api.report(&self.key, &began).await?;
        self.mark(&self.began(), "")?;
        tracing::info!(host = self.name, format = bootstrap.format, "the bootstrap data runs");
        // As with cloud-init, the file at the end of the data says whether it has succeeded.
        let ended = run::recipe(&recipe, &self.config.work_dir, "bootstrap").await;
        if !self.config.sentinel_file.exists() {
            let log = self.config.work_dir.join("bootstrap.log");
            let failure = match ended {
                Err(error) => slipway_resource::with_causes(&error),
                Ok(()) => format!(
                    "the bootstrap data did not write {}; see {}",
                    self.config.sentinel_file.display(),
                    log.display()
                ),
            };
            return self.give_up(failure).await;
        }
        self.mark(&self.succeeded(), "")?;
        tracing::info!(host = self.name, "the bootstrap data has succeeded");
        let done = Report { phase: Some(Phase::Running), ..self.outcome() };
        self.api.report(&self.key, &done).await.map(drop)
    }

    /// Records and reports that the bootstrap data cannot run, or has failed.
    async fn give_up(&self, failure: String) -> Result<(), AgentError> {
        self.mark(&self.failed(), &failure)?;
        let report =
            Report { phase: Some(Phase::Running), failure: Some(failure.clone()), ..Report::default() };
        self.api.report(&self.key, &report).await?;
        Err(AgentError::Failed(failure))
    }

    /// Resets the host. Its object is deleted; with the next step the host registers as a new one.
    async fn reset(&mut self) -> Result<(), AgentError> {
        tracing::info!(host = self.name, "the host is reset");
        let begins = Report { phase: Some(Phase::Resetting), ..Report::default() };
        self.api.report(&self.key, &begins).await?;
        self.api.leave(&self.key).await?;
        if let Err(error) = self.clean().await {
            let failure = Some(slipway_resource::with_causes(&error));
            self.api.report(&self.key, &Report { failure, ..Report::default() }).await?;
            return Err(error);
        }
        match self.api.report(&self.key, &Report { reset: Some(true), ..Report::default() }).await {
            // Without a finalizer the object was gone at once.
            Ok(_) | Err(AgentError::Refused { status: 404, .. }) => {}
            Err(error) => return Err(error),
        }
        identity::forget(&self.config.work_dir)?;
        self.registered = false;
        Ok(())
    }

    /// Runs the commands of the reset, and removes the records of the bootstrap.
    async fn clean(&self) -> Result<(), AgentError> {
        match self.owner.claim(&self.config.owner_file) {
            // The bootstrap data has not run here, and the commands would end the node of the other cluster.
            Err(error @ AgentError::Taken { .. }) => {
                tracing::warn!(host = self.name, %error, "the commands of the reset do not run");
            }
            other => {
                other?;
                let script: String =
                    self.config.reset.iter().map(|command| format!("{command} || exit\n")).collect();
                run::run(&script, &self.config.work_dir, "reset").await?;
                self.owner.release(&self.config.owner_file)?;
            }
        }
        for path in [&self.config.sentinel_file, &self.succeeded(), &self.failed(), &self.began()] {
            match fs::remove_file(path) {
                Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                    return Err(AgentError::System {
                        what: format!("{} cannot be removed", path.display()),
                        cause,
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn mark(&self, path: &PathBuf, text: &str) -> Result<(), AgentError> {
        let write = || fs::write(path, text).and_then(|()| fs::File::open(path)?.sync_all());
        write().map_err(|cause| AgentError::System {
            what: format!("{} cannot be written", path.display()),
            cause,
        })
    }

    fn began(&self) -> PathBuf {
        self.config.work_dir.join("bootstrap.began")
    }

    fn failed(&self) -> PathBuf {
        self.config.work_dir.join("bootstrap.failed")
    }

    fn succeeded(&self) -> PathBuf {
        self.config.work_dir.join("bootstrap.succeeded")
    }
}
