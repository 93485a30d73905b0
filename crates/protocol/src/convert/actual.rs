//! Observed objects.

use slipway_resource::provider::{DiscoverRequest, Discovery, ReadRequest, Unlisted};
use slipway_resource::{ClusterUid, Identity, Observation, Observed, Token};

use super::{Malformed, address};
use crate::generated as proto;
use crate::wire::WireValue;

impl From<Observed> for proto::Observed {
    fn from(observed: Observed) -> Self {
        use proto::observed::Observation as Message;
        Self {
            address: observed.address.to_string(),
            identity: observed.identity.as_str().to_owned(),
            token: observed.token.map(|token| token.as_str().to_owned()),
            owner: observed.owner.map(|owner| owner.as_str().to_owned()),
            observation: Some(match observed.observation {
                Observation::Present(value) => Message::Present(WireValue::new(&value)),
                Observation::Absent => Message::Absent(proto::Absent {}),
                Observation::Unreadable(error) => Message::Unreadable(error.into()),
            }),
        }
    }
}

impl TryFrom<proto::Observed> for Observed {
    type Error = Malformed;

    fn try_from(message: proto::Observed) -> Result<Self, Malformed> {
        use proto::observed::Observation as Message;
        Ok(Self {
            address: address(&message.address)?,
            identity: Identity::new(message.identity),
            token: message.token.map(Token::new),
            owner: message.owner.map(ClusterUid::new),
            observation: match message.observation {
                Some(Message::Present(value)) => Observation::Present(value.value()?),
                Some(Message::Absent(_)) => Observation::Absent,
                Some(Message::Unreadable(error)) => Observation::Unreadable(error.try_into()?),
                // An unknown answer never counts as absent.
                None => return Err(Malformed::missing("observation")),
            },
        })
    }
}

impl From<Unlisted> for proto::Unlisted {
    fn from(unlisted: Unlisted) -> Self {
        Self { r#type: unlisted.kind, error: Some(unlisted.error.into()) }
    }
}

impl TryFrom<proto::Unlisted> for Unlisted {
    type Error = Malformed;

    fn try_from(message: proto::Unlisted) -> Result<Self, Malformed> {
        Ok(Self {
            kind: message.r#type,
            error: message.error.ok_or_else(|| Malformed::missing("error"))?.try_into()?,
        })
    }
}

impl TryFrom<proto::DiscoverResponse> for Discovery {
    type Error = Malformed;

    fn try_from(message: proto::DiscoverResponse) -> Result<Self, Malformed> {
        Ok(Self {
            observed: message.observed.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            unlisted: message.unlisted.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            uid: message.uid.map(ClusterUid::new),
        })
    }
}

impl From<DiscoverRequest> for proto::DiscoverRequest {
    fn from(request: DiscoverRequest) -> Self {
        Self {
            session: String::new(),
            uid: request.uid.map(|uid| uid.as_str().to_owned()),
            cluster: request.cluster,
            types: request.types,
        }
    }
}

impl From<proto::DiscoverRequest> for DiscoverRequest {
    fn from(message: proto::DiscoverRequest) -> Self {
        Self { uid: message.uid.map(ClusterUid::new), cluster: message.cluster, types: message.types }
    }
}

impl From<ReadRequest> for proto::ReadItem {
    fn from(request: ReadRequest) -> Self {
        Self { address: request.address.to_string(), identity: request.identity.as_str().to_owned() }
    }
}

impl TryFrom<proto::ReadItem> for ReadRequest {
    type Error = Malformed;

    fn try_from(message: proto::ReadItem) -> Result<Self, Malformed> {
        Ok(Self { address: address(&message.address)?, identity: Identity::new(message.identity) })
    }
}
