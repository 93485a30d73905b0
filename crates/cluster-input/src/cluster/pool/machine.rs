use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The processor architecture of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// x86-64.
    #[default]
    Amd64,
    /// 64-bit ARM.
    Arm64,
}

/// Several kinds of machine in one pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MixedInstances {
    /// The kinds of machine, the preferred first.
    pub machine_types: Vec<String>,
    /// How many machines are always on demand.
    #[serde(default)]
    #[schemars(range(max = slipway_limits::count::NODES))]
    pub on_demand_base: u32,
    /// How many percent of the rest are on demand.
    #[serde(default = "all")]
    #[schemars(range(min = 0, max = 100))]
    pub on_demand_percentage_above_base: u8,
    /// How many of the cheapest offers spot machines spread over; absent lets the provider decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = slipway_limits::count::NODES))]
    pub spot_pools: Option<u32>,
    /// How the provider picks among spot offers, by its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spot_allocation_strategy: Option<String>,
}

const fn all() -> u8 {
    100
}

/// Machines that the cloud may take back.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Spot {
    /// The most to pay per hour, as a decimal number in the provider's currency; absent pays up to the price on demand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_price: Option<String>,
}

/// Something that runs at the first boot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserData {
    /// Its name in messages and in the multi-part archive; unique in its pool.
    pub name: String,
    /// What it is.
    #[serde(rename = "type", default)]
    pub kind: UserDataType,
    /// What it holds. Secrets do not belong here.
    pub content: String,
}

/// What cloud-init makes of a part of the user data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum UserDataType {
    /// A script that begins with `#!`.
    #[default]
    ShellScript,
    /// A cloud-config document.
    CloudConfig,
    /// A script that runs early in every boot.
    CloudBoothook,
    /// Several cloud-config documents in one list.
    CloudConfigArchive,
    /// Addresses, one a line, of parts that the machine fetches at every boot.
    IncludeUrl,
    /// Addresses, one a line, of parts that the machine fetches once.
    IncludeOnceUrl,
    /// A template in Jinja of any other part, which begins with `## template: jinja`.
    Jinja,
    /// Python code that handles parts of a type of its own.
    PartHandler,
}
