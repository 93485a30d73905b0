//! The target groups of a group: a new instance serves when it is healthy in each of them.

use aws_sdk_elasticloadbalancingv2::types::{TargetHealth, TargetHealthReasonEnum, TargetHealthStateEnum};
use slipway_resource::{ErrorClass, ProviderError};

use crate::cloud::Cloud;
use crate::rate::Class;

/// Why an instance does not serve in one of the target groups; `None` when it serves in all of them.
///
/// # Errors
/// As the calls say.
pub(super) async fn missing(
    cloud: &Cloud,
    target_groups: &[String],
    id: &str,
) -> Result<Option<String>, ProviderError> {
    for arn in target_groups {
        let request = cloud.balancing().describe_target_health().target_group_arn(arn);
        let sent = cloud.read(Class::Balancing, "DescribeTargetHealth", || request.clone().send()).await;
        let answer = match sent {
            // The auto-scaling group names a target group that was deleted.
            Err(error) if error.class == ErrorClass::NotFound => continue,
            other => other?,
        };
        let found = answer.target_health_descriptions().iter();
        let of_it = found.filter(|found| found.target().and_then(|target| target.id()) == Some(id));
        let health: Vec<&TargetHealth> = of_it.filter_map(|found| found.target_health()).collect();
        if let Some(state) = not_serving(&health) {
            let name = arn.split('/').nth(1).unwrap_or(arn);
            return Ok(Some(format!("{id} is {state} in target group {name}")));
        }
    }
    Ok(None)
}

/// The state of an instance that does not serve on each of its ports.
fn not_serving(health: &[&TargetHealth]) -> Option<String> {
    if health.is_empty() {
        return Some("not registered".to_owned());
    }
    let state = |health: &TargetHealth| {
        health.state().map_or_else(|| "in no state".to_owned(), |state| state.as_str().to_owned())
    };
    health.iter().copied().find(|health| !serves(health)).map(state)
}

/// Whether a target gets connections. One of a target group that no load balancer uses waits for nothing.
fn serves(health: &TargetHealth) -> bool {
    match health.state() {
        Some(TargetHealthStateEnum::Healthy | TargetHealthStateEnum::Unavailable) => true,
        Some(TargetHealthStateEnum::Unused) => health.reason() == Some(&TargetHealthReasonEnum::NotInUse),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(state: TargetHealthStateEnum, reason: Option<TargetHealthReasonEnum>) -> TargetHealth {
        TargetHealth::builder().state(state).set_reason(reason).build()
    }

    #[test]
    fn a_target_serves_when_it_is_healthy_or_unused_by_load_balancers() {
        use {TargetHealthReasonEnum as Reason, TargetHealthStateEnum as State};
        let healthy = health(State::Healthy, None);
        let starting = health(State::Initial, Some(Reason::InitialHealthChecking));
        assert_eq!(not_serving(&[&healthy]), None);
        assert_eq!(not_serving(&[&healthy, &starting]), Some("initial".to_owned()));
        assert_eq!(not_serving(&[]), Some("not registered".to_owned()));
        assert_eq!(not_serving(&[&health(State::Unused, Some(Reason::NotInUse))]), None);
        let stopped = health(State::Unused, Some(Reason::InvalidState));
        assert_eq!(not_serving(&[&stopped]), Some("unused".to_owned()));
    }
}
