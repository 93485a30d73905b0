use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An attribute that another tool manages: differences in it are shown, and never planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IgnoredChange {
    /// Which resources: an address such as `aws_autoscaling_group.workers`; `*` stands for any part of it.
    pub resource: String,
    /// Which attribute: a path such as `tags.owner`; `*` ignores the whole resource.
    pub attribute: String,
}

/// A resource that goes by a new name: its record moves, the resource itself is left alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Moved {
    /// The address it had.
    pub from: String,
    /// The address it has now.
    pub to: String,
}

/// Resources that leave the state and whose objects are kept, as with a `removed` block of Terraform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Removed {
    /// Which resources: an address such as `aws_autoscaling_group.workers`; `*` stands for any part of it.
    pub from: String,
}

/// An existing object that becomes the object of a resource, as with an `import` block of Terraform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Import {
    /// The address of the resource, such as `aws_subnet.private-a`.
    pub to: String,
    /// The id of the object, as its provider names it.
    pub id: String,
}
