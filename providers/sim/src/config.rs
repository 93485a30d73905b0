//! The provider's configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use slipway_limits::{count, size};
use slipway_resource::{Attribute, Names, Type, Value};

use crate::fault::Rule;

/// How the simulated cloud behaves, and where it is kept.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// Where the cloud lives, absolute or relative to the working directory.
    pub directory: PathBuf,
    /// The account's name.
    pub account: String,
    /// Real seconds per simulated second; 0 makes waiting free.
    pub time_scale: f64,
    /// Decides durations and faults.
    pub seed: u64,
    /// The latency of every call, in units of about 50 simulated milliseconds: 0 for none; `true` is 1.
    #[serde(deserialize_with = "latency")]
    pub latency: f64,
    /// For how many simulated milliseconds reads show what was before a write.
    pub read_delay_ms: u64,
    /// Faults on request.
    pub faults: Vec<Rule>,
    /// Limits by resource type, in place of the account's own.
    pub quotas: BTreeMap<String, u64>,
    /// The zones that exist; empty lets every zone exist.
    pub zones: Vec<String>,
    /// The machine types that exist; empty lets every type exist.
    pub machine_types: Vec<String>,
    /// Objects that expand adds to every cluster, as a load.
    pub objects: Option<Load>,
}

/// A load of cheap objects for benchmarks.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Load {
    /// How many objects.
    pub count: u32,
    /// How many of them follow one on the other; the objects form `count / chain` such chains.
    pub chain: u32,
    /// The size of each object's text.
    pub payload_bytes: u32,
    /// The prefix of their names.
    pub prefix: String,
    /// How long each takes to create.
    pub sleep_ms: u64,
    /// One long chain of slow objects beside the others.
    pub tail: Option<Tail>,
}

/// A long chain of slow objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tail {
    /// How many objects follow one on the other.
    pub length: u32,
    /// How long each takes to create.
    pub sleep_ms: u64,
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the configuration of provider sim is not valid: {0}")]
pub struct ConfigError(String);

impl Default for Config {
    fn default() -> Self {
        Self {
            directory: PathBuf::from(".slipway/sim"),
            account: "sim-account".to_owned(),
            time_scale: 0.0,
            seed: 0,
            latency: 0.0,
            read_delay_ms: 0,
            faults: Vec::new(),
            quotas: BTreeMap::new(),
            zones: Vec::new(),
            machine_types: Vec::new(),
            objects: None,
        }
    }
}

impl Default for Load {
    fn default() -> Self {
        Self { count: 0, chain: 1, payload_bytes: 0, prefix: "object".to_owned(), sleep_ms: 0, tail: None }
    }
}

impl Load {
    /// A setting that its type allows and that needs too many resources.
    #[must_use]
    pub(crate) fn problem(&self) -> Option<String> {
        let most = count::OBJECTS;
        let longest = self.tail.map_or(0, |tail| tail.length);
        let bytes = u64::from(self.count) * u64::from(self.payload_bytes);
        if self.chain == 0 {
            Some("objects.chain: must be 1 or more".to_owned())
        } else if self.count > most {
            Some(format!("objects.count: {} is more than {most}", self.count))
        } else if longest > most {
            Some(format!("objects.tail.length: {longest} is more than {most}"))
        } else if self.sleep_ms.max(self.tail.map_or(0, |tail| tail.sleep_ms)) > count::SECONDS * 1_000 {
            Some(format!("objects.sleepMs: the limit is {} s", count::SECONDS))
        } else if bytes > size::STATE_OBJECT.bytes {
            let limit = size::STATE_OBJECT;
            Some(format!("objects.payloadBytes: all objects together have more than {limit}"))
        } else {
            None
        }
    }
}

/// `true`, `false` or a number.
fn latency<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match serde_json::Value::deserialize(deserializer)? {
        serde_json::Value::Bool(on) => Ok(f64::from(u8::from(on))),
        serde_json::Value::Number(number) if number.as_f64().is_some_and(|factor| factor >= 0.0) => {
            Ok(number.as_f64().unwrap_or_default())
        }
        other => {
            Err(serde::de::Error::custom(format!("latency: {other} is neither true, false nor a factor")))
        }
    }
}

impl Config {
    /// Reads a configuration; null is the default one.
    ///
    /// # Errors
    /// When a field is unknown or has the wrong type.
    pub fn from_value(value: &Value) -> Result<Self, ConfigError> {
        Self::from_json(&value.to_json())
    }

