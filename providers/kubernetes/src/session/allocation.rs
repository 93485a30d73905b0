//! Addresses and ports that the API gives to one object at a time, and the holder of one that was refused.
//!
//! A Service gets its addresses and ports before it is stored. A request that was interrupted in between
//! leaves them reserved without a holder, until the API server's repair releases them. When two requests
//! create one Service at once, the second is refused, and the Service exists a moment later. In neither case
//! is the desired object wrong.

use std::time::Duration;

use serde_json::Value as Json;
use slipway_provider_sdk::Ticket;
use slipway_resource::provider::{ApplyEvent, EventSink};
use slipway_resource::{ErrorClass, ProviderError};

use super::KubernetesSession;

use super::wait::Patience;
use crate::api::{Cause, Connection, Refusal, Request, Selector};
use crate::object::{ObjectKey, text};

/// The end of the server's message about an address or a port that is not free.
const ALLOCATED: &str = " is already allocated";
/// The text before the address in that message.
const ADDRESS: &str = "failed to allocate IP ";
/// The label of addresses that the API server allocates itself.
const MANAGED_BY: &str = "/metadata/labels/ipaddress.kubernetes.io~1managed-by";
const ALLOCATOR: &str = "ipallocator.k8s.io";

/// How long the API server keeps an address without a holder before its repair releases it: a minute, and
/// some time until the repair runs.
const ADDRESS_REPAIR: Duration = Duration::from_secs(150);
/// The same for a port: three repairs must find it unused, with three minutes between them.
const PORT_REPAIR: Duration = Duration::from_secs(13 * 60);

/// A value that the API gives to one object at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Allocation {
    /// An address of a Service.
    Address(String),
    /// A port on every node.
    Port(u64),
}

impl std::fmt::Display for Allocation {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Address(address) => write!(formatter, "the address {address}"),
            Self::Port(port) => write!(formatter, "the node port {port}"),
        }
    }
}

impl Allocation {
    /// Whether a Service has this address or port.
    fn is_of(&self, service: &Json) -> bool {
        let list = |pointer: &str| service.pointer(pointer).and_then(Json::as_array).into_iter().flatten();
        match self {
            Self::Address(address) => {
                list("/spec/clusterIPs").any(|own| own.as_str() == Some(address))
                    || text(service, "/spec/clusterIP") == Some(address)
            }
            Self::Port(port) => {
                list("/spec/ports").any(|own| own.get("nodePort").and_then(Json::as_u64) == Some(*port))
                    || service.pointer("/spec/healthCheckNodePort").and_then(Json::as_u64) == Some(*port)
            }
        }
    }

    /// How long the API server may keep the value reserved without a holder.
    fn repair(&self) -> Duration {
        match self {
            Self::Address(_) => ADDRESS_REPAIR,
            Self::Port(_) => PORT_REPAIR,
        }
    }
}

/// The holder of a refused value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// The object itself, which was created in the meantime.
    Itself,
    /// Another object, by its kind and name.
    Other(String),
    /// No object: the API server releases the value by itself.
    Nobody,
}

/// The addresses and ports that a refusal of this object names; empty when the refusal has another cause.
/// Pure.
pub(super) fn refused_allocations(refusal: &Refusal, body: &Json) -> Vec<Allocation> {
    let one = |cause: &Cause| {
        let said = cause.message.strip_suffix(ALLOCATED)?;
        if cause.field.starts_with("spec.clusterIP") {
            let (_, after) = said.split_once(ADDRESS)?;
            let (address, _) = after.rsplit_once(": ")?;
            return Some(Allocation::Address(address.to_owned()));
        }
        let index: usize =
            cause.field.strip_prefix("spec.ports[")?.strip_suffix("].nodePort")?.parse().ok()?;
        let port = body.pointer(&format!("/spec/ports/{index}/nodePort"))?.as_u64()?;
        Some(Allocation::Port(port))
    };
    if refusal.status == 422 { refusal.causes.iter().filter_map(one).collect() } else { Vec::new() }
}

/// The error when another object holds the desired value.
pub(super) fn held(key: &ObjectKey, allocation: &Allocation, holder: &str) -> ProviderError {
    let text = format!("{key}: {allocation} is held by {holder}");
    ProviderError::new(ErrorClass::Conflict, text)
        .with_hint("ask for another one, or for none, so that the API chooses; or remove what holds it")
}

impl KubernetesSession {
    /// The holder of a refused address or port.
    ///
    /// # Errors
    /// As the API says.
    pub(super) async fn holder(
        &self,
        connection: &Connection,
        allocation: &Allocation,
        key: &ObjectKey,
    ) -> Result<Holder, ProviderError> {
        let mut holder = Holder::Nobody;
        let mut take = |service: Json| {
            let of = |pointer: &str| text(&service, pointer).unwrap_or_default();
            let (namespace, name) = (of("/metadata/namespace"), of("/metadata/name"));
            if !allocation.is_of(&service) {
            } else if key.kind.kind == "Service" && namespace == key.namespace && name == key.name {
                holder = Holder::Itself;
            } else {
                holder = Holder::Other(format!("Service {namespace}/{name}"));
            }
        };
        connection.list("/api/v1/services", ("v1", "Service"), Selector::All, &mut take).await?;
        if let (Holder::Nobody, Allocation::Address(address)) = (&holder, allocation) {
            return self.reserved(connection, address).await;
        }
        Ok(holder)
    }

