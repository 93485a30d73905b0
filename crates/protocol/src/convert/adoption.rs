//! Finding what another tool made.

use slipway_resource::Identity;
use slipway_resource::provider::{LocateItem, LocateRequest, Located};

use super::{Malformed, address, value};
use crate::generated as proto;
use crate::wire::WireValue;

impl From<LocateRequest> for proto::LocateRequest {
    fn from(request: LocateRequest) -> Self {
        let items = request.items.iter().map(|item| proto::LocateItem {
            address: item.address.to_string(),
            desired: Some(WireValue::new(&item.desired)),
            existing: item.existing.as_ref().map(|identity| identity.as_str().to_owned()),
        });
        Self { session: String::new(), cluster: request.cluster, items: items.collect() }
    }
}

impl TryFrom<proto::LocateRequest> for LocateRequest {
    type Error = Malformed;

    fn try_from(message: proto::LocateRequest) -> Result<Self, Malformed> {
        let items = message.items.into_iter().map(|item| {
            Ok(LocateItem {
                address: address(&item.address)?,
                desired: value(item.desired)?,
                existing: item.existing.map(Identity::new),
            })
        });
        Ok(Self { cluster: message.cluster, items: items.collect::<Result<_, Malformed>>()? })
    }
}

impl From<Located> for proto::Located {
    fn from(located: Located) -> Self {
        Self {
            address: located.address.to_string(),
            identities: located.identities.iter().map(|identity| identity.as_str().to_owned()).collect(),
            attributes: (!located.attributes.is_null()).then(|| WireValue::new(&located.attributes)),
        }
    }
}

impl TryFrom<proto::Located> for Located {
    type Error = Malformed;

    fn try_from(message: proto::Located) -> Result<Self, Malformed> {
        Ok(Self {
            address: address(&message.address)?,
            identities: message.identities.into_iter().map(Identity::new).collect(),
            attributes: value(message.attributes)?,
        })
    }
}
