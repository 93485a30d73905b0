//! Pools of machines, and the endpoint that a cluster elects among them.

use slipway_resource::provider::operation;
use slipway_resource::schema::{OwnershipKind, Part, Role};
use slipway_resource::{Attribute, Mode, ProviderError, Type, Value};

use super::{Candidate, Kind, OnDelete, normal};
use crate::cloud::World;
use crate::error::invalid;

/// The type of pools.
pub(crate) const MACHINE_POOL: &str = "sim_machine_pool";

/// The type of nodes.
pub(crate) const NODE: &str = "sim_node";

/// The gate of a backup store that makes a backup.
pub(crate) const SNAPSHOT: &str = "snapshot";

/// Attributes of a pool that its machines are made from: a change of one of them replaces machines.
pub(crate) const TEMPLATE: &[&str] = &[
    "kubernetes_version",
    "image",
    "machine_type",
    "architecture",
    "root_volume",
    "volumes",
    "public_ip",
    "security_group_ids",
    "identity_id",
    "key_name",
    "spot",
    "node_labels",
    "taints",
    "user_data",
    "encryption_key",
];

/// How long a pod takes from its eviction to being ready elsewhere, in milliseconds.
pub(crate) const EVICTION_MS: u64 = 5_000;

/// How long a call that makes a pool takes besides waiting for its machines, in milliseconds.
pub(crate) const POOL_MS: u64 = 3_000;

/// How long a gate takes besides waiting for machines and pods, in milliseconds.
pub(crate) fn operation_ms(name: &str) -> u64 {
    match name {
        operation::SURGE => 2_000,
        operation::REMOVE => 10_000,
        SNAPSHOT => 20_000,
        _ => 1_000,
    }
}

/// How long a drain with this number of rounds takes, in milliseconds.
pub(crate) fn drain_ms(rounds: u64) -> u64 {
    operation_ms(operation::DRAIN) + rounds * EVICTION_MS
}

/// The fields of a machine in a pool's `machines`.
pub(crate) fn machine_fields() -> Type {
    let field = |kind: Type, text: &str| Attribute::new(kind, Mode::Computed).describe(text);
    Type::object([
        ("name", field(Type::String, "The node's name.")),
        ("identity", field(Type::String, "Id of the machine in the cloud.")),
        ("template_version", field(Type::Integer, "The template that it was made from.")),
        ("template_digest", field(Type::String, "The digest of that template.")),
        ("zone", field(Type::String, "The zone it runs in.")),
        ("address", field(Type::String, "Its address.")),
        ("image", field(Type::String, "The image that it booted from.")),
        ("machine_type", field(Type::String, "Machine type.")),
        ("kubernetes_version", field(Type::String, "The Kubernetes release that it runs.")),
        ("ready", field(Type::Bool, "Whether it is a ready node.")),
        ("surplus", field(Type::Bool, "Whether it exists beyond the pool's size.")),
        ("slot", field(Type::String, "The slot of the roll that launched it.")),
        ("volume_id", field(Type::String, "The volume that it holds.")),
        ("pods", field(Type::list(Type::String), "The pods that run on it.")),
        ("drain_rounds", field(Type::Integer, "In how many rounds its pods can leave within the budgets.")),
    ])
}

pub(super) fn kinds() -> Vec<Kind> {
    vec![pool(), node(), endpoint()]
}

fn pool() -> Kind {
    let kind = Kind::new(MACHINE_POOL, "pool", "Machines that are made alike from a template.");
    let kind = sizes(template(basics(kind)));
    let kind = computed(rolling(kind));
    kind.operation(operation::SURGE, 2_000, false, "Launches a machine for a slot.")
        .operation(operation::REMOVE, 10_000, false, "Terminates a machine without replacing it.")
        .unique(&["cluster", "name"])
        .normalise(|attributes| {
            normal::sets(attributes, &["security_group_ids", "target_group_ids", "volume_ids", "taints"]);
        })
        .check(check_pool)
        .rate_class("compute")
        .quota(500)
        .takes(65, 3, 30)
}