    /// The holder of an address that no Service has: a user may have reserved it with an IPAddress object.
    async fn reserved(&self, connection: &Connection, address: &str) -> Result<Holder, ProviderError> {
        let path = format!("/apis/networking.k8s.io/v1/ipaddresses/{address}");
        // Before 1.33 there are none.
        let Some(object) = connection.ask(&Request::get(path)).await?.found()? else {
            return Ok(Holder::Nobody);
        };
        if text(&object, MANAGED_BY) == Some(ALLOCATOR) {
            return Ok(Holder::Nobody);
        }
        let of = |name: &str| text(&object, &format!("/spec/parentRef/{name}")).unwrap_or_default();
        let parent: Vec<&str> =
            ["resource", "namespace", "name"].map(of).into_iter().filter(|part| !part.is_empty()).collect();
        Ok(Holder::Other(format!("IPAddress {address} (for {})", parent.join("/"))))
    }

    /// After a refusal, returns when it makes sense to apply again. If another object holds the value, this
    /// fails at once. `patience` covers all refusals of one action, and is `None` before the first.
    ///
    /// # Errors
    /// `conflict` names the holder; `permanent` when the API server did not release the value in time;
    /// `cancelled`.
    pub(super) async fn released(
        &self,
        connection: &Connection,
        (key, refused): (&ObjectKey, &[Allocation]),
        (timeout_ms, patience): (u64, &mut Option<Patience>),
        events: &EventSink,
        ticket: &Ticket<'_>,
    ) -> Result<(), ProviderError> {
        let mut kept = Vec::new();
        for allocation in refused {
            match self.holder(connection, allocation, key).await? {
                Holder::Other(holder) => return Err(held(key, allocation, &holder)),
                Holder::Itself => {}
                Holder::Nobody => kept.push(allocation.to_string()),
            }
        }
        let first = patience.is_none();
        let repair = refused.iter().map(Allocation::repair).max().unwrap_or_default();
        let repair_ms = u64::try_from(repair.as_millis()).unwrap_or(u64::MAX);
        let limit = if timeout_ms > 0 { repair_ms.min(timeout_ms) } else { repair_ms };
        let patience = patience.get_or_insert_with(|| Patience::new(limit));
        if kept.is_empty() && first {
            // The object itself exists now: applying changes it.
            return Ok(());
        }
        if first {
            events.send(ApplyEvent::Progress(format!(
                "waits until the API server releases {}, which no object uses",
                kept.join(", ")
            )));
        }
        if patience.pause(ticket).await? {
            return Ok(());
        }
        let text = format!(
            "{key}: after {} s the API server still reserves {}, which no object uses",
            limit / 1000,
            kept.join(", ")
        );
        Err(ProviderError::new(ErrorClass::Permanent, text).with_hint(
            "apply again: its repair takes back what was left behind; its log says whether it runs",
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refusal(field: &str, message: &str) -> Refusal {
        let cause = json!({"reason": "FieldValueInvalid", "message": message, "field": field});
        Refusal::new(422, &json!({"message": "refused", "details": {"causes": [cause]}}))
    }

    #[test]
    fn what_is_not_free_is_told_from_what_is_wrong() {
        let body = json!({"spec": {"ports": [{"port": 80}, {"port": 81, "nodePort": 30081}]}});
        let of = |field: &str, message: &str| refused_allocations(&refusal(field, message), &body);
        let taken = "Invalid value: [\"10.96.0.10\"]: failed to allocate IP 10.96.0.10: provided IP is already allocated";
        assert_eq!(of("spec.clusterIPs", taken), [Allocation::Address("10.96.0.10".to_owned())]);
        let taken =
            "Invalid value: [\"fd00::a\"]: failed to allocate IP fd00::a: provided IP is already allocated";
        assert_eq!(of("spec.clusterIPs", taken), [Allocation::Address("fd00::a".to_owned())]);
        let taken = "Invalid value: 30081: provided port is already allocated";
        assert_eq!(of("spec.ports[1].nodePort", taken), [Allocation::Port(30081)]);
        let range = "Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767";
        assert_eq!(of("spec.ports[1].nodePort", range), []);
        assert_eq!(of("spec.type", "Unsupported value: \"x\""), []);
    }

    #[test]
    fn a_service_has_its_addresses_and_ports() {
        let service = json!({"spec": {"clusterIP": "10.96.0.10", "clusterIPs": ["10.96.0.10", "fd00::a"],
            "ports": [{"nodePort": 30081}], "healthCheckNodePort": 30082}});
        for own in ["10.96.0.10", "fd00::a"] {
            assert!(Allocation::Address(own.to_owned()).is_of(&service), "{own}");
        }
        assert!(!Allocation::Address("10.96.0.1".to_owned()).is_of(&service));
        assert!(Allocation::Port(30081).is_of(&service) && Allocation::Port(30082).is_of(&service));
        assert!(!Allocation::Port(30083).is_of(&service));
    }
}
