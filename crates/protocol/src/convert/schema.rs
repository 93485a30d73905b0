//! Schemas.

use std::collections::BTreeMap;

use slipway_resource::schema::{Durations, Irreplaceable, Operation, OwnershipKind, Part, RemovedWith, Role};
use slipway_resource::{Attribute, Mode, Names, ResourceType, Schema, Type};

use super::{Malformed, value};
use crate::generated as proto;
use crate::generated::r#type::Kind;
use crate::wire::WireValue;

/// A schema as one message.
#[must_use]
pub fn schema_to_message(schema: &Schema) -> proto::GetSchemaResponse {
    proto::GetSchemaResponse {
        config: attributes_to_messages(&schema.config),
        types: schema.types.iter().map(|(name, kind)| type_to_message(name, kind)).collect(),
        error: None,
    }
}

/// A schema of all the messages that it came in.
///
/// # Errors
/// When a message is not valid, or a name comes twice.
pub fn schema_from_pages(pages: Vec<proto::GetSchemaResponse>) -> Result<Schema, Malformed> {
    let mut schema = Schema::default();
    for page in pages {
        attributes_from_messages(page.config, &mut schema.config)?;
        for message in page.types {
            let name = message.name.clone();
            if schema.types.insert(name.clone(), type_from_message(message)?).is_some() {
                return Err(Malformed::new("second resource type", name));
            }
        }
    }
    Ok(schema)
}

fn type_to_message(name: &str, kind: &ResourceType) -> proto::ResourceType {
    let ownership = match kind.ownership {
        OwnershipKind::Tags => proto::OwnershipKind::Tags,
        OwnershipKind::Parent => proto::OwnershipKind::Parent,
        OwnershipKind::Name => proto::OwnershipKind::Name,
        OwnershipKind::Listed => proto::OwnershipKind::Listed,
    };
    let operations = kind.operations.iter().map(|(name, operation)| proto::Operation {
        name: name.clone(),
        description: operation.description.clone(),
        duration_ms: operation.duration_ms,
        read_only: operation.read_only,
    });
    proto::ResourceType {
        name: name.to_owned(),
        version: kind.version,
        description: kind.description.clone(),
        attributes: attributes_to_messages(&kind.attributes),
        ownership: ownership.into(),
        rate_class: kind.rate_class.clone(),
        idempotent_create: kind.idempotent_create,
        stateful: kind.stateful,
        create_before_delete: kind.create_before_delete,
        operations: operations.collect(),
        create_ms: kind.durations.create_ms,
        update_ms: kind.durations.update_ms,
        delete_ms: kind.durations.delete_ms,
        exclusive: kind.exclusive.clone(),
        import_id: kind.import_id.clone(),
        removed_with: kind.removed_with.clone().map(|with| proto::RemovedWith {
            r#type: with.kind,
            attribute: with.attribute,
            unless: with.unless,
            lets_go: with.lets_go,
        }),
        irreplaceable: kind
            .irreplaceable
            .clone()
            .map(|rule| proto::Irreplaceable { fingerprint: rule.fingerprint, refusal: rule.refusal }),
        roles: kind.roles.iter().map(role_to_message).collect(),
        read_by_identity: kind.read_by_identity,
    }
}

fn role_to_message(role: &Role) -> proto::Role {
    let part = match role.part {
        Part::ApiServer => proto::Part::ApiServer,
        Part::EtcdMember => proto::Part::EtcdMember,
        Part::EtcdVoter => proto::Part::EtcdVoter,
        Part::Kubelet => proto::Part::Kubelet,
        Part::HostClaim => proto::Part::HostClaim,
        Part::HostAgent => proto::Part::HostAgent,
        Part::Node => proto::Part::Node,
    };
    proto::Role { part: part.into(), name: role.name.clone() }
}

/// A role; none for a part that this version does not know.
fn role_from_message(message: proto::Role) -> Option<Role> {
    let part = match proto::Part::try_from(message.part) {
        Ok(proto::Part::ApiServer) => Part::ApiServer,
        Ok(proto::Part::EtcdMember) => Part::EtcdMember,
        Ok(proto::Part::EtcdVoter) => Part::EtcdVoter,
        Ok(proto::Part::Kubelet) => Part::Kubelet,
        Ok(proto::Part::HostClaim) => Part::HostClaim,
        Ok(proto::Part::HostAgent) => Part::HostAgent,
        Ok(proto::Part::Node) => Part::Node,
        Ok(proto::Part::Unspecified) | Err(_) => return None,
    };
    Some(Role { part, name: message.name })
}

