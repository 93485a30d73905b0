//! The instances behind nodes.

use slipway_resource::provider::{
    Instance, InstanceAnswer, InstanceQuery, InstancesRequest, NodeAddress, NodeAddressKind,
};

use super::Malformed;
use crate::generated as proto;

impl From<InstanceQuery> for proto::InstanceQuery {
    fn from(query: InstanceQuery) -> Self {
        Self { node: query.node, provider_id: query.provider_id }
    }
}

impl TryFrom<proto::InstancesRequest> for InstancesRequest {
    type Error = Malformed;

    fn try_from(message: proto::InstancesRequest) -> Result<Self, Malformed> {
        let query = |query: proto::InstanceQuery| {
            if query.node.is_empty() {
                return Err(Malformed::missing("node"));
            }
            let provider_id = query.provider_id.filter(|id| !id.is_empty());
            Ok(InstanceQuery { node: query.node, provider_id })
        };
        let queries = message.queries.into_iter().map(query).collect::<Result<_, _>>()?;
        Ok(Self { cluster: message.cluster, queries })
    }
}

impl From<InstanceAnswer> for proto::InstanceAnswer {
    fn from(answer: InstanceAnswer) -> Self {
        use proto::instance_answer::Answer;
        Self {
            answer: Some(match answer {
                InstanceAnswer::Present(instance) => Answer::Present(instance.into()),
                InstanceAnswer::Absent => Answer::Absent(proto::Absent {}),
                InstanceAnswer::Unreadable(error) => Answer::Unreadable(error.into()),
            }),
        }
    }
}

impl TryFrom<proto::InstanceAnswer> for InstanceAnswer {
    type Error = Malformed;

    fn try_from(message: proto::InstanceAnswer) -> Result<Self, Malformed> {
        use proto::instance_answer::Answer;
        match message.answer {
            Some(Answer::Present(instance)) => Ok(Self::Present(instance.try_into()?)),
            Some(Answer::Absent(_)) => Ok(Self::Absent),
            Some(Answer::Unreadable(error)) => Ok(Self::Unreadable(error.try_into()?)),
            // An unknown answer never counts as absent.
            None => Err(Malformed::missing("answer")),
        }
    }
}

impl From<NodeAddress> for proto::NodeAddress {
    fn from(address: NodeAddress) -> Self {
        Self { r#type: address.kind.as_str().to_owned(), address: address.address }
    }
}

impl TryFrom<proto::NodeAddress> for NodeAddress {
    type Error = Malformed;

    fn try_from(message: proto::NodeAddress) -> Result<Self, Malformed> {
        let kind = NodeAddressKind::parse(&message.r#type)
            .ok_or_else(|| Malformed::new("type of a node's address", message.r#type.as_str()))?;
        Ok(Self { kind, address: message.address })
    }
}

impl From<Instance> for proto::Instance {
    fn from(instance: Instance) -> Self {
        Self {
            provider_id: instance.provider_id,
            shutdown: instance.shutdown,
            addresses: instance.addresses.into_iter().map(Into::into).collect(),
            instance_type: instance.instance_type.unwrap_or_default(),
            zone: instance.zone.unwrap_or_default(),
            region: instance.region.unwrap_or_default(),
            labels: instance.labels.into_iter().map(|(key, value)| proto::NodeLabel { key, value }).collect(),
        }
    }
}

impl TryFrom<proto::Instance> for Instance {
    type Error = Malformed;

    fn try_from(message: proto::Instance) -> Result<Self, Malformed> {
        if message.provider_id.is_empty() {
            return Err(Malformed::missing("provider_id"));
        }
        let named = |text: String| Some(text).filter(|text| !text.is_empty());
        Ok(Self {
            provider_id: message.provider_id,
            shutdown: message.shutdown,
            addresses: message
                .addresses
                .into_iter()
                .map(TryInto::try_into)
                .collect::<Result<_, Malformed>>()?,
            instance_type: named(message.instance_type),
            zone: named(message.zone),
            region: named(message.region),
            labels: message.labels.into_iter().map(|label| (label.key, label.value)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::{ErrorClass, ProviderError};

    use super::*;

    fn instance() -> Instance {
        Instance {
            provider_id: "sim:///mach-000001".to_owned(),
            shutdown: true,
            addresses: NodeAddressKind::ALL
                .map(|kind| NodeAddress { kind, address: "10.0.0.1".to_owned() })
                .to_vec(),
            instance_type: Some("large".to_owned()),
            zone: Some("a".to_owned()),
            region: None,
            labels: [("example.com/rack".to_owned(), "r1".to_owned())].into(),
        }
    }

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        for answer in [
            InstanceAnswer::Present(instance()),
            InstanceAnswer::Absent,
            InstanceAnswer::Unreadable(ProviderError::new(ErrorClass::Transient, "no answer")),
        ] {
            let message = proto::InstanceAnswer::from(answer.clone());
            assert_eq!(InstanceAnswer::try_from(message).unwrap(), answer);
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        InstanceAnswer::try_from(proto::InstanceAnswer { answer: None }).unwrap_err();
        let message = proto::Instance { provider_id: String::new(), ..instance().into() };
        Instance::try_from(message).unwrap_err();
        let mut message = proto::Instance::from(instance());
        message.addresses[0].r#type = "Fax".to_owned();
        Instance::try_from(message).unwrap_err();
    }
}
