//! The steps of a plan in words, with the names that the plan gives to machines.

use std::collections::HashMap;

use slipway_resource::Address;

use crate::file::Plan;
use crate::step::{Step, StepAction};

/// Titles of the steps of one plan. The machines of a roll have the names of the plan, and not the identities of the cloud.
#[derive(Debug, Default)]
pub struct Titles<'p> {
    /// The names of machines by their pool and their identity.
    names: HashMap<(&'p Address, &'p str), &'p str>,
}

impl<'p> Titles<'p> {
    /// The titles of a plan.
    #[must_use]
    pub fn of(plan: &'p Plan) -> Self {
        let machines = plan.changes.iter().flat_map(|change| {
            let address = &change.address;
            change.machines.iter().map(move |machine| ((address, machine.identity.as_str()), &*machine.name))
        });
        Self { names: machines.collect() }
    }

    /// The action of a step in a few words: `remove sim_machine_pool.workers (workers-1)`.
    #[must_use]
    pub fn title(&self, step: &Step) -> String {
        step.titled(|member| self.name(step, member).map(str::to_owned))
    }

    /// The name of the machine that a step names by its identity.
    pub(crate) fn machine(&self, step: &Step) -> Option<&'p str> {
        let StepAction::Operation { arguments, .. } = &step.action else { return None };
        self.name(step, &arguments.get("member")?.to_plain_text())
    }

    fn name(&self, step: &Step, member: &str) -> Option<&'p str> {
        self.names.get(&(step.pool(), member)).copied()
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::{Identity, Value};

    use super::*;
    use crate::change::{MachineChange, ResourceChange};
    use crate::step::StepId;

    fn gate(name: &str, arguments: Value) -> Step {
        Step {
            id: StepId(0),
            address: Address::new("sim_machine_pool", "workers"),
            action: StepAction::Operation { name: name.to_owned(), arguments },
            identity: None,
            roll: None,
            depends_on: Vec::new(),
            rate_class: String::new(),
            estimate_ms: 0,
            timeout_ms: 1,
        }
    }

    #[test]
    fn a_machine_has_the_name_that_the_plan_shows() {
        let pool = Address::new("sim_machine_pool", "workers");
        let change = ResourceChange {
            machines: vec![MachineChange {
                name: "workers-1".to_owned(),
                identity: Identity::new("mach-000072"),
                node: None,
                replaced: true,
                reason: String::new(),
                blockers: Vec::new(),
            }],
            ..ResourceChange::bare(&pool, "sim", 1)
        };
        let name = change
            .machines
            .iter()
            .map(|machine| ((&change.address, machine.identity.as_str()), &*machine.name));
        let titles = Titles { names: name.collect() };
        let remove = gate("remove", Value::map([("member", "mach-000072")]));
        assert_eq!(titles.title(&remove), "remove sim_machine_pool.workers (workers-1)");
        let other = gate("remove", Value::map([("member", "mach-000073")]));
        assert_eq!(titles.title(&other), "remove sim_machine_pool.workers (mach-000073)");
        let surge = gate("surge", Value::map([("slot", "1")]));
        assert_eq!(titles.title(&surge), "surge sim_machine_pool.workers (new machine 1)");
        let node = Address::new("sim_node", "workers/1");
        let verify = Step { address: node, roll: Some(pool), ..gate("verify", Value::map([("slot", "1")])) };
        assert_eq!(titles.title(&verify), "verify sim_machine_pool.workers (new machine 1)");
    }
}
