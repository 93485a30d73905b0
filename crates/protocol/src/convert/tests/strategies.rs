//! Arbitrary values of everything that crosses the wire.

use super::*;

pub(super) fn address() -> impl Strategy<Value = Address> {
    ("[a-z_]{1,6}", "[a-z.:/0-9]{1,8}").prop_map(|(kind, name)| Address::new(kind, name))
}

pub(super) fn path() -> impl Strategy<Value = Path> {
    let segment = prop_oneof![".{0,4}".prop_map(Segment::Key), (0_usize..1000).prop_map(Segment::Index)];
    prop::collection::vec(segment, 0..4).prop_map(Path::from)
}

pub(super) fn reference() -> impl Strategy<Value = Reference> {
    (address(), path()).prop_map(|(address, path)| Reference { address, path })
}

pub(super) fn value() -> impl Strategy<Value = Value> {
    let part =
        prop_oneof![".{0,4}".prop_map(TemplatePart::Text), reference().prop_map(TemplatePart::Reference)];
    let secret = (".{0,6}", prop::option::of("[0-9a-f]{4}")).prop_map(|(source, fingerprint)| Secret {
        source,
        fingerprint,
        text: None,
    });
    let leaf = prop_oneof![
        Just(Value::Null),
        Just(Value::Unknown),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Integer),
        any::<f64>().prop_map(Value::Float),
        ".{0,8}".prop_map(Value::String),
        reference().prop_map(Value::from),
        prop::collection::vec(part, 0..3).prop_map(Value::Template),
        secret.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::List),
            prop::collection::btree_map(".{0,4}", inner, 0..5).prop_map(|entries| Value::Map(entries.into())),
        ]
    })
}

pub(super) fn class() -> impl Strategy<Value = ErrorClass> {
    prop_oneof![
        Just(ErrorClass::Invalid),
        Just(ErrorClass::NotFound),
        Just(ErrorClass::Conflict),
        Just(ErrorClass::PreconditionFailed),
        (".{0,4}", prop::option::of(any::<u64>())).prop_map(|(rate_class, retry_after_ms)| {
            ErrorClass::Throttled { rate_class, retry_after_ms }
        }),
        (".{0,4}", any::<u64>(), any::<u64>()).prop_map(|(name, limit, used)| ErrorClass::Quota {
            name,
            limit,
            used
        }),
        ".{0,4}".prop_map(|action| ErrorClass::Permission { action }),
        Just(ErrorClass::Unauthenticated),
        Just(ErrorClass::Transient),
        Just(ErrorClass::Permanent),
        Just(ErrorClass::Cancelled),
        prop::collection::vec(".{0,4}", 0..3).prop_map(|blockers| ErrorClass::Dependency { blockers }),
        Just(ErrorClass::OutcomeUnknown),
    ]
}

pub(super) fn error() -> impl Strategy<Value = ProviderError> {
    let text = || prop::option::of(".{0,4}");
    (class(), ".{0,8}", text(), prop::option::of(address()), text(), text(), text()).prop_map(
        |(class, message, hint, address, field, identity, code)| ProviderError {
            class,
            message,
            hint,
            address,
            field,
            identity: identity.map(Identity::new),
            code,
        },
    )
}

pub(super) fn kind() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        Just(Type::Bool),
        Just(Type::Integer),
        Just(Type::Float),
        Just(Type::String),
        Just(Type::Any)
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let fields = prop::collection::btree_map("[a-z]{1,3}", attribute(inner.clone()), 0..3);
        prop_oneof![
            inner.clone().prop_map(Type::list),
            inner.clone().prop_map(Type::set),
            inner.prop_map(Type::map),
            fields.prop_map(Type::Object),
        ]
    })
}

pub(super) fn attribute(kind: impl Strategy<Value = Type>) -> impl Strategy<Value = Attribute> {
    let mode = prop_oneof![
        Just(Mode::Required),
        Just(Mode::Optional),
        Just(Mode::OptionalComputed),
        Just(Mode::Computed)
    ];
    let names = prop::option::of(prop_oneof![
        Just(Names::File),
        Just(Names::Folder),
        Just(Names::Kubeconfig),
        Just(Names::Endpoint),
        Just(Names::Server),
        Just(Names::Credentials),
        Just(Names::Caller)
    ]);
    (kind, mode, any::<[bool; 8]>(), names, value(), ".{0,4}").prop_map(
        |(kind, mode, flags, names, default, description)| {
            let [
                immutable,
                sensitive,
                write_only,
                kept_on_adoption,
                remembered,
                holds,
                own_form,
                key_material,
            ] = flags;
            let forms = if holds { vec![Form::Range, Form::Prefix("a".to_owned())] } else { Vec::new() };
            Attribute {
                kind,
                mode,
                immutable,
                sensitive,
                write_only,
                kept_on_adoption,
                remembered,
                names,
                holds,
                own_form,
                forms,
                key_material,
                default,
                description,
            }
        },
    )
}

