//! The gates of a roll on machines: surge and remove. The gates on nodes belong to the provider of the nodes.
//!
//! A gate records its changes in tags of the instances. The same gate, run again with the same token after a
//! crash, finds the tags and does nothing twice.
//!
//! | tag | on | says |
//! | --- | --- | --- |
//! | `slipway.dev/rollout` | the group | how its instances are replaced |
//! | `slipway.dev/detached` | an instance that left its group | which group, so that it is found and terminated |
//! | `slipway.dev/retired` | the same, where its group gets smaller | that nothing comes for it |
//! | `slipway.dev/grown` | an instance that leaves a group that is larger for it | the sizes of the group before |
//! | `slipway.dev/surge` | one that left, and the instance that came for it | the token of the gate |
//! | `slipway.dev/slot` | the instance that came | the slot of the plan that it fills |

mod console;
mod grown;
mod remove;
mod shrink;
mod surge;
mod targets;
mod turns;
mod view;
mod warm;

use slipway_aws_model::plan::node_of;
use slipway_resource::provider::{Applied, operation};
use slipway_resource::{Entries, ErrorClass, Identity, Path, ProviderError, Value};

pub(super) use shrink::shrink;
pub(super) use view::{Detached, RETIRED, ROLLOUT, alive_detached, by_ids};
pub(super) use warm::renew as renew_warm_pool;

use self::view::View;
use crate::act::{Act, Wait};
use crate::error::{error, invalid};

/// Runs a gate of a group.
///
/// # Errors
/// By class.
pub(super) async fn operate(
    act: &Act<'_>,
    group: &Identity,
    name: &str,
    arguments: &Value,
) -> Result<Applied, ProviderError> {
    let gate = Gate { act, group: group.as_str() };
    let done = match name {
        operation::SURGE => {
            let slot = need(name, "slot", slot_of(arguments))?;
            let anew = arguments.get("anew").and_then(Value::as_bool).unwrap_or_default();
            gate.surge(&slot, anew).await
        }
        operation::REMOVE => {
            let retire = arguments.get("retire").and_then(Value::as_bool).unwrap_or_default();
            gate.remove(&need(name, "member", member_of(arguments))?, retire).await
        }
        operation::CONSOLE => {
            let text = console::read(act.cloud, &need(name, "member", member_of(arguments))?).await?;
            return Ok(Applied::new(group.clone(), Value::map([(operation::TEXT, text)])));
        }
        other => Err(invalid(format!("aws_autoscaling_group has no operation {other}"))),
    };
    let machine = done.map_err(|mut error| {
        error.identity = Some(group.clone());
        error
    })?;
    let mut attributes = match &machine {
        Some(machine) => Value::map([
            ("instance", Value::from(machine.id.as_str())),
            ("zone", machine.zone.as_str().into()),
        ]),
        None => Value::Map(Entries::new()),
    };
    if name == operation::SURGE {
        let (attribute, value) = match machine {
            Some(machine) => (operation::NODE, node_of(&machine.zone, &machine.id).to_value()),
            None => (operation::NOT_NEEDED, true.into()),
        };
        attributes.set(&Path::key(attribute), value);
    }
    Ok(Applied::new(group.clone(), attributes))
}

/// One gate of one group.
#[derive(Clone, Copy)]
struct Gate<'a> {
    act: &'a Act<'a>,
    group: &'a str,
}

impl Gate<'_> {
    /// The token that says that a gate run again is the same.
    fn token(&self) -> &str {
        self.act.request.token.as_str()
    }

    /// Reads the present state of the group.
    async fn look(&self) -> Result<View, ProviderError> {
        View::look(self.act.cloud, self.group).await?.ok_or_else(|| {
            error(ErrorClass::NotFound, format!("auto-scaling group {} does not exist", self.group))
        })
    }

    /// Waits a while, and tells people once why.
    async fn wait(&self, wait: &mut Wait, told: &mut String, why: &str) -> Result<(), ProviderError> {
        if told != why {
            self.act.progress(why);
            why.clone_into(told);
        }
        self.act.pause(wait, &format!("{}: {why}", self.group)).await
    }
}

fn need<T>(gate: &str, name: &str, argument: Option<T>) -> Result<T, ProviderError> {
    argument.ok_or_else(|| invalid(format!("{gate} needs the argument {name}")))
}

/// The slot, which may be a number or a text.
fn slot_of(arguments: &Value) -> Option<String> {
    arguments.get("slot").filter(|slot| !slot.is_null()).map(Value::to_plain_text)
}

fn member_of(arguments: &Value) -> Option<String> {
    arguments.get("member").and_then(Value::as_str).map(str::to_owned)
}
