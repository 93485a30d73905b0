//! The disks of a pool's machines.

use slipway_cluster_input::{NodePool, Volume};
use slipway_resource::{ProviderError, Value};

use super::instance_types::disks;
use crate::expand::build::Builder;
use crate::expand::refuse;
use crate::expand::volumes::Performance;

/// The types of volumes.
const TYPES: [&str; 7] = ["gp3", "gp2", "io1", "io2", "st1", "sc1", "standard"];

/// The block devices: the one that the image boots from, the machine's own disks, and further volumes.
pub(super) fn mappings(builder: &Builder<'_>, pool: &NodePool) -> Result<Vec<Value>, ProviderError> {
    check_type(pool, "rootVolume", &pool.root_volume)?;
    let mut found = vec![mapping(root_device(builder, pool), &pool.root_volume)];
    let own = pool.machine_type.as_deref().map_or(0, |machine| disks(builder, machine));
    // The first letters behind the root device are for volumes.
    for (index, letter) in (0..own).zip('c'..='z') {
        found.push(Value::map([
            ("device_name", Value::from(format!("/dev/sd{letter}"))),
            ("virtual_name", Value::from(format!("ephemeral{index}"))),
        ]));
    }
    for (index, volume) in pool.volumes.iter().enumerate() {
        let device = volume.device.as_deref().ok_or_else(|| {
            let field = format!("pools[{}].volumes[{index}].device", pool.name);
            refuse(&field, "a volume of AWS needs the name of its device", "name one, as in /dev/xvdd")
        })?;
        check_type(pool, &format!("volumes[{index}]"), volume)?;
        found.push(mapping(device.into(), volume));
    }
    Ok(found)
}

/// Refuses a type of volumes that AWS does not have: a group would launch no instance.
fn check_type(pool: &NodePool, place: &str, volume: &Volume) -> Result<(), ProviderError> {
    match &volume.kind {
        Some(kind) if !TYPES.contains(&kind.as_str()) => Err(refuse(
            &format!("pools[{}].{place}.type", pool.name),
            &format!("{kind} is not a type of volumes on AWS"),
            &format!("use one of {}", TYPES.join(", ")),
        )),
        _ => Ok(()),
    }
}

/// The device that the image boots from: only the account knows it.
fn root_device(builder: &Builder<'_>, pool: &NodePool) -> Value {
    match (builder.catalog.image(pool), &pool.root_volume.device) {
        (_, Some(device)) => device.as_str().into(),
        (Some(image), None) if !image.root_device.is_empty() => image.root_device.as_str().into(),
        _ => Value::Unknown,
    }
}

fn mapping(device: Value, volume: &Volume) -> Value {
    let kind = volume.kind.as_deref().unwrap_or("gp3");
    let performance = Performance::of(kind, volume.iops, volume.throughput);
    let ebs = Value::map([
        ("volume_size", Value::from(volume.size_gib)),
        ("volume_type", Value::from(kind)),
        ("iops", Value::from(performance.iops)),
        ("throughput", Value::from(performance.throughput)),
        ("encrypted", Value::from(volume.encrypted)),
        ("kms_key_id", Value::from(volume.key.clone().filter(|_| volume.encrypted))),
        ("delete_on_termination", Value::from(volume.delete_on_termination)),
    ]);
    Value::map([("device_name", device), ("ebs", Value::List(vec![ebs]))])
}
