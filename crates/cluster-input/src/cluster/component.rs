use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::value::Quantity;

/// The parts of Kubernetes that take settings of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ComponentName {
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
    /// kube-proxy.
    Proxy,
    /// The kubelet's command line; its configuration file is `kubelet`.
    Kubelet,
    /// etcd.
    Etcd,
    /// The cloud controller manager.
    CloudController,
}

impl ComponentName {
    /// Every component.
    pub const ALL: [Self; 7] = [
        Self::ApiServer,
        Self::ControllerManager,
        Self::Scheduler,
        Self::Proxy,
        Self::Kubelet,
        Self::Etcd,
        Self::CloudController,
    ];

    /// The name in the JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ApiServer => "apiServer",
            Self::ControllerManager => "controllerManager",
            Self::Scheduler => "scheduler",
            Self::Proxy => "proxy",
            Self::Kubelet => "kubelet",
            Self::Etcd => "etcd",
            Self::CloudController => "cloudController",
        }
    }
}

impl fmt::Display for ComponentName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Settings of one component, on top of what Slipway sets.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Component {
    /// Flags without the leading hyphens, by name. Flags that Slipway sets itself are refused.
    pub extra_args: BTreeMap<String, String>,
    /// Environment variables, by name.
    pub environment: BTreeMap<String, String>,
    /// Feature gates, by name.
    pub feature_gates: BTreeMap<String, bool>,
    /// What the component asks for, and what it gets at most.
    pub resources: Resources,
    /// The image; absent takes the one that belongs to the Kubernetes release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// How much it logs, 0 to 10; absent keeps the component's own level.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10))]
    pub log_level: Option<u8>,
}

/// Requests and limits of a component.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Resources {
    /// The CPU it asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_request: Option<Quantity>,
    /// The CPU it gets at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<Quantity>,
    /// The memory it asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_request: Option<Quantity>,
    /// The memory it gets at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<Quantity>,
}
