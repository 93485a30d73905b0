use slipway_spec::{
    diagnostic::code,
    model::{Role, Volume},
};

use crate::{code as kops_code, convert::Context, defaults, field::Field, outcome::Outcome};

/// The disk that the group's machines boot from.
pub(super) fn root(context: &Context<'_>, spec: &Field<'_>, role: Role, outcome: &mut Outcome) -> Volume {
    let kind = kind(context, &spec.at("rootVolumeType"));
    let gp3 = kind.as_deref() == Some("gp3");
    Volume {
        device: None,
        mount_path: None,
        size_gib: spec
            .at("rootVolumeSize")
            .number()
            .filter(|size| *size > 0)
            .unwrap_or_else(|| defaults::root_volume_gib(role)),
        iops: spec.at("rootVolumeIops").number().or_else(|| gp3.then_some(defaults::GP3_IOPS)),
        throughput: spec
            .at("rootVolumeThroughput")
            .number()
            .or_else(|| gp3.then_some(defaults::GP3_THROUGHPUT)),
        kind,
        encrypted: spec.at("rootVolumeEncryption").boolean().unwrap_or(true),
        key: root_key(spec, outcome),
        delete_on_termination: spec.at("rootVolumeDeleteOnTermination").boolean().unwrap_or(true),
    }
}

/// The key of the root volume. kOps takes it only where the group also asks for encryption, which it has anyway.
fn root_key(spec: &Field<'_>, outcome: &mut Outcome) -> Option<String> {
    let key = spec.at("rootVolumeEncryptionKey");
    let given = key.filled()?;
    if spec.at("rootVolumeEncryption").boolean() == Some(true) {
        return Some(given);
    }
    let unused = key
        .warning(
            kops_code::LOST,
            "spec.rootVolumeEncryptionKey has no effect: kOps uses it only beside rootVolumeEncryption: true",
        )
        .hint("write rootVolumeEncryption: true, or leave the key out");
    outcome.say(unused);
    None
}

fn kind(context: &Context<'_>, field: &Field<'_>) -> Option<String> {
    field.filled().or_else(|| context.is_aws().then(|| defaults::VOLUME_TYPE.to_owned()))
}

/// Further disks, with the paths at which `volumeMounts` mounts them.
pub(super) fn more(
    context: &Context<'_>,
    spec: &Field<'_>,
    path: &str,
    outcome: &mut Outcome,
) -> Vec<Volume> {
    let mounts = spec.at("volumeMounts").items();
    let fields = spec.at("volumes").items();
    let mut volumes: Vec<Volume> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let place = format!("{path}.volumes[{index}]");
        for (kops, model) in [
            ("device", "device"),
            ("size", "sizeGiB"),
            ("type", "type"),
            ("iops", "iops"),
            ("throughput", "throughput"),
            ("encrypted", "encrypted"),
            ("key", "key"),
        ] {
            outcome.wrote(&format!("{place}.{model}"), &field.at(kops));
        }
        volumes.push(one(context, field, outcome));
    }
    for mount in mounts {
        let (device, place) = (mount.at("device").filled(), mount.at("path").filled());
        match volumes.iter_mut().find(|volume| volume.device.is_some() && volume.device == device) {
            Some(volume) => volume.mount_path = place,
            None => {
                let device = device.unwrap_or_default();
                let unknown = mount
                    .warning(
                        kops_code::LOST,
                        format!("nothing is mounted from {device:?}: no volume has this device"),
                    )
                    .hint("add it to volumes; a disk that the machine brings is mounted by a hook");
                outcome.say(unknown);
            }
        }
    }
    volumes
}

fn one(context: &Context<'_>, field: &Field<'_>, outcome: &mut Outcome) -> Volume {
    let kind = kind(context, &field.at("type"));
    let gp3 = kind.as_deref() == Some("gp3");
    let size: Option<u32> = field.at("size").number().filter(|size| *size > 0);
    if size.is_none() {
        let missing = field
            .error(code::MISSING_FIELD, "a volume has no size")
            .hint("write its size in GiB, as in size: 20");
        outcome.say(missing);
    }
    Volume {
        device: field.at("device").filled(),
        mount_path: None,
        size_gib: size.unwrap_or(1),
        iops: field.at("iops").number().or_else(|| gp3.then_some(defaults::GP3_IOPS)),
        throughput: field.at("throughput").number().or_else(|| gp3.then_some(defaults::GP3_THROUGHPUT)),
        kind,
        encrypted: field.at("encrypted").boolean().unwrap_or(true),
        key: field.at("key").filled(),
        // kOps does not read deleteOnTermination of a further disk: its launch templates delete the disk with the machine.
        delete_on_termination: true,
    }
}
