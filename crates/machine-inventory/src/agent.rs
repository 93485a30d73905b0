//! The agent of a host: it registers the host, runs its bootstrap data once, and resets it when the controller asks.

mod client;
mod cloud_config;
mod config;
mod host_addresses;
mod identity;
mod ignition;
mod owner;
mod phases;
mod recipe;
mod run;

pub use cloud_config::read as read_cloud_config;
pub use config::{Config, ConfigError};
pub use ignition::read as read_ignition;
pub use recipe::{File, Recipe, RecipeError};

use crate::arguments::AgentArguments;

/// The agent has ended.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The system refuses something.
    #[error("{what}")]
    System {
        /// What was tried.
        what: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The key of the host cannot be used.
    #[error("the key {path} cannot be used: {reason}")]
    Key {
        /// The file of the key.
        path: String,
        /// Why.
        reason: String,
    },
    /// The registration API cannot be used.
    #[error("the registration API: {0}")]
    Api(String),
    /// The registration API refuses the host.
    #[error("the registration API refuses this host ({status}): {message}")]
    Refused {
        /// The status of the answer.
        status: u16,
        /// The reason that it gives.
        message: String,
    },
    /// The machine belongs to another cluster.
    #[error("this machine belongs to the cluster {cluster} ({uid}), as {path} says")]
    Taken {
        /// The name of that cluster.
        cluster: String,
        /// Its unique id.
        uid: String,
        /// The file that says so.
        path: String,
    },
    /// A phase has failed.
    #[error("{0}")]
    Failed(String),
}

/// Runs the agent until a signal asks for the end, or until the phase has ended.
///
/// # Errors
/// When the configuration or the system cannot be used; with a phase, also when that fails.
pub async fn run(arguments: AgentArguments) -> Result<(), AgentError> {
    let config = Config::read(&arguments.config)?;
    let stop = slipway_controller::stop_on_signals()
        .map_err(|cause| AgentError::System { what: "signals cannot be caught".to_owned(), cause })?;
    let mut agent = phases::Agent::new(config)?;
    match arguments.phase {
        Some(phase) => agent.run_phase(phase, &stop).await,
        None => {
            agent.run(&stop).await;
            Ok(())
        }
    }
}
