//! Volumes and backup stores.

use slipway_resource::{Attribute, ProviderError, Type, Value};

use super::{Candidate, Kind};
use crate::cloud::World;
use crate::error::invalid;

use super::machine::SNAPSHOT;

/// The type of backup stores.
const BACKUP_STORE: &str = "sim_backup_store";

pub(super) fn kinds() -> Vec<Kind> {
    vec![volume(), backup_store()]
}

fn volume() -> Kind {
    Kind::new("sim_volume", "disk", "A disk that outlives machines.")
        .attribute("name", Attribute::required(Type::String), "Its name, for people.")
        .attribute("zone", Attribute::required(Type::String).immutable(), "The zone it cannot leave.")
        .attribute("size_gib", Attribute::required(Type::Integer), "Its size in GiB; it can only grow.")
        .attribute("type", Attribute::optional_computed(Type::String), "The kind of disk.")
        .attribute("iops", Attribute::optional_computed(Type::Integer), "Operations per second.")
        .attribute("throughput", Attribute::optional_computed(Type::Integer), "MiB per second.")
        .attribute(
            "encrypted",
            Attribute::optional(Type::Bool).immutable().default_to(true),
            "Whether it is encrypted.",
        )
        .attribute("key_id", Attribute::optional(Type::String).immutable(), "The key that encrypts it.")
        .attribute("device", Attribute::optional(Type::String), "The device name on the machine.")
        .attribute("mount_path", Attribute::optional(Type::String), "Where it is mounted.")
        .attribute(
            "delete_on_termination",
            Attribute::optional(Type::Bool).default_to(false),
            "Whether it is deleted with its machine.",
        )
        .assign(|_, attributes| {
            attributes.entry("type".into()).or_insert("ssd".into());
            attributes.entry("iops".into()).or_insert(Value::Integer(3_000));
            attributes.entry("throughput".into()).or_insert(Value::Integer(125));
        })
        .check(check_volume)
        .rate_class("compute")
        .stateful()
        // Machines hold it until they are given another one.
        .create_before_delete()
        .takes(6, 12, 4)
}

fn check_volume(_: &World, candidate: &Candidate<'_>) -> Result<(), ProviderError> {
    refuse_shrinking(candidate.text("name"), candidate.before, candidate.attributes)
}

/// Refuses a volume that is to become smaller.
pub(crate) fn refuse_shrinking(
    name: &str,
    before: Option<&Value>,
    after: &Value,
) -> Result<(), ProviderError> {
    let size = |attributes: &Value| attributes.get("size_gib").and_then(Value::as_integer);
    match (before.and_then(size), size(after)) {
        (_, Some(after)) if after < 1 => Err(invalid(format!("volume {name} has no size"))),
        (Some(before), Some(after)) if after < before => {
            Err(invalid(format!("volume {name} cannot shrink from {before} to {after} GiB"))
                .with_hint(format!("write {before} GiB as its size into the spec")))
        }
        _ => Ok(()),
    }
}

fn backup_store() -> Kind {
    Kind::new(BACKUP_STORE, "bak", "Where backups of one etcd cluster go.")
        .attribute("name", Attribute::required(Type::String).immutable(), "Its name, unique in the account.")
        .attribute(
            "location",
            Attribute::optional(Type::String).immutable(),
            "The URL of an existing store to use.",
        )
        .attribute("interval_ms", Attribute::required(Type::Integer), "The time between two backups.")
        .attribute("retention_ms", Attribute::required(Type::Integer), "How long a backup is kept.")
        .attribute("snapshots", Attribute::computed(Type::Integer), "How many backups were made on request.")
        .assign(|_, attributes| {
            attributes.insert("snapshots".into(), Value::Integer(0));
        })
        .unique(&["name"])
        .operation(SNAPSHOT, 20_000, false, "Makes a backup now.")
        .rate_class("storage")
        .stateful()
        .takes(4, 2, 3)
}
