//! Entering a host by SSH.

mod fingerprint;
mod ssh;

use slipway_cluster_input::Host;
use slipway_resource::ProviderError;

pub(crate) use ssh::{Failure, Ssh, quoted};

use crate::config::Config;

/// A host that is entered by SSH, for those who only want to look at something there.
#[derive(Debug)]
pub struct Remote {
    name: String,
    ssh: Ssh,
}

impl Remote {
    /// The way to a host; none for one that has an agent of its own. In `networks` the caller allows reserved addresses.
    ///
    /// # Errors
    /// When its description does not lead there.
    pub fn to(host: &Host, networks: &[String]) -> Result<Option<Self>, ProviderError> {
        let config = Config { networks: networks.to_vec(), ..Config::default() };
        let ssh = Ssh::to(host, &config)?;
        Ok(ssh.map(|ssh| Self { name: host.name.clone(), ssh }))
    }

    /// Runs a script there; returns what it prints.
    ///
    /// # Errors
    /// When the host cannot be entered, or the script fails.
    pub async fn run(&self, script: &str) -> Result<String, ProviderError> {
        self.ssh.run(script).await.map_err(|failure| failure.into_error(&self.name, "do what it was asked"))
    }
}