/// The nodes of the simulated clusters. Machines of pools become nodes by themselves.
fn node() -> Kind {
    let computed = |kind: Type| Attribute::computed(kind);
    let mut kind =
        Kind::new(NODE, "mach", "A node of a cluster. Nodes come and go with the machines of pools.")
            .untagged(OwnershipKind::Parent)
            .attribute("name", computed(Type::String), "The name of the node.")
            .attribute(
                "provider_id",
                computed(Type::String),
                "The identifier that the cloud gave its machine.",
            )
            .attribute("ready", computed(Type::Bool), "Whether the node is ready.")
            .attribute("cordoned", computed(Type::Bool), "Whether no pod is placed on it.")
            .operation(operation::VERIFY, 60_000, true, "Waits until the node is ready.")
            .operation(operation::CORDON, 1_000, false, "Marks the node as unschedulable.")
            .operation(operation::DRAIN, 6_000, false, "Evicts the pods of the node within their budgets.")
            .operation(operation::UNCORDON, 1_000, false, "Lets pods onto the node again.")
            .rate_class("compute");
    kind.resource.roles.push(Role::of_all(Part::Node));
    kind
}

fn basics(kind: Kind) -> Kind {
    kind.attribute("name", Attribute::required(Type::String).immutable(), "Its name, unique in the cluster.")
        .attribute(
            "cluster",
            Attribute::required(Type::String).immutable(),
            "The cluster that its machines join.",
        )
        .attribute(
            "role",
            Attribute::required(Type::String).immutable(),
            "`controlPlane`, `worker`, `apiServer` or `bastion`.",
        )
        .attribute(
            "zones",
            Attribute::optional(Type::list(Type::String)),
            "The zones of its machines, in order.",
        )
        .links("subnet_ids", "sim_subnet", OnDelete::Refuse, "The subnets of its machines.")
        .links(
            "target_group_ids",
            "sim_target_group",
            OnDelete::Refuse,
            "The target groups that its machines join.",
        )
        .links(
            "volume_ids",
            "sim_volume",
            OnDelete::Refuse,
            "Volumes of which every machine takes one of its zone.",
        )
}

fn template(kind: Kind) -> Kind {
    kind.attribute("kubernetes_version", Attribute::required(Type::String), "The Kubernetes release.")
        .attribute("machine_type", Attribute::optional_computed(Type::String), "The kind of machine.")
        .attribute("architecture", Attribute::optional(Type::String).default_to("amd64"), "The processor.")
        .attribute(
            "image",
            Attribute::optional_computed(Type::String).kept_on_adoption(),
            "Image that machines boot from.",
        )
        .attribute("root_volume", Attribute::optional(volume()), "The disk that machines boot from.")
        .attribute("volumes", Attribute::optional(Type::list(volume())), "Further disks.")
        .attribute(
            "public_ip",
            Attribute::optional(Type::Bool).default_to(false),
            "Whether machines have public addresses.",
        )
        .links(
            "security_group_ids",
            "sim_security_group",
            OnDelete::Refuse,
            "The security groups of machines.",
        )
        .attribute("identity_id", Attribute::optional(Type::String), "Identity of the machines, which has their permissions.")
        .linked("identity_id", "sim_identity", OnDelete::Refuse)
        .attribute("key_name", Attribute::optional(Type::String), "The key that may log in.")
        .attribute(
            "spot",
            Attribute::optional(Type::object([
                ("enabled", Attribute::required(Type::Bool).describe("Always true.")),
                ("max_price", Attribute::optional(Type::String).describe("The most to pay per hour.")),
            ])),
            "Whether the cloud may take machines back.",
        )
        .attribute("node_labels", Attribute::optional(Type::map(Type::String)), "Labels of the nodes.")
        .attribute("taints", Attribute::optional(Type::set(Type::String)), "Taints of the nodes.")
        .attribute(
            "user_data",
            Attribute::optional(Type::String).kept_on_adoption(),
            "User data for the first boot of machines.",
        )
        .attribute(
            "encryption_key",
            Attribute::optional(Type::String).sensitive().write_only().key_material(),
            "The key for encryption at rest, handed to machines.",
        )
        .hidden("encryption_key")
        .attribute(
            "encryption_at_rest",
            Attribute::optional(Type::String).key_material(),
            "How the API server encrypts what it stores: the provider, the socket of its plugin, and the resources.",
        )
}

fn sizes(kind: Kind) -> Kind {
    kind.attribute(
        "size",
        Attribute::optional_computed(Type::Integer),
        "How many machines; absent where an autoscaler decides.",
    )
    .attribute("min", Attribute::required(Type::Integer), "The fewest machines.")
    .attribute("max", Attribute::required(Type::Integer), "The most machines.")
    .attribute(
        "mixed",
        Attribute::optional(Type::Any),
        "Several kinds of machine, and how many of them are spot.",
    )
    .attribute("warm_pool", Attribute::optional(Type::Any), "Machines that are kept ready.")
    .attribute("hosts", Attribute::optional(Type::Any), "Hosts that were asked for.")
    .attribute("provider_config", Attribute::optional(Type::Any), "Further settings of the pool.")
}