fn type_from_message(message: proto::ResourceType) -> Result<ResourceType, Malformed> {
    let ownership = match proto::OwnershipKind::try_from(message.ownership) {
        Ok(proto::OwnershipKind::Tags) => OwnershipKind::Tags,
        Ok(proto::OwnershipKind::Parent) => OwnershipKind::Parent,
        Ok(proto::OwnershipKind::Name) => OwnershipKind::Name,
        Ok(proto::OwnershipKind::Listed) => OwnershipKind::Listed,
        Ok(proto::OwnershipKind::Unspecified) | Err(_) => {
            return Err(Malformed::new("ownership", message.ownership.to_string()));
        }
    };
    let operations = message.operations.into_iter().map(|operation| {
        let gate = Operation {
            description: operation.description,
            duration_ms: operation.duration_ms,
            read_only: operation.read_only,
        };
        (operation.name, gate)
    });
    let mut attributes = BTreeMap::new();
    attributes_from_messages(message.attributes, &mut attributes)?;
    Ok(ResourceType {
        version: message.version,
        description: message.description,
        attributes,
        ownership,
        rate_class: message.rate_class,
        idempotent_create: message.idempotent_create,
        stateful: message.stateful,
        irreplaceable: message
            .irreplaceable
            .map(|rule| Irreplaceable { fingerprint: rule.fingerprint, refusal: rule.refusal }),
        create_before_delete: message.create_before_delete,
        exclusive: message.exclusive,
        import_id: message.import_id,
        removed_with: message.removed_with.map(|with| RemovedWith {
            kind: with.r#type,
            attribute: with.attribute,
            unless: with.unless,
            lets_go: with.lets_go,
        }),
        roles: message.roles.into_iter().filter_map(role_from_message).collect(),
        read_by_identity: message.read_by_identity,
        operations: operations.collect(),
        durations: Durations {
            create_ms: message.create_ms,
            update_ms: message.update_ms,
            delete_ms: message.delete_ms,
        },
    })
}

fn attributes_to_messages(attributes: &BTreeMap<String, Attribute>) -> Vec<proto::Attribute> {
    let message = |(name, attribute): (&String, &Attribute)| proto::Attribute {
        name: name.clone(),
        r#type: Some(kind_to_message(&attribute.kind)),
        mode: mode_to_message(attribute.mode).into(),
        immutable: attribute.immutable,
        sensitive: attribute.sensitive,
        write_only: attribute.write_only,
        kept_on_adoption: attribute.kept_on_adoption,
        remembered: attribute.remembered,
        names: names_to_message(attribute.names).into(),
        holds: attribute.holds,
        own_form: attribute.own_form,
        forms: attribute.forms.iter().map(ToString::to_string).collect(),
        key_material: attribute.key_material,
        default: (!attribute.default.is_null()).then(|| WireValue::new(&attribute.default)),
        description: attribute.description.clone(),
    };
    attributes.iter().map(message).collect()
}

