//! Name, limits, sessions.

use slipway_resource::provider::{Capabilities, Info, RateClass, Scope, SessionRequest, Terms};

use super::{Malformed, value};
use crate::generated as proto;
use crate::wire::WireValue;

impl From<Info> for proto::GetInfoResponse {
    fn from(info: Info) -> Self {
        let rate_classes = info.rate_classes.into_iter().map(|(name, class)| proto::RateClass {
            name,
            concurrency: class.concurrency,
            per_second: class.per_second,
        });
        Self {
            name: info.name,
            version: info.version,
            rate_classes: rate_classes.collect(),
            batch: info.batch,
            capabilities: Some(proto::Capabilities {
                hosts: info.capabilities.hosts,
                rehearse: info.capabilities.dry_run,
                price: info.capabilities.price,
                nodes: info.capabilities.nodes,
                node_identity: info.capabilities.node_identity,
                instances: info.capabilities.instances,
                load_balancers: info.capabilities.load_balancers,
                routes: info.capabilities.routes,
            }),
            error: None,
        }
    }
}

impl TryFrom<proto::GetInfoResponse> for Info {
    type Error = Malformed;

    fn try_from(message: proto::GetInfoResponse) -> Result<Self, Malformed> {
        if message.name.is_empty() || message.version.is_empty() {
            return Err(Malformed::new("GetInfo", "without a name and a version"));
        }
        if message.batch == 0 {
            return Err(Malformed::new("GetInfo", "with batch 0: no item could ever be sent"));
        }
        let rate_classes = message.rate_classes.into_iter().map(|class| {
            let limits = RateClass { concurrency: class.concurrency, per_second: class.per_second };
            (class.name, limits)
        });
        let declared = message.capabilities.unwrap_or_default();
        Ok(Self {
            name: message.name,
            version: message.version,
            rate_classes: rate_classes.collect(),
            batch: message.batch,
            capabilities: Capabilities {
                hosts: declared.hosts,
                dry_run: declared.rehearse,
                price: declared.price,
                nodes: declared.nodes,
                node_identity: declared.node_identity,
                instances: declared.instances,
                load_balancers: declared.load_balancers,
                routes: declared.routes,
            },
        })
    }
}

impl From<SessionRequest> for proto::OpenSessionRequest {
    fn from(request: SessionRequest) -> Self {
        Self {
            config: Some(WireValue::with_texts(&request.config)),
            region: request.region,
            offline: request.offline,
            ..Self::default()
        }
    }
}

/// The request with the terms of the session.
pub(crate) fn on_terms(request: SessionRequest, terms: Terms) -> proto::OpenSessionRequest {
    proto::OpenSessionRequest {
        read_only: terms.read_only,
        from_caller: terms.from_caller.into_iter().collect(),
        networks: terms.networks,
        ..request.into()
    }
}

/// The terms of a session that is to be opened.
#[must_use]
pub fn terms(message: &proto::OpenSessionRequest) -> Terms {
    Terms {
        read_only: message.read_only,
        from_caller: message.from_caller.iter().cloned().collect(),
        networks: message.networks.clone(),
    }
}

impl TryFrom<proto::OpenSessionRequest> for SessionRequest {
    type Error = Malformed;

    fn try_from(message: proto::OpenSessionRequest) -> Result<Self, Malformed> {
        Ok(Self { config: value(message.config)?, region: message.region, offline: message.offline })
    }
}

impl From<proto::OpenSessionResponse> for Scope {
    fn from(message: proto::OpenSessionResponse) -> Self {
        Self { account: message.account, region: message.region }
    }
}
