//! The samples in `conformance.json` with which a provider is tested.
//!
//! In every text, `${scratch}` is replaced by a new empty directory, `${other}` by another one, and `${n}` by
//! a number.
//! Values have the JSON form of [`slipway_resource::Value`]; references are resolved against the samples before.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value as Json;
use slipway_resource::{Address, Value};

/// The samples that the suite may use with a provider.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The configuration of sessions.
    pub config: Json,
    /// The region of the sessions.
    #[serde(default)]
    pub region: Option<String>,
    /// Another place, whose objects the first place does not show.
    #[serde(default)]
    pub other: Option<Place>,
    /// The same place, for a session that may not read it.
    #[serde(default)]
    pub unreadable: Option<Place>,
    /// A configuration that `ValidateConfig` refuses.
    #[serde(default)]
    pub invalid_config: Option<Json>,
    /// Clusters to expand.
    #[serde(default)]
    pub expand: Option<Expand>,
    /// Objects to make, each after those it refers to. The more types, the more is proved.
    #[serde(default)]
    pub samples: Vec<Sample>,
    /// A cheap object of which there may be many; texts have `${n}`.
    #[serde(default)]
    pub bulk: Option<Sample>,
    /// An object that takes its time to be made.
    #[serde(default)]
    pub slow: Option<Slow>,
    /// Keys of the provider's key service. Without them, the provider has no key service.
    #[serde(default)]
    pub keys: Option<ServiceKeys>,
    /// A node and its instance. Without them, the provider has no instances.
    #[serde(default)]
    pub instances: Option<NodeInstance>,
    /// How long Discover and Read may lag behind, in milliseconds.
    #[serde(default)]
    pub consistency_ms: u64,
}

/// The configuration and region of a session.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Its configuration.
    pub config: Json,
    /// Its region.
    #[serde(default)]
    pub region: Option<String>,
}

/// Keys of a key service.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceKeys {
    /// A key that may be used.
    pub key: String,
    /// Another one.
    pub other: String,
    /// A name that no key has.
    pub missing: String,
}

/// A node, the sample that is or makes its instance, and an instance that does not exist.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeInstance {
    /// The address of the sample.
    pub sample: String,
    /// The name of the cluster that the instance joins.
    pub cluster: String,
    /// The name of the node.
    pub node: String,
    /// A provider id of this cloud that no instance has.
    pub missing: String,
    /// The addresses of further samples that load balancers and routes need.
    #[serde(default)]
    pub besides: Vec<String>,
}

/// Clusters to expand.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expand {
    /// A cluster, in the JSON form of the internal spec.
    pub cluster: Json,
    /// The same cluster with its parts in another order, where order has no meaning.
    #[serde(default)]
    pub reordered: Option<Json>,
}

/// One object.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Its address.
    pub address: String,
    /// Its attributes.
    pub attributes: Json,
    /// All its attributes after a change in place.
    #[serde(default)]
    pub mutation: Option<Json>,
    /// A gate that a new object of this sample passes.
    #[serde(default)]
    pub operation: Option<Operation>,
}

/// A gate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Its name.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Json,
}

/// An object that takes its time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slow {
    /// Its address.
    pub address: String,
    /// Its attributes.
    pub attributes: Json,
    /// How long its creation takes at least, in milliseconds; a second is enough, ten are too many.
    pub takes_ms: u64,
}

/// A scenario that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("{path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is no scenario.
    #[error("{path} is no scenario")]
    Form {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

impl Scenario {
    /// Reads a `conformance.json`.
    ///
    /// # Errors
    /// When it cannot be read or is no scenario.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let text =
            std::fs::read(path).map_err(|source| ScenarioError::Read { path: path.to_owned(), source })?;
        serde_json::from_slice(&text).map_err(|source| ScenarioError::Form { path: path.to_owned(), source })
    }
}

/// A sample with its places filled.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub(crate) address: Address,
    pub(crate) attributes: Value,
    pub(crate) mutation: Option<Value>,
    pub(crate) operation: Option<(String, Value)>,
}

/// The values of the placeholders `${…}`.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) scratch: String,
    pub(crate) other: String,
}

impl Places {
    /// A value with its placeholders filled; the error names the problem.
    pub(crate) fn value(&self, json: &Json, number: u32) -> Result<Value, String> {
        let filled = self.fill(json, number);
        serde_json::from_value(filled).map_err(|error| format!("the scenario has no value there: {error}"))
    }

    pub(crate) fn sample(&self, sample: &Sample, number: u32) -> Result<Ready, String> {
        let operation = sample.operation.as_ref().map(|operation| {
            let arguments = self.value(&operation.arguments, number)?;
            Ok::<_, String>((operation.name.clone(), arguments))
        });
        let mutation = sample.mutation.as_ref().map(|json| self.value(json, number));
        Ok(Ready {
            address: self.address(&sample.address, number)?,
            attributes: self.value(&sample.attributes, number)?,
            mutation: mutation.transpose()?,
            operation: operation.transpose()?,
        })
    }

    pub(crate) fn address(&self, text: &str, number: u32) -> Result<Address, String> {
        let text = self.text(text, number);
        text.parse().map_err(|error| format!("the scenario: {error}"))
    }

    fn fill(&self, json: &Json, number: u32) -> Json {
        match json {
            Json::String(text) => Json::String(self.text(text, number)),
            Json::Array(items) => items.iter().map(|item| self.fill(item, number)).collect(),
            Json::Object(entries) => entries
                .iter()
                .map(|(key, value)| (key.clone(), self.fill(value, number)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            other => other.clone(),
        }
    }

    fn text(&self, text: &str, number: u32) -> String {
        text.replace("${scratch}", &self.scratch)
            .replace("${other}", &self.other)
            .replace("${n}", &number.to_string())
    }
}