pub(super) fn schema() -> impl Strategy<Value = Schema> {
    let ownership = prop_oneof![
        Just(OwnershipKind::Tags),
        Just(OwnershipKind::Parent),
        Just(OwnershipKind::Name),
        Just(OwnershipKind::Listed)
    ];
    let attributes = || prop::collection::btree_map("[a-z]{1,3}", attribute(kind()), 0..3);
    let operation = (".{0,4}", any::<u64>(), any::<bool>())
        .prop_map(|(description, duration_ms, read_only)| Operation { description, duration_ms, read_only });
    let operations = prop::collection::btree_map("[a-z]{1,3}", operation, 0..2);
    let resource_type = (
        (any::<u32>(), ".{0,4}", ".{0,4}", "[a-z{}]{0,4}"),
        attributes(),
        ownership,
        any::<[bool; 3]>(),
        operations,
        any::<[u64; 3]>(),
        (
            prop::collection::vec("[a-z]{1,3}", 0..2),
            prop::option::of(removed_with()),
            prop::option::of(irreplaceable()),
            prop::collection::vec(role(), 0..2),
            any::<bool>(),
        ),
    )
        .prop_map(|(texts, attributes, ownership, flags, operations, durations, more)| {
            let (exclusive, removed_with, irreplaceable, roles, read_by_identity) = more;
            let (version, description, rate_class, import_id) = texts;
            let [idempotent_create, stateful, create_before_delete] = flags;
            let [create_ms, update_ms, delete_ms] = durations;
            ResourceType {
                version,
                description,
                attributes,
                ownership,
                rate_class,
                idempotent_create,
                stateful,
                irreplaceable,
                create_before_delete,
                exclusive,
                import_id,
                removed_with,
                roles,
                read_by_identity,
                operations,
                durations: Durations { create_ms, update_ms, delete_ms },
            }
        });
    (attributes(), prop::collection::btree_map("[a-z]{1,3}", resource_type, 0..3))
        .prop_map(|(config, types)| Schema { config, types })
}

pub(super) fn removed_with() -> impl Strategy<Value = RemovedWith> {
    ("[a-z]{1,3}", "[a-z]{1,3}", prop::collection::vec("[a-z]{1,3}", 0..2), any::<bool>())
        .prop_map(|(kind, attribute, unless, lets_go)| RemovedWith { kind, attribute, unless, lets_go })
}

pub(super) fn role() -> impl Strategy<Value = Role> {
    let part = prop::sample::select(vec![
        Part::ApiServer,
        Part::EtcdMember,
        Part::EtcdVoter,
        Part::Kubelet,
        Part::HostClaim,
        Part::HostAgent,
        Part::Node,
    ]);
    (part, "[a-z]{0,3}").prop_map(|(part, name)| Role { part, name })
}

pub(super) fn irreplaceable() -> impl Strategy<Value = Irreplaceable> {
    ("[a-z]{0,3}", ".{0,4}").prop_map(|(fingerprint, refusal)| Irreplaceable { fingerprint, refusal })
}

pub(super) fn action() -> impl Strategy<Value = Action> {
    let identity = || ".{0,4}".prop_map(Identity::new);
    prop_oneof![
        value().prop_map(|desired| Action::Create { desired }),
        (identity(), value(), value()).prop_map(|(identity, prior, desired)| Action::Update {
            identity,
            prior,
            desired
        }),
        identity().prop_map(|identity| Action::Delete { identity }),
        identity().prop_map(|identity| Action::Tag { identity }),
        (identity(), ".{0,4}", value()).prop_map(|(identity, name, arguments)| Action::Operation {
            identity,
            name,
            arguments
        }),
    ]
}