fn rolling(kind: Kind) -> Kind {
    kind.attribute(
        "max_surge",
        Attribute::optional(Type::String).default_to("1"),
        "Machines beyond the size in a roll, a count or a percentage.",
    )
    .attribute(
        "max_unavailable",
        Attribute::optional(Type::String).default_to("0"),
        "Machines that may be missing in a roll, a count or a percentage.",
    )
    .attribute(
        "drain",
        Attribute::optional(Type::Bool).default_to(true),
        "Whether nodes are emptied before they go.",
    )
    .attribute(
        "drain_budgets",
        Attribute::optional(Type::String).default_to("respect"),
        "Whether disruption budgets count: `respect` or `ignore`.",
    )
    .attribute(
        "drain_on_blocked",
        Attribute::optional(Type::String).default_to("fail"),
        "Action when a node cannot be drained in time: `fail`, `skip` or `force`.",
    )
    .attribute(
        "drain_timeout_ms",
        Attribute::optional(Type::Integer).default_to(900_000i64),
        "How long a drain may take.",
    )
    .attribute(
        "ready_timeout_ms",
        Attribute::optional(Type::Integer).default_to(900_000i64),
        "How long a machine may take to become ready.",
    )
    .attribute(
        "settle_ms",
        Attribute::optional(Type::Integer).default_to(0i64),
        "How long a roll waits after a machine became ready.",
    )
    .attribute(
        "rollout_strategy",
        Attribute::optional(Type::String),
        "`in-place` refuses a change for which machines would be replaced; all changes replace them here.",
    )
    .attribute(
        "snapshot_before_roll",
        Attribute::optional(Type::map(Type::String)),
        "Backup stores, by address, that make a backup before a new release rolls out.",
    )
}

fn computed(kind: Kind) -> Kind {
    kind.attribute("machines", Attribute::computed(Type::list(machine_fields())), "The machines.")
        .attribute(
            "vacancies",
            Attribute::computed(Type::list(Type::Any)),
            "Machines that were removed and whose places are empty.",
        )
        .attribute("template_version", Attribute::computed(Type::Integer), "The version of the template.")
}

fn volume() -> Type {
    let field = |kind: Type, text: &str| Attribute::optional(kind).describe(text);
    Type::object([
        ("device", field(Type::String, "The device name.")),
        ("mount_path", field(Type::String, "Where it is mounted.")),
        ("size_gib", field(Type::Integer, "The size in GiB.")),
        ("type", field(Type::String, "The kind of disk.")),
        ("iops", field(Type::Integer, "Operations per second.")),
        ("throughput", field(Type::Integer, "MiB per second.")),
        ("encrypted", field(Type::Bool, "Whether it is encrypted.")),
        ("key_id", field(Type::String, "The key that encrypts it.")),
        ("delete_on_termination", field(Type::Bool, "Whether it is deleted with its machine.")),
    ])
}

fn check_pool(_: &World, candidate: &Candidate<'_>) -> Result<(), ProviderError> {
    let name = candidate.text("name");
    let number = |key: &str| candidate.attributes.get(key).and_then(Value::as_integer);
    let (min, max) = (number("min").unwrap_or_default(), number("max").unwrap_or_default());
    if min < 0 || max < min || max > 10_000 {
        return Err(invalid(format!("pool {name}: {min} to {max} is not a range of sizes")));
    }
    match number("size") {
        Some(size) if size < min || size > max => {
            Err(invalid(format!("pool {name}: size {size} is not between {min} and {max}")))
        }
        _ => Ok(()),
    }
}

fn endpoint() -> Kind {
    Kind::new("sim_endpoint", "ep", "A name that one of a cluster's control-plane machines answers to.")
        .attribute("cluster", Attribute::required(Type::String).immutable(), "The cluster.")
        .attribute("port", Attribute::required(Type::Integer), "The port.")
        .attribute("host", Attribute::computed(Type::String), "The name; it stays when the holder goes.")
        .attribute(
            "holder",
            Attribute::computed(Type::String),
            "The machine that answers now: the first ready one of the control plane.",
        )
        .unique(&["cluster"])
        .assign(|assigned, attributes| {
            let host = format!("api-{:06}.elected.{}.sim", assigned.serial, assigned.account);
            attributes.insert("host".into(), host.into());
        })
        .rate_class("balance")
        .takes(2, 1, 1)
}
