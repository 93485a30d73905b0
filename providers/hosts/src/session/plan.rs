//! Plans changes: inside a host as on any node, and of claims and agents.

use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::validate::misfits;
use slipway_resource::{ProviderError, Value};

use super::{HostsSession, with_host, without_host};
use crate::error::invalid;
use crate::schema::{AGENT, HOST};

impl HostsSession {
    pub(super) async fn plan_all(&self, items: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        let mut answers: Vec<Option<Planned>> = Vec::with_capacity(items.len());
        let (mut inside, mut hosts) = (Vec::new(), Vec::new());
        for (position, item) in items.into_iter().enumerate() {
            if !self.is_inside(item.address.kind()) {
                answers.push(Some(self.plan_own(&item).await?));
                continue;
            }
            answers.push(None);
            let strip = |value: Option<Value>| value.map(|value| without_host(&value).0);
            let host = item.desired.as_ref().and_then(|desired| desired.get(HOST)).cloned();
            hosts.push((position, host));
            inside.push(PlanItem {
                address: item.address,
                desired: strip(item.desired),
                observed: strip(item.observed),
                last_applied: strip(item.last_applied),
            });
        }
        let planned = self.planner.plan(inside).await?;
        for ((position, host), mut planned) in hosts.into_iter().zip(planned) {
            if let (Some(host), Value::Map(entries)) = (host, &mut planned.normalised) {
                entries.insert(HOST.to_owned(), host);
            }
            if let Some(answer) = answers.get_mut(position) {
                *answer = Some(planned);
            }
        }
        Ok(answers.into_iter().map(Option::unwrap_or_default).collect())
    }

    async fn plan_own(&self, item: &PlanItem) -> Result<Planned, ProviderError> {
        let address = &item.address;
        let Some(desired) = &item.desired else { return Ok(Planned::default()) };
        let kind = self.schema.types.get(address.kind());
        let kind = kind.ok_or_else(|| invalid(format!("{address} is of no known type")))?;
        if let Some(misfit) = misfits(&kind.attributes, desired).first() {
            return Err(invalid(format!("{address} cannot be: {misfit}")).with_address(address));
        }
        let mut normalised = desired.clone();
        if address.kind() == AGENT && desired.get("sha256").is_none_or(Value::is_null) {
            let host = desired.get(HOST).and_then(Value::as_str).unwrap_or_default();
            let runs_already = self.config.host(host).is_some_and(|host| host.agent.is_some());
            let digest = match (runs_already, self.offline) {
                (true, _) => Value::Null,
                (false, true) => Value::Unknown,
                (false, false) => self.agents.digest().await?.into(),
            };
            if let Value::Map(entries) = &mut normalised {
                entries.insert("sha256".to_owned(), digest);
                entries.retain(|_, value| !value.is_null());
            }
        }
        Ok(Planned { normalised, ..Planned::default() })
    }
}

/// The attributes from an agent, with the host added.
pub(super) fn on_host(attributes: Value, host: &str) -> Value {
    with_host(attributes, host)
}
