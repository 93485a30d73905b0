//! The configuration of a session.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use slipway_cluster_input::Host;
use slipway_resource::{Attribute, Names, Type, Value};

/// The configuration of a session: the user's settings, and those that the caller adds from the specs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// The hosts, as the specs describe them.
    pub hosts: Vec<Host>,
    /// Where inventories are: the URL of the state store.
    pub state: Option<String>,
    /// The executable that hosts get as their agent; `slipway` beside this one unless given.
    pub agent_executable: Option<PathBuf>,
    /// The folder below which a node is.
    pub root: String,
    /// The init system of the hosts.
    pub init_system: String,
    /// The search path for programs on the hosts, as in `PATH`.
    pub path: Option<String>,
    /// How many seconds a connection may take.
    pub connect_timeout_seconds: u32,
    /// Names of preflight checks whose errors do not stop a plan.
    pub ignore_preflight_errors: Vec<String>,
    /// Whether the caller deletes the whole cluster: then its etcd need not agree to the removal of members.
    pub leaving: bool,
    /// Networks and names for which the caller allows hosts with reserved addresses.
    #[serde(skip)]
    pub networks: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            state: None,
            agent_executable: None,
            root: "/".to_owned(),
            init_system: "auto".to_owned(),
            path: None,
            connect_timeout_seconds: 10,
            ignore_preflight_errors: Vec::new(),
            leaving: false,
            networks: Vec::new(),
        }
    }
}

impl Config {
    pub fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(Self::default()),
            value => serde_json::from_value(value.to_json()).map_err(|error| error.to_string()),
        }
    }

    pub fn host(&self, name: &str) -> Option<&Host> {
        self.hosts.iter().find(|host| host.name == name)
    }

    /// The configuration of a session with the agent of a host.
    pub fn of_node(&self) -> Value {
        Value::map([
            ("root", Value::from(self.root.as_str())),
            ("init_system", self.init_system.as_str().into()),
            ("exclusive", true.into()),
            ("path", self.path.clone().into()),
            // An agent of an earlier version does not know this setting.
            ("leaving", if self.leaving { true.into() } else { Value::Null }),
        ])
    }
}

/// The form of the configuration.
pub(crate) fn schema() -> BTreeMap<String, Attribute> {
    let text = |default: &str, description: &str| {
        Attribute::optional(Type::String).default_to(default).describe(description)
    };
    let none = |kind: Type, description: &str| Attribute::optional(kind).describe(description);
    let attributes = [
        ("hosts", none(Type::Any, "The hosts, from the Host documents of the specs.").names(Names::Caller)),
        (
            "state",
            none(Type::String, "Where inventories are: the state store, from the caller.")
                .names(Names::Caller),
        ),
        (
            "agent_executable",
            none(
                Type::String,
                "The executable that hosts get as their agent; `slipway` beside the provider unless given.",
            )
            .names(Names::Caller),
        ),
        ("root", text("/", "The folder below which a node is: / on a machine.")),
        ("init_system", text("auto", "Init system of the hosts: auto, systemd, openrc or none.")),
        ("path", none(Type::String, "Where programs are looked for on the hosts, as in PATH.")),
        (
            "connect_timeout_seconds",
            Attribute::optional(Type::Integer)
                .default_to(Value::Integer(10))
                .describe("How many seconds a connection with a host may take."),
        ),
        (
            "ignore_preflight_errors",
            none(
                Type::list(Type::String),
                "Names of checks before a host becomes a node whose errors do not stop a plan, as NumCPU; all names every check.",
            ),
        ),
        (
            "leaving",
            Attribute::optional(Type::Bool)
                .default_to(Value::Bool(false))
                .names(Names::Caller)
                .describe("Whether the whole cluster goes, from the caller."),
        ),
    ];
    attributes.into_iter().map(|(name, attribute)| (name.to_owned(), attribute)).collect()
}
