//! Routes to the pods of nodes.

use slipway_resource::provider::{NewRoute, Route};

use super::Malformed;
use crate::generated as proto;

fn destination(text: &str) -> Result<ipnet::IpNet, Malformed> {
    text.parse().map_err(|_| Malformed::new("destination of a route", text))
}

impl From<Route> for proto::Route {
    fn from(route: Route) -> Self {
        Self {
            name: route.name,
            destination: route.destination.to_string(),
            target: route.target.map(Into::into),
            blackhole: route.blackhole,
        }
    }
}

impl TryFrom<proto::Route> for Route {
    type Error = Malformed;

    fn try_from(message: proto::Route) -> Result<Self, Malformed> {
        Ok(Self {
            destination: destination(&message.destination)?,
            name: message.name,
            target: message.target.map(TryInto::try_into).transpose()?,
            blackhole: message.blackhole,
        })
    }
}

impl TryFrom<proto::CreateRouteRequest> for NewRoute {
    type Error = Malformed;

    fn try_from(message: proto::CreateRouteRequest) -> Result<Self, Malformed> {
        Ok(Self {
            destination: destination(&message.destination)?,
            name_hint: message.name_hint,
            target: message.target.ok_or_else(|| Malformed::missing("target"))?.try_into()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::provider::{NodeReference, NodeTarget};

    use super::*;

    #[test]
    fn a_route_is_read_as_it_was_written() {
        let node = NodeReference::ProviderId("sim:///a".to_owned());
        for target in [Some(node), Some(NodeReference::Name("n".to_owned())), None] {
            let blackhole = target.is_none();
            let destination = "10.244.1.0/24".parse().unwrap();
            let route = Route { name: "r".to_owned(), destination, target, blackhole };
            assert_eq!(Route::try_from(proto::Route::from(route.clone())).unwrap(), route);
        }
    }

    #[test]
    fn a_route_without_destination_or_target_is_refused() {
        Route::try_from(proto::Route::default()).unwrap_err();
        let target = NodeTarget { node: "n".to_owned(), provider_id: None, addresses: Vec::new() };
        let complete = proto::CreateRouteRequest {
            destination: "fd00::/64".to_owned(),
            target: Some(target.into()),
            ..proto::CreateRouteRequest::default()
        };
        NewRoute::try_from(complete.clone()).unwrap();
        NewRoute::try_from(proto::CreateRouteRequest { target: None, ..complete }).unwrap_err();
    }
}
