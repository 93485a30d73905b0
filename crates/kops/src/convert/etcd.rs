use slipway_spec::{
    diagnostic::{closest, code},
    model::{EtcdBackups, EtcdCluster, EtcdMember, NodePool, Volume},
    value::Duration,
};

use super::Context;
use crate::{code as kops_code, defaults, field::Field, outcome::Outcome};

/// The etcd clusters, `main` first.
pub(super) fn read(context: &Context<'_>, pools: &[NodePool], outcome: &mut Outcome) -> Vec<EtcdCluster> {
    let list = context.spec.at("etcdClusters");
    outcome.wrote("etcd", &list);
    let mut clusters: Vec<_> =
        list.items().iter().filter_map(|field| one(context, field, pools, outcome)).collect();
    clusters.sort_by_key(|cluster| cluster.name != "main");
    if !list.is_given() {
        let missing = list
            .error(code::MISSING_FIELD, format!("the cluster {} has no etcdClusters", context.name))
            .hint("list main and events, each with its etcdMembers");
        outcome.refuse("etcd", missing);
    }
    clusters
}

fn one(
    context: &Context<'_>,
    field: &Field<'_>,
    pools: &[NodePool],
    outcome: &mut Outcome,
) -> Option<EtcdCluster> {
    let Some(name) = field.at("name").filled() else {
        outcome.say(
            field
                .error(code::MISSING_FIELD, "an etcd cluster has no name")
                .hint("write name: main or name: events"),
        );
        return None;
    };
    let path = format!("etcd[{name}]");
    outcome.wrote(&path, field);
    for (kops, model) in [
        ("name", "name"),
        ("etcdMembers", "members"),
        ("version", "version"),
        ("backups", "backups"),
        ("backups.backupStore", "backups.store"),
        ("manager.backupInterval", "backups.interval"),
        ("manager.backupRetentionDays", "backups.retention"),
        ("cpuRequest", "cpuRequest"),
        ("memoryRequest", "memoryRequest"),
    ] {
        outcome.wrote(&format!("{path}.{model}"), &field.at(kops));
    }
    let provider = field.at("provider");
    if provider.filled().is_some_and(|provider| !provider.eq_ignore_ascii_case("manager")) {
        let refused = provider
            .error(
                kops_code::REFUSED,
                format!("{} is {}", provider.path(), provider.text().unwrap_or_default()),
            )
            .hint("write provider: Manager; its volumes are taken over as they are");
        outcome.say(refused);
    }
    let members = field.at("etcdMembers");
    if !members.is_given() {
        let missing = field
            .error(code::MISSING_FIELD, format!("the etcd cluster {name} has no etcdMembers"))
            .hint("list one member for each control-plane instance group");
        outcome.refuse(&format!("{path}.members"), missing);
    }
    let members = members
        .items()
        .iter()
        .filter_map(|member| member_of(context, member, &path, &name, pools, outcome))
        .collect();
    let cpu = field.at("cpuRequest").parse(outcome);
    let memory = field.at("memoryRequest").parse(outcome);
    Some(EtcdCluster {
        members,
        version: field.at("version").filled(),
        backups: backups(field),
        cpu_request: cpu.or_else(|| defaults::etcd_cpu(&name).parse().ok()),
        memory_request: memory.or_else(|| defaults::ETCD_MEMORY.parse().ok()),
        name,
    })
}

fn backups(field: &Field<'_>) -> EtcdBackups {
    let days: Option<u32> = field.at("manager.backupRetentionDays").number();
    let standard = EtcdBackups::default();
    EtcdBackups {
        // kOps deletes no backup when the retention is zero.
        retention: match days {
            None | Some(0) => standard.retention,
            Some(days) => Duration::from_hours(u64::from(days) * 24),
        },
        interval: field.at("manager.backupInterval").duration().unwrap_or(standard.interval),
        store: field.at("backups.backupStore").filled(),
        ..standard
    }
}

fn member_of(
    context: &Context<'_>,
    field: &Field<'_>,
    path: &str,
    etcd: &str,
    pools: &[NodePool],
    outcome: &mut Outcome,
) -> Option<EtcdMember> {
    let (name, pool) = (field.at("name"), field.at("instanceGroup"));
    for (field, what) in [(&name, "name"), (&pool, "instanceGroup")] {
        if field.filled().is_none() {
            let missing = field
                .error(code::MISSING_FIELD, format!("a member of the etcd cluster {etcd} has no {what}"));
            outcome.say(missing.hint("write name and instanceGroup of every member"));
        }
    }
    let (member, group) = (name.filled()?, pool.filled()?);
    let path = format!("{path}.members[{member}]");
    outcome.wrote(&path, field);
    outcome.wrote(&format!("{path}.name"), &name);
    outcome.wrote(&format!("{path}.pool"), &pool);
    if !pools.iter().any(|pool| pool.name == group) {
        let hint = match closest(&group, pools.iter().map(|pool| pool.name.as_str())) {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("add an InstanceGroup named {group} with role: Master"),
        };
        let unknown = pool
            .error(
                code::UNKNOWN_REFERENCE,
                format!("the member {member} of the etcd cluster {etcd} names the instance group {group}, which does not exist"),
            )
            .hint(hint);
        outcome.refuse(&format!("{path}.pool"), unknown);
        outcome.refused.push("pools".to_owned());
    }
    Some(EtcdMember {
        volume: Some(volume(context, field, &path, outcome)),
        // kOps places the volume in the zone of the group's first subnet.
        subnet: pools.iter().find(|pool| pool.name == group).and_then(|pool| pool.subnets.first().cloned()),
        name: member,
        pool: group,
    })
}

/// The member's volume, which stays when the machine is deleted.
fn volume(context: &Context<'_>, field: &Field<'_>, path: &str, outcome: &mut Outcome) -> Volume {
    for (kops, model) in [
        ("volumeSize", "sizeGiB"),
        ("volumeType", "type"),
        ("volumeIops", "iops"),
        ("volumeThroughput", "throughput"),
        ("encryptedVolume", "encrypted"),
        ("kmsKeyId", "key"),
    ] {
        outcome.wrote(&format!("{path}.volume.{model}"), &field.at(kops));
    }
    let kind = field
        .at("volumeType")
        .filled()
        .or_else(|| context.is_aws().then(|| defaults::VOLUME_TYPE.to_owned()));
    let gp3 = kind.as_deref() == Some("gp3");
    let key = field.at("kmsKeyId").filled();
    let encrypted = field.at("encryptedVolume");
    if key.is_some() && encrypted.boolean() != Some(true) {
        // EC2 refuses what kOps asks for then: a key for a volume that is not encrypted.
        let assumed = Context::assumed(
            &field.at("kmsKeyId"),
            format!(
                "{} is given, and encryptedVolume is not true; true is assumed",
                field.at("kmsKeyId").path()
            ),
            "write encryptedVolume: true, or leave the key out",
        );
        outcome.say(assumed);
    }
    Volume {
        size_gib: field.at("volumeSize").number().unwrap_or(defaults::ETCD_VOLUME_GIB),
        iops: field.at("volumeIops").number().or_else(|| gp3.then_some(defaults::GP3_IOPS)),
        throughput: field.at("volumeThroughput").number().or_else(|| gp3.then_some(defaults::GP3_THROUGHPUT)),
        kind,
        // kOps encrypts etcd volumes only where the document says so.
        encrypted: encrypted.boolean().unwrap_or_default() || key.is_some(),
        key,
        delete_on_termination: false,
        device: None,
        mount_path: None,
    }
}