fn attributes_from_messages(
    messages: Vec<proto::Attribute>,
    attributes: &mut BTreeMap<String, Attribute>,
) -> Result<(), Malformed> {
    for message in messages {
        let name = message.name;
        let attribute = Attribute {
            kind: kind_from_message(message.r#type)?,
            mode: mode_from_message(message.mode)?,
            immutable: message.immutable,
            sensitive: message.sensitive,
            write_only: message.write_only,
            kept_on_adoption: message.kept_on_adoption,
            remembered: message.remembered,
            names: names_from_message(message.names),
            holds: message.holds,
            own_form: message.own_form,
            // One that this version does not know allows nothing.
            forms: message.forms.iter().filter_map(|form| form.parse().ok()).collect(),
            key_material: message.key_material,
            default: value(message.default)?,
            description: message.description,
        };
        if attributes.insert(name.clone(), attribute).is_some() {
            return Err(Malformed::new("second attribute", name));
        }
    }
    Ok(())
}

fn names_to_message(names: Option<Names>) -> proto::Names {
    match names {
        None => proto::Names::Unspecified,
        Some(Names::File) => proto::Names::File,
        Some(Names::Folder) => proto::Names::Folder,
        Some(Names::Kubeconfig) => proto::Names::Kubeconfig,
        Some(Names::Endpoint) => proto::Names::Endpoint,
        Some(Names::Server) => proto::Names::Server,
        Some(Names::Credentials) => proto::Names::Credentials,
        Some(Names::Caller) => proto::Names::Caller,
    }
}

fn names_from_message(names: i32) -> Option<Names> {
    match proto::Names::try_from(names) {
        Ok(proto::Names::Unspecified) => None,
        Ok(proto::Names::File) => Some(Names::File),
        Ok(proto::Names::Folder) => Some(Names::Folder),
        Ok(proto::Names::Kubeconfig) => Some(Names::Kubeconfig),
        Ok(proto::Names::Endpoint) => Some(Names::Endpoint),
        Ok(proto::Names::Server) => Some(Names::Server),
        Ok(proto::Names::Credentials) => Some(Names::Credentials),
        // A spec may not set a kind that only a later version knows.
        Ok(proto::Names::Caller) | Err(_) => Some(Names::Caller),
    }
}

fn mode_to_message(mode: Mode) -> proto::Mode {
    match mode {
        Mode::Required => proto::Mode::Required,
        Mode::Optional => proto::Mode::Optional,
        Mode::OptionalComputed => proto::Mode::OptionalComputed,
        Mode::Computed => proto::Mode::Computed,
    }
}

fn mode_from_message(mode: i32) -> Result<Mode, Malformed> {
    match proto::Mode::try_from(mode) {
        Ok(proto::Mode::Required) => Ok(Mode::Required),
        Ok(proto::Mode::Optional) => Ok(Mode::Optional),
        Ok(proto::Mode::OptionalComputed) => Ok(Mode::OptionalComputed),
        Ok(proto::Mode::Computed) => Ok(Mode::Computed),
        Ok(proto::Mode::Unspecified) | Err(_) => Err(Malformed::new("mode", mode.to_string())),
    }
}

fn kind_to_message(kind: &Type) -> proto::Type {
    let scalar = |scalar: proto::Scalar| Kind::Scalar(scalar.into());
    let boxed = |item: &Type| Box::new(kind_to_message(item));
    proto::Type {
        kind: Some(match kind {
            Type::Bool => scalar(proto::Scalar::Bool),
            Type::Integer => scalar(proto::Scalar::Integer),
            Type::Float => scalar(proto::Scalar::Float),
            Type::String => scalar(proto::Scalar::String),
            Type::Any => scalar(proto::Scalar::Any),
            Type::List(item) => Kind::List(boxed(item)),
            Type::Set(item) => Kind::Set(boxed(item)),
            Type::Map(item) => Kind::Map(boxed(item)),
            Type::Object(fields) => {
                Kind::Object(proto::ObjectType { attributes: attributes_to_messages(fields) })
            }
        }),
    }
}

fn kind_from_message(message: Option<proto::Type>) -> Result<Type, Malformed> {
    let item = |kind: Box<proto::Type>| kind_from_message(Some(*kind)).map(Box::new);
    match message.and_then(|message| message.kind) {
        Some(Kind::Scalar(scalar)) => match proto::Scalar::try_from(scalar) {
            Ok(proto::Scalar::Bool) => Ok(Type::Bool),
            Ok(proto::Scalar::Integer) => Ok(Type::Integer),
            Ok(proto::Scalar::Float) => Ok(Type::Float),
            Ok(proto::Scalar::String) => Ok(Type::String),
            Ok(proto::Scalar::Any) => Ok(Type::Any),
            Ok(proto::Scalar::Unspecified) | Err(_) => Err(Malformed::new("type", scalar.to_string())),
        },
        Some(Kind::List(kind)) => Ok(Type::List(item(kind)?)),
        Some(Kind::Set(kind)) => Ok(Type::Set(item(kind)?)),
        Some(Kind::Map(kind)) => Ok(Type::Map(item(kind)?)),
        Some(Kind::Object(object)) => {
            let mut fields = BTreeMap::new();
            attributes_from_messages(object.attributes, &mut fields)?;
            Ok(Type::Object(fields))
        }
        None => Err(Malformed::missing("type")),
    }
}
