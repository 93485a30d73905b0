//! The supervisor of services: the node's init system, or Slipway's own watch without one.

mod openrc;
mod own;
mod systemd;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slipway_resource::ProviderError;

use crate::config::InitSystem;
use crate::host::Host;
use crate::kind::Work;

/// The supervisor of the services of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Supervisor {
    Systemd,
    OpenRc,
    Own,
}

/// The definition of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Definition {
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    /// The text for the init system.
    pub(crate) unit: Option<String>,
}

/// How a service is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) running: bool,
    pub(crate) enabled: bool,
    /// The text of the unit, when it is in the administrator's folder.
    pub(crate) unit: Option<String>,
    pub(crate) pid: Option<u32>,
}

impl State {
    pub(crate) fn stopped() -> Self {
        Self { running: false, enabled: false, unit: None, pid: None }
    }
}

/// The supervisor of this node.
pub(crate) fn of(host: &Host) -> Supervisor {
    let there = |path: &str| host.disk.status(path).is_ok_and(|status| status.is_some());
    match host.config.init_system {
        InitSystem::Systemd => Supervisor::Systemd,
        InitSystem::OpenRc => Supervisor::OpenRc,
        InitSystem::None => Supervisor::Own,
        InitSystem::Auto if there("/run/systemd/system") => Supervisor::Systemd,
        InitSystem::Auto if there("/run/openrc") => Supervisor::OpenRc,
        InitSystem::Auto => Supervisor::Own,
    }
}

impl Supervisor {
    /// Whether it is Slipway's own watch.
    pub(crate) fn is_ours(self) -> bool {
        self == Self::Own
    }

    /// Whether services run on this node. An image does not run.
    pub(crate) fn runs(self, host: &Host) -> bool {
        self == Self::Own || host.disk.root().is_machine() || !host.config.path.is_empty()
    }

    /// Whether it knows the process of a service that runs.
    pub(crate) fn tells_processes(self, host: &Host) -> bool {
        self != Self::OpenRc && self.runs(host)
    }

    /// How a service is; `None` when there is none of that name.
    pub(crate) async fn state(self, host: &Host, name: &str) -> Result<Option<State>, ProviderError> {
        match self {
            Self::Systemd => systemd::state(host, name).await,
            Self::OpenRc => openrc::state(host, name).await,
            Self::Own => own::state(host, name),
        }
    }

    /// Writes the service's definition for the init system; returns whether it has changed.
    pub(crate) async fn define(self, work: &Work, definition: &Definition) -> Result<bool, ProviderError> {
        match self {
            Self::Systemd => systemd::define(work, definition).await,
            Self::OpenRc => openrc::define(work, definition),
            Self::Own => Ok(false),
        }
    }

    /// The file that [`Supervisor::define`] writes, where it writes one that can be put back.
    pub(crate) fn definition_path(self, name: &str) -> Option<String> {
        match self {
            Self::Systemd => Some(systemd::unit(name)),
            Self::OpenRc | Self::Own => None,
        }
    }

    /// The last lines of a service's log since a moment, in seconds since 1970. Empty when the supervisor has
    /// no log.
    pub(crate) async fn said(self, host: &Host, name: &str, since: i64) -> Vec<String> {
        let text = match self {
            Self::Systemd => systemd::said(host, name, since).await,
            Self::OpenRc => None,
            Self::Own => own::said(host, name),
        };
        text.unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Enables or disables the start of the service with the machine.
    pub(crate) async fn enable(self, work: &Work, enabled: bool) -> Result<(), ProviderError> {
        match self {
            Self::Systemd => systemd::enable(work, enabled).await,
            Self::OpenRc => openrc::enable(work, enabled).await,
            // Nothing of ours starts with a machine that has no init system; the next run finds it stopped.
            Self::Own => Ok(()),
        }
    }

    pub(crate) async fn start(self, work: &Work, definition: &Definition) -> Result<(), ProviderError> {
        match self {
            Self::Systemd => systemd::switch(work, "restart").await,
            Self::OpenRc => openrc::switch(work, "start").await,
            Self::Own => own::start(work, definition).await,
        }
    }

    pub(crate) async fn restart(self, work: &Work, definition: &Definition) -> Result<(), ProviderError> {
        match self {
            Self::Systemd => systemd::switch(work, "restart").await,
            Self::OpenRc => openrc::switch(work, "restart").await,
            Self::Own => {
                own::stop(work).await?;
                own::start(work, definition).await
            }
        }
    }

    pub(crate) async fn stop(self, work: &Work) -> Result<(), ProviderError> {
        match self {
            Self::Systemd => systemd::switch(work, "stop").await,
            Self::OpenRc => openrc::switch(work, "stop").await,
            Self::Own => own::stop(work).await,
        }
    }

    /// Restarts another service, if it runs, without changing its definition.
    pub(crate) async fn bounce(self, work: &Work, name: &str) -> Result<(), ProviderError> {
        match self {
            Self::Systemd => systemd::bounce(work, name).await,
            Self::OpenRc => openrc::bounce(work, name).await,
            Self::Own => own::bounce(work, name),
        }
    }

    /// Removes the files that were written for the service; `had_unit` tells whether its unit was one of
    /// them.
    pub(crate) async fn forget(self, work: &Work, had_unit: bool) -> Result<(), ProviderError> {
        match self {
            Self::Systemd => systemd::forget(work, had_unit).await,
            Self::OpenRc => openrc::forget(work, had_unit),
            Self::Own => own::forget(work),
        }
    }
}
