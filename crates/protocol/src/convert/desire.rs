//! Catalog and expansion.

use slipway_resource::provider::{Catalog, CatalogRequest, ExpandNote, ExpandRequest};
use slipway_resource::{Desired, Lifecycle, Turn};

use super::{Malformed, address, addresses, digest, json, optional_identity, path, paths, texts, value};
use crate::generated as proto;
use crate::wire::WireValue;

impl TryFrom<proto::CatalogResponse> for Catalog {
    type Error = Malformed;

    fn try_from(message: proto::CatalogResponse) -> Result<Self, Malformed> {
        Ok(Self { digest: digest(&message.digest)?, data: json(&message.data)? })
    }
}

impl From<CatalogRequest> for proto::CatalogRequest {
    fn from(request: CatalogRequest) -> Self {
        let (pinned_digest, pinned_data) = request.pinned.map_or_else(Default::default, |pinned| {
            (pinned.digest.as_str().to_owned(), pinned.data.to_string().into_bytes())
        });
        Self {
            session: String::new(),
            cluster: request.cluster.to_string().into_bytes(),
            pinned_digest,
            pinned_data,
        }
    }
}

impl TryFrom<proto::CatalogRequest> for CatalogRequest {
    type Error = Malformed;

    fn try_from(message: proto::CatalogRequest) -> Result<Self, Malformed> {
        let pinned = if message.pinned_digest.is_empty() {
            None
        } else {
            Some(Catalog { digest: digest(&message.pinned_digest)?, data: json(&message.pinned_data)? })
        };
        Ok(Self { cluster: json(&message.cluster)?, pinned })
    }
}

impl From<ExpandRequest> for proto::ExpandRequest {
    fn from(request: ExpandRequest) -> Self {
        Self {
            session: String::new(),
            cluster: request.cluster.to_string().into_bytes(),
            catalog_digest: request.catalog.digest.as_str().to_owned(),
            catalog_data: request.catalog.data.to_string().into_bytes(),
        }
    }
}

impl TryFrom<proto::ExpandRequest> for ExpandRequest {
    type Error = Malformed;

    fn try_from(message: proto::ExpandRequest) -> Result<Self, Malformed> {
        Ok(Self {
            cluster: json(&message.cluster)?,
            catalog: Catalog { digest: digest(&message.catalog_digest)?, data: json(&message.catalog_data)? },
        })
    }
}

impl From<ExpandNote> for proto::ExpandNote {
    fn from(note: ExpandNote) -> Self {
        Self { field: note.field, message: note.message }
    }
}

impl From<proto::ExpandNote> for ExpandNote {
    fn from(message: proto::ExpandNote) -> Self {
        Self { field: message.field, message: message.message }
    }
}

impl From<Desired> for proto::Desired {
    fn from(desired: Desired) -> Self {
        let origins =
            desired.origins.into_iter().map(|(path, field)| proto::Origin { path: path.to_string(), field });
        Self {
            address: desired.address.to_string(),
            attributes: Some(WireValue::new(&desired.attributes)),
            depends_on: texts(&desired.depends_on),
            lifecycle: (desired.lifecycle != Lifecycle::default()).then(|| desired.lifecycle.into()),
            origins: origins.collect(),
        }
    }
}

impl TryFrom<proto::Desired> for Desired {
    type Error = Malformed;

    fn try_from(message: proto::Desired) -> Result<Self, Malformed> {
        let origins = message.origins.into_iter().map(|origin| Ok((path(&origin.path)?, origin.field)));
        Ok(Self {
            address: address(&message.address)?,
            attributes: value(message.attributes)?,
            depends_on: addresses(&message.depends_on)?,
            lifecycle: message.lifecycle.map_or(Ok(Lifecycle::default()), TryInto::try_into)?,
            origins: origins.collect::<Result<_, Malformed>>()?,
        })
    }
}

impl From<Lifecycle> for proto::Lifecycle {
    fn from(lifecycle: Lifecycle) -> Self {
        Self {
            ignore_changes: texts(&lifecycle.ignore_changes),
            protected: lifecycle.protected,
            retain: lifecycle.retain,
            moved_from: texts(&lifecycle.moved_from),
            existing: lifecycle.existing.map(|identity| identity.as_str().to_owned()),
            update_after: texts(&lifecycle.update_after),
            turn: lifecycle.turn.map(Into::into),
            on_demand: lifecycle.on_demand,
        }
    }
}

impl From<Turn> for proto::Turn {
    fn from(turn: Turn) -> Self {
        Self { group: turn.group, unit: turn.unit, rank: turn.rank, at_once: turn.at_once }
    }
}

impl From<proto::Turn> for Turn {
    fn from(message: proto::Turn) -> Self {
        Self { group: message.group, unit: message.unit, rank: message.rank, at_once: message.at_once }
    }
}

impl TryFrom<proto::Lifecycle> for Lifecycle {
    type Error = Malformed;

    fn try_from(message: proto::Lifecycle) -> Result<Self, Malformed> {
        Ok(Self {
            ignore_changes: paths(&message.ignore_changes)?,
            protected: message.protected,
            retain: message.retain,
            moved_from: addresses(&message.moved_from)?,
            existing: optional_identity(message.existing),
            update_after: addresses(&message.update_after)?,
            turn: message.turn.map(Into::into),
            on_demand: message.on_demand,
        })
    }
}