pub(super) fn rollout() -> impl Strategy<Value = Rollout> {
    let fate = prop_oneof![
        Just(Fate::Keep),
        (".{0,4}", prop::option::of(path())).prop_map(|(reason, path)| Fate::Replace { reason, path }),
        ".{0,4}".prop_map(|reason| Fate::Retire { reason }),
    ];
    let node =
        prop_oneof![".{0,4}".prop_map(NodeReference::Name), ".{0,4}".prop_map(NodeReference::ProviderId),];
    let blockers = prop::collection::vec(".{0,4}", 0..2);
    let member = (".{0,4}", ".{0,4}", fate, any::<bool>(), blockers, prop::option::of(node)).prop_map(
        |(name, identity, fate, ready, blockers, node)| Member {
            name,
            identity: Identity::new(identity),
            fate,
            ready,
            blockers,
            node,
        },
    );
    let on_blocked = prop::sample::select(vec![OnBlocked::Fail, OnBlocked::Skip, OnBlocked::Force]);
    let prerequisite = (address(), prop::option::of(".{0,4}"), ".{0,4}", value()).prop_map(
        |(address, identity, operation, arguments)| Prerequisite {
            address,
            identity: identity.map(Identity::new),
            operation,
            arguments,
        },
    );
    (
        (".{0,4}", any::<[bool; 2]>(), any::<[u32; 3]>(), any::<[u64; 3]>(), on_blocked),
        prop::collection::vec(".{0,4}", 0..2),
        prop::collection::vec(member, 0..3),
        prop::collection::vec(prerequisite, 0..2),
        prop::collection::btree_map(".{0,4}", any::<u64>(), 0..2),
        (prop::option::of(".{0,4}"), prop::option::of(".{0,4}")),
    )
        .prop_map(|(plain, after, members, prerequisites, durations_ms, (loses, irremovable))| {
            let (group, [exclusive, ignore_budgets], [size, max_surge, max_unavailable], times, on_blocked) =
                plain;
            let [drain_timeout_ms, ready_timeout_ms, settle_ms] = times;
            Rollout {
                group,
                exclusive,
                after,
                size,
                members,
                max_surge,
                max_unavailable,
                drain_timeout_ms,
                ready_timeout_ms,
                prerequisites,
                durations_ms,
                loses,
                irremovable,
                settle_ms,
                ignore_budgets,
                on_blocked,
            }
        })
}

pub(super) fn planned() -> impl Strategy<Value = Planned> {
    let disruption = prop_oneof![
        Just(Disruption::None),
        Just(Disruption::Rolling),
        Just(Disruption::Brief),
        Just(Disruption::Outage)
    ];
    (
        value(),
        prop::collection::vec(path(), 0..3),
        prop::collection::vec(path(), 0..3),
        prop::collection::vec(".{0,4}", 0..3),
        disruption,
        prop::option::of(any::<u64>()),
        prop::option::of(rollout()),
        prop::option::of(".{0,4}"),
        prop::option::of(value()),
    )
        .prop_map(
            |(
                normalised,
                replace_paths,
                unknown_after,
                reasons,
                disruption,
                estimate_ms,
                rollout,
                infrastructure_only,
                prepare,
            )| Planned {
                normalised,
                replace_paths,
                unknown_after,
                reasons,
                disruption,
                estimate_ms,
                rollout,
                infrastructure_only,
                prepare,
            },
        )
}

pub(super) fn desired() -> impl Strategy<Value = Desired> {
    let lifecycle = (
        prop::collection::vec(path(), 0..2),
        any::<[bool; 3]>(),
        [prop::collection::vec(address(), 0..2), prop::collection::vec(address(), 0..2)],
        prop::option::of(".{0,4}"),
        prop::option::of((".{0,4}", ".{0,4}", any::<[u32; 2]>())),
    )
        .prop_map(
            |(ignore_changes, [protected, retain, on_demand], [moved_from, update_after], existing, turn)| {
                Lifecycle {
                    ignore_changes,
                    protected,
                    retain,
                    moved_from,
                    existing: existing.map(Identity::new),
                    update_after,
                    turn: turn.map(|(group, unit, [rank, at_once])| Turn { group, unit, rank, at_once }),
                    on_demand,
                }
            },
        );
    (
        address(),
        value(),
        prop::collection::vec(address(), 0..3),
        lifecycle,
        prop::collection::btree_map(path(), ".{0,4}", 0..3),
    )
        .prop_map(|(address, attributes, depends_on, lifecycle, origins)| Desired {
            address,
            attributes,
            depends_on,
            lifecycle,
            origins: origins.into_iter().collect(),
        })
}

pub(super) fn observed() -> impl Strategy<Value = Observed> {
    let observation = prop_oneof![
        value().prop_map(Observation::Present),
        Just(Observation::Absent),
        error().prop_map(Observation::Unreadable)
    ];
    (address(), ".{0,4}", [prop::option::of(".{0,4}"), prop::option::of(".{0,4}")], observation).prop_map(
        |(address, identity, [token, owner], observation)| Observed {
            address,
            identity: Identity::new(identity),
            token: token.map(Token::new),
            owner: owner.map(ClusterUid::new),
            observation,
        },
    )
}
