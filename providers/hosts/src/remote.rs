//! Entering a host by SSH.

mod fingerprint;
mod ssh;

use std::ops::ControlFlow;

use slipway_cluster_input::Host;
use slipway_resource::ProviderError;

pub(crate) use ssh::{Failure, Ssh, quoted};

use crate::config::Config;

/// A host with SSH access, for commands that only read facts.
#[derive(Debug)]
pub struct Remote {
    name: String,
    ssh: Ssh,
}

impl Remote {
    /// The SSH access of a host; `None` for one that has its own agent. In `networks` the caller allows
    /// reserved addresses.
    ///
    /// # Errors
    /// When its document has no usable address.
    pub fn to(host: &Host, networks: &[String]) -> Result<Option<Self>, ProviderError> {
        let config = Config { networks: networks.to_vec(), ..Config::default() };
        let ssh = Ssh::to(host, &config)?;
        Ok(ssh.map(|ssh| Self { name: host.name.clone(), ssh }))
    }

    /// Runs a script on the host; returns its output.
    ///
    /// # Errors
    /// When the host cannot be reached, or the script fails.
    pub async fn run(&self, script: &str) -> Result<String, ProviderError> {
        self.ssh.run(script).await.map_err(|failure| failure.into_error(&self.name, "do what it was asked"))
    }

    /// Runs a script on the host, and gives each part of its output to `take`, until the script ends or `take` breaks. A part
    /// ends with a line, unless the line is very long.
    ///
    /// # Errors
    /// When the host cannot be reached, or the script fails.
    pub async fn follow(
        &self,
        script: &str,
        take: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), ProviderError> {
        let ended = self.ssh.follow(script, take).await;
        ended.map_err(|failure| failure.into_error(&self.name, "do what it was asked"))
    }
}
