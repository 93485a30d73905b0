//! The configuration of a session.

use std::collections::BTreeMap;
use std::path::Path;

use slipway_resource::{Attribute, Type, Value};

/// How sessions are configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The folder below which the node is.
    pub root: String,
    /// The init system of the node.
    pub init_system: InitSystem,
    /// Whether all objects below the root belong to one cluster, so that objects of another one are refused.
    pub exclusive: bool,
    /// The search path for programs, as in `PATH`; when empty, the one of the process.
    pub path: String,
    /// Whether the whole cluster is deleted: then its etcd need not agree to the removal of members.
    pub leaving: bool,
}

/// The init system of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitSystem {
    /// The init system that is found on the node.
    Auto,
    /// systemd.
    Systemd,
    /// OpenRC.
    OpenRc,
    /// None: Slipway watches over them itself.
    None,
}

impl InitSystem {
    const NAMES: [(&'static str, Self); 4] =
        [("auto", Self::Auto), ("systemd", Self::Systemd), ("openrc", Self::OpenRc), ("none", Self::None)];
}

impl Default for Config {
    fn default() -> Self {
        Self {
            root: "/".to_owned(),
            init_system: InitSystem::Auto,
            exclusive: true,
            path: String::new(),
            leaving: false,
        }
    }
}

impl Config {
    /// Reads a configuration, and returns it with its problems.
    pub(crate) fn read(value: &Value) -> (Self, Vec<String>) {
        let mut problems = Vec::new();
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        let root = text("root").unwrap_or("/");
        let root = if root == "/" { root } else { root.trim_end_matches('/') };
        if !Path::new(root).is_absolute() {
            problems.push(format!("root: `{root}` is not an absolute path"));
        }
        let wanted = text("init_system").unwrap_or("auto");
        let known = InitSystem::NAMES.into_iter().find(|(name, _)| *name == wanted);
        if known.is_none() {
            problems.push(format!("init_system: `{wanted}` is not auto, systemd, openrc or none"));
        }
        let config = Self {
            root: root.to_owned(),
            init_system: known.map_or(InitSystem::Auto, |(_, system)| system),
            exclusive: value.get("exclusive").and_then(Value::as_bool).unwrap_or(true),
            path: text("path").unwrap_or_default().to_owned(),
            leaving: value.get("leaving").and_then(Value::as_bool).unwrap_or(false),
        };
        (config, problems)
    }

    /// The value of a session's configuration.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let system = InitSystem::NAMES.into_iter().find(|(_, system)| *system == self.init_system);
        Value::map([
            ("root", Value::from(self.root.as_str())),
            ("init_system", system.map_or("auto", |(name, _)| name).into()),
            ("exclusive", self.exclusive.into()),
            ("path", if self.path.is_empty() { Value::Null } else { self.path.as_str().into() }),
            ("leaving", self.leaving.into()),
        ])
    }

    /// The form of a configuration.
    pub(crate) fn schema() -> BTreeMap<String, Attribute> {
        let attribute = |kind, default: Value, description: &str| {
            Attribute::optional(kind).default_to(default).describe(description)
        };
        BTreeMap::from([
            (
                "root".to_owned(),
                attribute(Type::String, "/".into(), "The folder below which the node is: / on a machine."),
            ),
            (
                "init_system".to_owned(),
                attribute(Type::String, "auto".into(), "Init system: auto, systemd, openrc or none."),
            ),
            (
                "exclusive".to_owned(),
                attribute(Type::Bool, true.into(), "Whether a node of one cluster refuses any other."),
            ),
            (
                "path".to_owned(),
                Attribute::optional(Type::String).describe("Where programs are looked for, as in PATH."),
            ),
            (
                "leaving".to_owned(),
                attribute(
                    Type::Bool,
                    false.into(),
                    "Whether the whole cluster is deleted: its etcd does not need to agree to the removal of members.",
                ),
            ),
        ])
    }
}