    /// Reads a configuration from JSON; null is the default one.
    ///
    /// # Errors
    /// When a field is unknown or has the wrong type.
    pub fn from_json(json: &serde_json::Value) -> Result<Self, ConfigError> {
        if json.is_null() {
            return Ok(Self::default());
        }
        let config = Self::deserialize(json).map_err(|error| ConfigError(error.to_string()))?;
        match config.problems().into_iter().next() {
            Some(problem) => Err(ConfigError(problem)),
            None => Ok(config),
        }
    }

    /// Settings that their types allow and the simulation does not.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if !self.time_scale.is_finite() || self.time_scale < 0.0 {
            problems.push(format!("timeScale: {} is not a number of 0 or more", self.time_scale));
        }
        for (name, factor) in [("timeScale", self.time_scale), ("latency", self.latency)] {
            if factor > count::SIMULATED_FACTOR {
                problems.push(format!("{name}: {factor} is more than {}", count::SIMULATED_FACTOR));
            }
        }
        if self.directory.as_os_str().is_empty() {
            problems.push("directory: is empty".to_owned());
        }
        problems.extend(self.objects.as_ref().and_then(Load::problem));
        problems.extend(
            self.faults
                .iter()
                .enumerate()
                .filter_map(|(index, rule)| Some(format!("faults[{index}]: {}", rule.problem()?))),
        );
        problems
    }
}

/// The schema of the configuration.
pub(crate) fn schema() -> BTreeMap<String, Attribute> {
    let attributes = [
        ("directory", Type::String, "Where the simulated cloud is kept, apart from the state."),
        ("account", Type::String, "The account's name."),
        ("timeScale", Type::Float, "Real seconds per simulated second; 0 makes waiting free."),
        ("seed", Type::Integer, "Decides durations and faults."),
        (
            "latency",
            Type::Any,
            "Duration of every call: true for about 50 simulated milliseconds, or a factor of that.",
        ),
        (
            "readDelayMs",
            Type::Integer,
            "For how many simulated milliseconds reads show what was before a write.",
        ),
        ("faults", Type::list(Type::Any), "Faults on request, as rules."),
        ("quotas", Type::map(Type::Integer), "Limits by resource type."),
        ("zones", Type::list(Type::String), "The zones that exist; absent lets every zone exist."),
        (
            "machineTypes",
            Type::list(Type::String),
            "The machine types that exist; absent lets every type exist.",
        ),
        (
            "objects",
            Type::Any,
            "A load of sim_objects beside every cluster: count, chain, payloadBytes, prefix, sleepMs, tail.",
        ),
    ];
    attributes
        .into_iter()
        .map(|(name, kind, description)| {
            let attribute = Attribute::optional(kind).describe(description);
            let attribute = if name == "directory" { attribute.names(Names::Folder) } else { attribute };
            (name.to_owned(), attribute)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_in_the_schema_and_back() {
        let json = serde_json::json!({
            "directory": "/tmp/x", "account": "a", "timeScale": 0.5, "seed": 7, "latency": 2.0, "readDelayMs": 5,
            "faults": [], "quotas": {"sim_network": 1}, "zones": ["a"], "machineTypes": ["m"],
            "objects": {"count": 3, "chain": 3, "payloadBytes": 10, "prefix": "p", "sleepMs": 1,
                        "tail": {"length": 2, "sleepMs": 9}},
        });
        let keys: Vec<String> = json.as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, schema().into_keys().collect::<Vec<_>>());
        let config = Config::from_value(&Value::from_json(&json)).unwrap();
        assert_eq!(config.objects.unwrap().tail.unwrap().length, 2);
        assert!(Config::from_json(&serde_json::json!({"timeScale": -1.0})).is_err());
        for (name, good, bad) in [
            ("timeScale", serde_json::json!(1e6), serde_json::json!(1e300)),
            ("latency", serde_json::json!(1e6), serde_json::json!(1e300)),
            ("objects", serde_json::json!({"count": 100_000}), serde_json::json!({"count": 100_001})),
        ] {
            assert!(Config::from_json(&serde_json::json!({ name: good })).is_ok(), "{name}");
            assert!(Config::from_json(&serde_json::json!({ name: bad })).is_err(), "{name}");
        }
        assert!(Config::from_json(&serde_json::json!({"tmeScale": 1.0})).is_err());
    }
}
