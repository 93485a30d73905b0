//! One attribute of a type: its values, the party that sets it, and guarantees for the engine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Type;
use crate::{Form, Value};

/// One attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attribute {
    /// The type of its values.
    #[serde(rename = "type")]
    pub kind: Type,
    /// The party that sets it.
    pub mode: Mode,
    /// Whether a change needs a new object.
    #[serde(default)]
    pub immutable: bool,
    /// Whether it is never shown.
    #[serde(default)]
    pub sensitive: bool,
    /// Whether the provider never returns it. It is then compared with the last applied value.
    #[serde(default)]
    pub write_only: bool,
    /// Whether an adopted object keeps its found value until the desired value changes.
    #[serde(default)]
    pub kept_on_adoption: bool,
    /// Whether the state also keeps the value that the server set: a provider then gets it back in
    /// `last_applied`. For values that the server sets only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remembered: bool,
    /// The thing outside of the spec that a setting names, so that the user who runs Slipway decides whether
    /// a spec may name it. For the configuration of a provider only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Names>,
    /// Whether the object that the value names cannot be deleted while this one refers to it, as a subnet
    /// with machines of a group in it. A plan then deletes this one first, or creates the replacement before
    /// the deletion.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds: bool,
    /// Whether the cloud stores another form of the value: the value that `plan` returns then differs from
    /// the desired one. Any other value is returned as it is desired, or in one of its `forms`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_form: bool,
    /// How a text that `plan` returns may differ from the desired text; also for texts in a list, a set or a
    /// map.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<Form>,
    /// Whether the value is a key for data: data that was encrypted with it cannot be decrypted with another
    /// key. A plan changes or removes such a value only after a confirmation by name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub key_material: bool,
    /// The server's meaning of an absent value, if that is fixed.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub default: Value,
    /// Description in one sentence, with the unit.
    #[serde(default)]
    pub description: String,
}

/// The kind of thing outside of the spec that a setting of a provider names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Names {
    /// A file that is read.
    File,
    /// A folder that is read, and written by actions.
    Folder,
    /// A kubeconfig: a file that may name others, and commands.
    Kubeconfig,
    /// The URL of a server that gets credentials of the user who runs Slipway.
    Endpoint,
    /// The URL of a server that gets only the credentials that the settings name beside it.
    Server,
    /// The choice among the credentials of the user who runs Slipway.
    Credentials,
    /// A value that only the user who runs Slipway may set.
    Caller,
}

/// The party that sets an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The spec, always.
    Required,
    /// The spec. If it does not, the attribute is absent.
    Optional,
    /// The spec, otherwise the server.
    OptionalComputed,
    /// The server only.
    Computed,
}

impl Attribute {
    /// An attribute of a type and a mode, mutable, shown, without default.
    #[must_use]
    pub fn new(kind: Type, mode: Mode) -> Self {
        Self {
            kind,
            mode,
            immutable: false,
            sensitive: false,
            write_only: false,
            kept_on_adoption: false,
            remembered: false,
            names: None,
            holds: false,
            own_form: false,
            forms: Vec::new(),
            key_material: false,
            default: Value::Null,
            description: String::new(),
        }
    }

    /// The spec always sets it.
    #[must_use]
    pub fn required(kind: Type) -> Self {
        Self::new(kind, Mode::Required)
    }

    /// The spec may set it.
    #[must_use]
    pub fn optional(kind: Type) -> Self {
        Self::new(kind, Mode::Optional)
    }

    /// The spec may set it; otherwise the server does.
    #[must_use]
    pub fn optional_computed(kind: Type) -> Self {
        Self::new(kind, Mode::OptionalComputed)
    }

    /// The same for a setting that names something outside of the spec.
    #[must_use]
    pub fn names(mut self, names: Names) -> Self {
        self.names = Some(names);
        self
    }

    /// The server sets it.
    #[must_use]
    pub fn computed(kind: Type) -> Self {
        Self::new(kind, Mode::Computed)
    }

    /// A change of it needs a new object.
    #[must_use]
    pub fn immutable(mut self) -> Self {
        self.immutable = true;
        self
    }

    /// It is never shown.
    #[must_use]
    pub fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }

    /// The provider never returns it.
    #[must_use]
    pub fn write_only(mut self) -> Self {
        self.write_only = true;
        self
    }

    /// An adopted object keeps its value until the desired one changes.
    #[must_use]
    pub fn kept_on_adoption(mut self) -> Self {
        self.kept_on_adoption = true;
        self
    }

    /// The state keeps the value that the server set.
    #[must_use]
    pub fn remembered(mut self) -> Self {
        self.remembered = true;
        self
    }

    /// An object that it names cannot be deleted while this object refers to it.
    #[must_use]
    pub fn holds(mut self) -> Self {
        self.holds = true;
        self
    }

    /// The cloud stores another form of it.
    #[must_use]
    pub fn own_form(mut self) -> Self {
        self.own_form = true;
        self
    }

    /// Texts may be returned in these forms.
    #[must_use]
    pub fn forms(mut self, forms: impl IntoIterator<Item = Form>) -> Self {
        self.forms = forms.into_iter().collect();
        self
    }

    /// Data that was encrypted with it cannot be decrypted with another value.
    #[must_use]
    pub fn key_material(mut self) -> Self {
        self.key_material = true;
        self
    }

    /// An absent value means this one.
    #[must_use]
    pub fn default_to(mut self, value: impl Into<Value>) -> Self {
        self.default = value.into();
        self
    }

    /// Its description, in one sentence.
    #[must_use]
    pub fn describe(mut self, description: &str) -> Self {
        description.clone_into(&mut self.description);
        self
    }
}

/// Attributes under their names.
#[must_use]
pub fn attributes<const N: usize>(all: [(&str, Attribute); N]) -> BTreeMap<String, Attribute> {
    all.into_iter().map(|(name, attribute)| (name.to_owned(), attribute)).collect()
}
