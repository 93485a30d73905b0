use slipway_spec::{
    model::{Role, Rollout},
    value::Amount,
};

use crate::{code as kops_code, convert::Context, defaults, field::Field, outcome::Outcome};

/// How the group's nodes are replaced: by the group's settings, then the cluster's, then kOps' defaults.
pub(super) fn read(context: &Context<'_>, spec: &Field<'_>, role: Role, outcome: &mut Outcome) -> Rollout {
    let karpenter = spec.at("manager").filled().as_deref() == Some("Karpenter");
    let mut rollout = defaults::rollout(role, &context.provider, karpenter);
    let (own, shared) = (spec.at("rollingUpdate"), context.spec.at("rollingUpdate"));
    let field = |leaf: &str| if own.at(leaf).is_given() { own.at(leaf) } else { shared.at(leaf) };
    let drain = field("drainAndTerminate");
    if drain.boolean() == Some(false) {
        let unused = drain
            .warning(
                kops_code::LOST,
                format!(
                    "{} has no effect: a roll here never leaves the old nodes running; they are drained and end",
                    drain.path()
                ),
            )
            .hint("each node that goes is a step of the plan; apply it when they may go");
        outcome.say(unused);
    }
    let surge: Option<Amount> = field("maxSurge").parse(outcome);
    let unavailable: Option<Amount> = field("maxUnavailable").parse(outcome);
    // kOps never adds a node to a control plane, nor where Karpenter makes the machines.
    let fixed = role == Role::ControlPlane || karpenter;
    if fixed && own.at("maxSurge").is_given() && surge.is_some_and(|surge| !surge.is_zero()) {
        let message = "spec.rollingUpdate.maxSurge has no effect: nodes of this group go before others come";
        let note = own.at("maxSurge").note(kops_code::HARMLESS, message);
        outcome.say(note.hint(crate::code::HARMLESS_HINT));
    }
    if let Some(surge) = surge.filter(|_| !fixed) {
        rollout.max_surge = surge;
        rollout.max_unavailable = Amount::Count(u32::from(surge.is_zero()));
    }
    if let Some(unavailable) = unavailable {
        rollout.max_unavailable = unavailable;
    }
    if rollout.max_surge.is_zero() && rollout.max_unavailable.is_zero() {
        // Neither a node more nor one less: kOps then takes one away.
        rollout.max_unavailable = Amount::Count(1);
    }
    rollout
}
