//! Applies the policy to specs: names are granted or refused, at their place in the spec.

mod settings;

use std::path::Path;
use std::sync::Arc;

use slipway_spec::model::Host;
use slipway_spec::source::Location;
use slipway_trust::{Policy, Refusal, Tree};

use crate::diagnose;
use crate::error::Error;

pub(crate) use settings::{Vouched, check as check_settings};

/// The policy, and the folders of the spec that it decides about.
#[derive(Clone, Debug)]
pub struct Grounds {
    /// The policy.
    pub policy: Arc<Policy>,
    /// The folders.
    pub tree: Tree,
}

impl Grounds {
    /// Checks the hosts of SSH connections, and their keys.
    pub(crate) fn check_hosts<'a>(
        &self,
        hosts: impl IntoIterator<Item = &'a Host>,
        place: &dyn Fn(&str) -> Option<Location>,
    ) -> Result<(), Error> {
        let mut problems = Vec::new();
        for host in hosts.into_iter().filter(|host| !host.lost) {
            let field = |part: &str| place(&format!("hosts[{}].{part}", host.name));
            let mut refused = |refusal: Result<(), Refusal>, part: &str| {
                problems
                    .extend(refusal.err().map(|refusal| diagnose::refusal(&refusal, field(part).as_ref())));
            };
            if let Some(agent) = host.agent.as_ref().filter(|_| host.ssh.is_none()) {
                refused(self.policy.socket(&self.tree, Path::new(&agent.socket)), "agent");
            }
            let Some(ssh) = &host.ssh else { continue };
            let first = host.addresses.first().map(|entry| entry.address.to_string());
            if let Some(address) = ssh.address.clone().or(first) {
                let part = if ssh.address.is_some() { "ssh.address" } else { "addresses" };
                refused(self.policy.host(&format!("the host {}", host.name), &address).map(drop), part);
            }
            if let Some(file) = &ssh.identity_file {
                let granted = self.policy.identity_file(&self.tree, Path::new(file));
                refused(granted.map(drop), "ssh.identityFile");
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Error::Specs(problems)) }
    }

    /// The addresses under which a cluster's API would be asked.
    pub(crate) fn check_api(&self, hosts: impl IntoIterator<Item = String>) -> Result<(), Error> {
        for host in hosts {
            let host = host.trim_matches(['[', ']']);
            self.policy.host("the cluster's API", host)?;
        }
        Ok(())
    }
}
