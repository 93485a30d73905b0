//! The laboratory's view of the emulator.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::http;

/// All that concerns machines, at one moment.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct State {
    /// Instances that are not terminated.
    pub instances: Vec<Instance>,
    /// Volumes that are attached, without the disks that instances are launched with.
    pub volumes: Vec<Volume>,
    /// Network load balancers.
    pub balancers: Vec<Balancer>,
    pub target_groups: Vec<TargetGroup>,
    /// Records of all hosted zones.
    pub records: Vec<Record>,
}

/// A network load balancer.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct Balancer {
    pub name: String,
    pub addresses: Vec<String>,
    pub listeners: Vec<BalancerListener>,
}

/// A port of a load balancer, and the ARNs of the target groups behind it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct BalancerListener {
    pub port: u16,
    pub groups: Vec<String>,
}

/// A target group.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct TargetGroup {
    pub arn: String,
    pub targets: Vec<Target>,
}

/// A registered target.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct Target {
    pub id: String,
    pub port: u16,
    /// No address while its instance does not run.
    pub address: String,
    pub health_port: u16,
    /// As reported; absent before the first report.
    pub healthy: Option<bool>,
}

impl Target {
    /// Its address with a port, while it has one.
    pub fn address(&self, port: u16) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.address.parse().ok()?, port))
    }
}

/// How healthy a target is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Health {
    pub group: String,
    pub target: String,
    pub port: u16,
    pub healthy: bool,
}

/// A record of a hosted zone.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct Record {
    /// In lower case, without the last dot.
    pub name: String,
    pub kind: String,
    pub values: Vec<String>,
    pub alias: Option<String>,
}

/// An attached volume.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct Volume {
    pub id: String,
    /// In gibibytes.
    pub size: u64,
    pub instance: String,
    /// The name that was asked for: `/dev/xvdu`.
    pub device: String,
    /// `attaching`, `attached` or `detaching`.
    pub status: String,
}

/// An instance.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct Instance {
    pub id: String,
    pub state: String,
    pub reboots: u32,
    pub account: String,
    pub region: String,
    pub zone: String,
    pub image: String,
    pub instance_type: String,
    pub architecture: String,
    pub host_name: String,
    pub launch_index: u32,
    pub launched: String,
    pub lifecycle: String,
    /// In base64.
    pub user_data: Option<String>,
    pub tags: BTreeMap<String, String>,
    pub profile: Option<Profile>,
    pub role: Option<String>,
    pub metadata: MetadataOptions,
    pub interfaces: Vec<Interface>,
}

/// The identity of an instance profile.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct Profile {
    pub arn: String,
    pub id: String,
}

/// How an instance reads its metadata.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct MetadataOptions {
    pub enabled: bool,
    pub tokens_required: bool,
    pub hops: u8,
    pub tags: bool,
}

/// A network interface.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct Interface {
    pub id: String,
    pub index: u32,
    pub mac: String,
    pub address: String,
    pub addresses: Vec<String>,
    pub public_address: Option<String>,
    pub subnet: String,
    pub subnet_block: String,
    pub vpc: String,
    pub vpc_blocks: Vec<String>,
    pub groups: Vec<SecurityGroup>,
}

/// A security group.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct SecurityGroup {
    pub id: String,
    pub name: String,
}

impl Instance {
    /// Its primary interface.
    ///
    /// # Errors
    /// When it has none.
    pub fn primary(&self) -> Result<&Interface> {
        let interfaces = &self.interfaces;
        let primary = interfaces.iter().find(|interface| interface.index == 0);
        primary.with_context(|| format!("{} has no interface", self.id))
    }
}

/// The way to the emulator.
#[derive(Clone, Copy, Debug)]
pub struct Emulator {
    port: u16,
}

impl Emulator {
    /// The emulator on this port.
    pub fn new(port: u16) -> Self {
        Self { port }
    }

    /// Reads the state.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn look(self) -> Result<State> {
        let answer = self.ask("state", &Value::Null)?;
        serde_json::from_value(answer).context("the emulator's state cannot be read")
    }

    /// Credentials of the role of an instance, as its metadata shows them.
    ///
    /// # Errors
    /// When the emulator does not answer.
    pub fn credentials(self, instance: &str) -> Result<Option<Value>> {
        let answer = self.ask("credentials", &json!(instance))?;
        Ok(Some(answer).filter(|answer| !answer.is_null()))
    }

    /// Says that a machine has turned itself off.
    ///
    /// # Errors
    /// When the emulator does not answer.
    pub fn shut_down(self, instance: &str) -> Result<()> {
        self.ask("shut-down", &json!(instance)).map(drop)
    }

    /// Says that a machine has a volume that is attached to it, or no longer has one that is detached.
    ///
    /// # Errors
    /// When the emulator does not answer.
    pub fn settle_volume(self, volume: &str) -> Result<()> {
        self.ask("settle-volume", &json!(volume)).map(drop)
    }

    /// Says how healthy targets are.
    ///
    /// # Errors
    /// When the emulator does not answer.
    pub fn report(self, health: &[Health]) -> Result<()> {
        if health.is_empty() {
            return Ok(());
        }
        self.ask("health", &serde_json::to_value(health)?).map(drop)
    }

    fn ask(self, what: &str, about: &Value) -> Result<Value> {
        let body = serde_json::to_vec(about)?;
        let answer = http::request("POST", self.port, &format!("/laboratory/{what}"), &[], &body)?;
        if answer.status != 200 {
            bail!("the emulator answers {}: {}", answer.status, String::from_utf8_lossy(&answer.body));
        }
        Ok(serde_json::from_slice(&answer.body)?)
    }
}
