//! A list of prices.

use std::collections::BTreeMap;

use serde::Deserialize;
use slipway_resource::{ErrorClass, ProviderError, Value};

/// The list that is built in.
const SNAPSHOT: &str = include_str!("snapshot.json");

/// List prices in US dollars, without tax.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PriceList {
    /// Its name, with its date.
    pub name: String,
    /// Where the prices come from.
    #[serde(default)]
    pub source: String,
    /// Always `USD`.
    #[serde(default)]
    pub currency: String,
    /// The hours that a month is taken to have.
    pub hours_per_month: f64,
    /// The regions that the prices hold for, with what they are multiplied by there.
    pub region_factors: BTreeMap<String, f64>,
    /// Machines by type.
    pub instances_per_hour: BTreeMap<String, f64>,
    /// Volumes by type.
    pub volumes_per_gibibyte_month: BTreeMap<String, f64>,
    /// The additional performance of gp3 volumes.
    pub gp3: Gp3,
    /// One IOPS of io1 and io2.
    pub io_iops_per_month: f64,
    /// A NAT gateway.
    pub nat_gateway_per_hour: f64,
    /// A network load balancer.
    pub network_load_balancer_per_hour: f64,
    /// A public IPv4 address.
    pub public_address_per_hour: f64,
    /// A hosted zone.
    pub hosted_zone_per_month: f64,
    /// A key of the key service. A list that was written before there was such a price has none.
    #[serde(default)]
    pub encryption_key_per_month: f64,
}

/// The additional performance of gp3 volumes.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Gp3 {
    /// One additional IOPS.
    pub iops_per_month: f64,
    /// How many IOPS are included.
    pub free_iops: f64,
    /// One additional MiB/s.
    pub throughput_per_month: f64,
    /// How many MiB/s are included.
    pub free_throughput: f64,
}

impl PriceList {
    /// The list of the settings, or the one that is built in.
    ///
    /// # Errors
    /// `invalid` when the list of the settings does not have the form of the built-in one.
    pub fn read(own: &Value) -> Result<Self, ProviderError> {
        let read = match own {
            Value::Null => serde_json::from_str(SNAPSHOT),
            own => serde_json::from_value(own.to_json()),
        };
        read.map_err(|error| {
            ProviderError::new(
                ErrorClass::Invalid,
                format!("provider.config.prices does not have its form: {error}"),
            )
        })
    }

    /// The price factor of a region; `None` when the list does not contain the region.
    #[must_use]
    pub fn factor(&self, region: &str) -> Option<f64> {
        self.region_factors.get(region).copied()
    }

    /// A machine for an hour.
    #[must_use]
    pub fn instance(&self, machine: &str) -> Option<f64> {
        self.instances_per_hour.get(machine).copied()
    }

    /// The monthly price for an hourly price.
    #[must_use]
    pub fn monthly(&self, hour: f64) -> f64 {
        hour * self.hours_per_month
    }

    /// A volume for a month: its size in GiB, its operations and MiB a second.
    #[must_use]
    pub fn volume(&self, kind: &str, size: f64, iops: Option<f64>, throughput: Option<f64>) -> Option<f64> {
        let space = size * self.volumes_per_gibibyte_month.get(kind)?;
        let beyond = |given: Option<f64>, free: f64| (given.unwrap_or(free) - free).max(0.0);
        let speed = match kind {
            "gp3" => {
                beyond(iops, self.gp3.free_iops) * self.gp3.iops_per_month
                    + beyond(throughput, self.gp3.free_throughput) * self.gp3.throughput_per_month
            }
            "io1" | "io2" => iops.unwrap_or(0.0) * self.io_iops_per_month,
            _ => 0.0,
        };
        Some(space + speed)
    }
}
