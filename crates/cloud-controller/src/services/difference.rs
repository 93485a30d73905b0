//! What a Service wants: whether it wants a load balancer, and which changes of it concern the load balancer.
//!
//! The rules are those of `k8s.io/cloud-provider` 0.34 (`controllers/service/controller.go`).

use std::fmt::Display;

use slipway_controller::k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};

/// The finalizer that keeps a Service until its load balancer is deleted.
pub const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";

const LOAD_BALANCER: &str = "LoadBalancer";

/// A change of a Service that concerns its load balancer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A change that no event tells of.
    Silent,
    /// A change with an event.
    Told {
        /// The reason of the event: the changed field.
        reason: &'static str,
        /// The note of the event: the value before and after.
        note: String,
    },
}

/// Whether a Service wants a load balancer of this controller. One with a `loadBalancerClass` belongs to another controller.
#[must_use]
pub fn wants_balancer(service: &Service) -> bool {
    service.spec.as_ref().is_some_and(|spec| is_balanced(spec) && spec.load_balancer_class.is_none())
}

fn is_balanced(spec: &ServiceSpec) -> bool {
    spec.type_.as_deref() == Some(LOAD_BALANCER)
}

/// Whether a Service has the finalizer.
#[must_use]
pub fn has_finalizer(service: &Service) -> bool {
    service.metadata.finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}

/// Whether the finalizer must go: the Service is being deleted, or has another type.
///
/// A Service with a `loadBalancerClass` keeps it while it has the type: the controller of the class uses the same finalizer.
#[must_use]
pub fn needs_cleanup(service: &Service) -> bool {
    let is_foreign = service.spec.as_ref().is_some_and(|spec| spec.load_balancer_class.is_some());
    let is_ending = service.metadata.deletion_timestamp.is_some();
    has_finalizer(service) && !is_foreign && (is_ending || !service.spec.as_ref().is_some_and(is_balanced))
}

/// The first change between two versions of a Service that concerns its load balancer.
#[must_use]
pub fn difference(old: &Service, new: &Service) -> Option<Difference> {
    if !wants_balancer(old) && !wants_balancer(new) {
        return None;
    }
    let (before, after) = (old.spec.clone().unwrap_or_default(), new.spec.clone().unwrap_or_default());
    if wants_balancer(old) != wants_balancer(new) {
        return Some(differs("Type", text(before.type_.as_ref()), text(after.type_.as_ref())));
    }
    let ranges = |spec: &ServiceSpec| spec.load_balancer_source_ranges.clone().unwrap_or_default();
    if ranges(&before) != ranges(&after) {
        return Some(differs("LoadBalancerSourceRanges", list(&ranges(&before)), list(&ranges(&after))));
    }
    if ports(&before) != ports(&after)
        || before.session_affinity != after.session_affinity
        || before.session_affinity_config != after.session_affinity_config
    {
        return Some(Difference::Silent);
    }
    if before.load_balancer_ip != after.load_balancer_ip {
        let (before, after) = (text(before.load_balancer_ip.as_ref()), text(after.load_balancer_ip.as_ref()));
        return Some(differs("LoadbalancerIP", before, after));
    }
    if let Some(difference) = external_ips(&before, &after) {
        return Some(difference);
    }
    if old.metadata.annotations.clone().unwrap_or_default()
        != new.metadata.annotations.clone().unwrap_or_default()
    {
        return Some(Difference::Silent);
    }
    if old.metadata.uid != new.metadata.uid {
        let (before, after) = (text(old.metadata.uid.as_ref()), text(new.metadata.uid.as_ref()));
        return Some(differs("UID", before, after));
    }
    of_traffic(&before, &after)
}

fn external_ips(before: &ServiceSpec, after: &ServiceSpec) -> Option<Difference> {
    let (before, after) = (
        before.external_ips.as_deref().unwrap_or_default(),
        after.external_ips.as_deref().unwrap_or_default(),
    );
    if before.len() != after.len() {
        let note = format!("Count: {} -> {}", before.len(), after.len());
        return Some(Difference::Told { reason: "ExternalIP", note });
    }
    let (_, added) = before.iter().zip(after).find(|(before, after)| before != after)?;
    Some(Difference::Told { reason: "ExternalIP", note: format!("Added: {added}") })
}

fn of_traffic(before: &ServiceSpec, after: &ServiceSpec) -> Option<Difference> {
    if before.external_traffic_policy != after.external_traffic_policy {
        let policy = |spec: &ServiceSpec| text(spec.external_traffic_policy.as_ref());
        return Some(differs("ExternalTrafficPolicy", policy(before), policy(after)));
    }
    let health = |spec: &ServiceSpec| spec.health_check_node_port.unwrap_or_default();
    if health(before) != health(after) {
        return Some(differs("HealthCheckNodePort", health(before), health(after)));
    }
    let families = |spec: &ServiceSpec| spec.ip_families.as_ref().map_or(0, Vec::len);
    if families(before) != families(after) {
        let note = format!("Count: {} -> {}", families(before), families(after));
        return Some(Difference::Told { reason: "IPFamilies", note });
    }
    None
}

/// The parts of the ports that concern a load balancer.
fn ports(spec: &ServiceSpec) -> Vec<ServicePort> {
    spec.ports.clone().unwrap_or_default()
}

fn differs(reason: &'static str, before: impl Display, after: impl Display) -> Difference {
    Difference::Told { reason, note: format!("{before} -> {after}") }
}

fn text(value: Option<&String>) -> String {
    value.cloned().unwrap_or_default()
}

fn list(texts: &[String]) -> String {
    format!("[{}]", texts.join(" "))
}

#[cfg(test)]
mod tests;
