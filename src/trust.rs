//! Where the policy meets the specs: what they name is granted here or refused, at its place in the spec.

mod settings;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use slipway_spec::diagnostic::{Code, Diagnostic};
use slipway_spec::model::Host;
use slipway_spec::source::Location;
use slipway_trust::{Policy, Refusal, Tree};

use crate::error::{CommandError, with_line};

pub(crate) use settings::{Vouched, check as check_settings};

/// The policy, and the folders of the spec that it decides about.
#[derive(Clone, Debug)]
pub(crate) struct Grounds {
    pub policy: Arc<Policy>,
    pub tree: Tree,
}

/// A refusal as a problem of a spec.
pub(crate) fn problem(refusal: &Refusal, location: Option<&Location>) -> Diagnostic {
    let code = Code { id: refusal.code(), title: refusal.title() };
    with_line(Diagnostic::error(code, refusal.to_string()).at_location(location).hint(refusal.hint()))
}

impl From<Refusal> for CommandError {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code(), refusal.to_string()).hint(refusal.hint())
    }
}

impl Grounds {
    /// The hosts that would be entered, and what they are entered by.
    pub fn check_hosts<'a>(
        &self,
        hosts: impl IntoIterator<Item = &'a Host>,
        place: &dyn Fn(&str) -> Option<Location>,
    ) -> Result<(), CommandError> {
        let mut problems = Vec::new();
        for host in hosts.into_iter().filter(|host| !host.lost) {
            let field = |part: &str| place(&format!("hosts[{}].{part}", host.name));
            let mut refused = |refusal: Result<(), Refusal>, part: &str| {
                problems.extend(refusal.err().map(|refusal| problem(&refusal, field(part).as_ref())));
            };
            if let Some(agent) = host.agent.as_ref().filter(|_| host.ssh.is_none()) {
                refused(self.policy.socket(&self.tree, Path::new(&agent.socket)), "agent");
            }
            let Some(ssh) = &host.ssh else { continue };
            let first = host.addresses.first().map(|entry| entry.address.to_string());
            if let Some(address) = ssh.address.clone().or(first) {
                let part = if ssh.address.is_some() { "ssh.address" } else { "addresses" };
                refused(self.policy.host(&format!("the host {}", host.name), &address), part);
            }
            if let Some(file) = &ssh.identity_file {
                let granted = self.policy.identity_file(&self.tree, Path::new(file));
                refused(granted.map(drop), "ssh.identityFile");
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(CommandError::of_specs(problems)) }
    }

    /// The addresses under which a cluster's API would be asked.
    pub fn check_api(&self, hosts: impl IntoIterator<Item = String>) -> Result<(), CommandError> {
        for host in hosts {
            let host = host.trim_matches(['[', ']']);
            self.policy.host("the cluster's API", host)?;
        }
        Ok(())
    }
}

/// Whether a server may be at an address, for one who resolves names.
pub(crate) type MayBeAt = Arc<dyn Fn(IpAddr) -> bool + Send + Sync>;
