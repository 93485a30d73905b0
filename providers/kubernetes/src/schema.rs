//! The resource types and the configuration.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use slipway_resource::provider::operation;
use slipway_resource::schema::{Durations, Operation, OwnershipKind, Part, Role, attributes};
use slipway_resource::{Attribute, Names, ResourceType, Schema, Type};

use crate::provider::RATE_CLASS;

/// The type of the API itself: its address, and that it answers there.
pub const API: &str = "kubernetes_api";
/// The type of any API object.
pub const OBJECT: &str = "kubernetes_object";
/// The type of a node: its labels, annotations and taints, and its gates.
pub const NODE: &str = "kubernetes_node";

/// The attribute of a node with the version that its kubelet gets.
pub(crate) const KUBELET_VERSION: &str = "kubelet_version";

/// The gate that decides about a node's requests for serving certificates: argument `serving`, the names and addresses
/// that it is known to have.
pub const APPROVE_SERVING: &str = "approve-serving";

/// The attribute with the digest of the fields that Slipway owns.
pub(crate) const FIELDS_DIGEST: &str = "fields_digest";

/// The attribute with the number of nodes whose machines run with other settings than the object has for their pool.
pub(crate) const OUTDATED_NODES: &str = "outdated_nodes";

/// All types.
pub(crate) fn schema() -> Arc<Schema> {
    static SCHEMA: OnceLock<Arc<Schema>> = OnceLock::new();
    SCHEMA
        .get_or_init(|| {
            let types = BTreeMap::from([
                (API.to_owned(), api()),
                (OBJECT.to_owned(), object()),
                (NODE.to_owned(), node()),
            ]);
            Arc::new(Schema { config: config(), types })
        })
        .clone()
}

/// The configuration of the executable.
pub(crate) fn config() -> BTreeMap<String, Attribute> {
    attributes([
        (
            "kubeconfig",
            Attribute::optional(Type::String)
                .names(Names::Kubeconfig)
                .describe("The kubeconfig file; that of KUBECONFIG or ~/.kube/config without."),
        ),
        (
            "context",
            Attribute::optional(Type::String).describe("The context in it; the current one without."),
        ),
    ])
}

fn api() -> ResourceType {
    ResourceType {
        attributes: attributes([
            (
                "host",
                Attribute::required(Type::String)
                    .immutable()
                    .describe("A DNS name or an IP address at which it is served."),
            ),
            ("port", Attribute::required(Type::Integer).immutable().describe("The port.")),
        ]),
        // A step has ten times as long: 20 minutes for machines to boot and to become control planes.
        durations: Durations { create_ms: 120_000, update_ms: 1_000, delete_ms: 100 },
        ..ResourceType::new(
            "The API that the machines of a provider serve. It exists as soon as it answers.",
            OwnershipKind::Name,
            RATE_CLASS,
        )
    }
}

fn object() -> ResourceType {
    ResourceType {
        attributes: attributes([
            (
                "manifest",
                Attribute::required(Type::Any)
                    .describe("The object: apiVersion, kind, metadata, and the fields to own."),
            ),
            (
                "wait",
                Attribute::optional(Type::String)
                    .write_only()
                    .describe("`ready` waits until the object is what it asks for, `none` does not; ready without."),
            ),
            (
                "force_conflicts",
                Attribute::optional(Type::Bool)
                    .write_only()
                    .describe("Whether fields that others have are taken from them."),
            ),
            (
                "propagation",
                Attribute::optional(Type::String)
                    .describe("How dependents go when it is deleted: Background, Foreground or Orphan; Background without."),
            ),
            (
                "take_over",
                Attribute::optional_computed(Type::list(Type::String))
                    .describe("Fields that others have and that this change takes from them, as `manager: field`."),
            ),
            (
                "found",
                Attribute::optional_computed(Type::Bool)
                    .describe("Whether the object was there before Slipway: then it stays when it leaves the spec."),
            ),
            (
                OUTDATED_NODES,
                Attribute::optional_computed(Type::Integer).describe(
                    "How many nodes run with other settings than this object has for their pool; a plan sets 0 to change them in place.",
                ),
            ),
            ("uid", Attribute::computed(Type::String).describe("The uid that the server gave it.")),
            (
                FIELDS_DIGEST,
                Attribute::computed(Type::String)
                    .remembered()
                    .describe("Digest of the live fields that Slipway owns."),
            ),
        ]),
        durations: Durations { create_ms: 500, update_ms: 500, delete_ms: 2_000 },
        ..ResourceType::new(
            "An API object, kept by server-side apply.",
            OwnershipKind::Tags,
            RATE_CLASS,
        )
    }
}

fn node() -> ResourceType {
    let texts = || Type::map(Type::String);
    let taint = Type::object([
        ("key", Attribute::required(Type::String).describe("Its key.")),
        ("value", Attribute::optional(Type::String).describe("Its value.")),
        ("effect", Attribute::required(Type::String).describe("NoSchedule, PreferNoSchedule or NoExecute.")),
    ]);
    let gate = |description: &str, duration_ms: u64, read_only: bool| Operation {
        description: description.to_owned(),
        duration_ms,
        read_only,
    };
    ResourceType {
        attributes: attributes([
            (
                "name",
                Attribute::required(Type::String).immutable().describe("The name under which it registers."),
            ),
            ("labels", Attribute::optional(texts()).describe("Labels of Slipway's; others are left alone.")),
            ("annotations", Attribute::optional(texts()).describe("Annotations of Slipway's.")),
            (
                "taints",
                Attribute::optional(Type::set(taint)).describe("Taints of Slipway's; others are left alone."),
            ),
            (
                "ready",
                Attribute::optional(Type::Bool).write_only().describe(
                    "Whether to wait until its kubelet is ready, not only registered; true without.",
                ),
            ),
            (
                "serving",
                Attribute::optional(Type::list(Type::String))
                    .write_only()
                    .describe("Names and addresses for which its kubelet gets a serving certificate; its request for one is waited for."),
            ),
            (
                KUBELET_VERSION,
                Attribute::optional(Type::String).write_only().describe(
                    "The version that its kubelet gets, as 1.34.4. A node that was cordoned for this version takes pods again.",
                ),
            ),
            ("provider_id", Attribute::computed(Type::String).describe("Provider id of the node.")),
            ("uid", Attribute::computed(Type::String).describe("The uid that the server gave it.")),
        ]),
        operations: BTreeMap::from([
            (operation::CORDON.to_owned(), gate("Lets nothing new onto the node.", 1_000, false)),
            (
                operation::DRAIN.to_owned(),
                gate("Evicts what runs on the node, within the budgets.", 60_000, false),
            ),
            (operation::VERIFY.to_owned(), gate("Waits until the node is ready.", 30_000, true)),
            (
                APPROVE_SERVING.to_owned(),
                gate("Approves or denies the node's requests for serving certificates.", 2_000, false),
            ),
            (operation::UNCORDON.to_owned(), gate("Lets pods onto the node again.", 1_000, false)),
        ]),
        durations: Durations { create_ms: 30_000, update_ms: 500, delete_ms: 60_000 },
        roles: vec![Role::of_all(Part::Node)],
        ..ResourceType::new(
            "A node that has registered itself: its labels and taints, and the way in which it leaves.",
            OwnershipKind::Tags,
            RATE_CLASS,
        )
    }
}
