use slipway_expressions::Condition;

use super::{
    context::{Context, error},
    names::dns_label,
};
use crate::{
    diagnostic::code::{BAD_NAME, GATE},
    model::Gate,
};

/// The gates of the spec can be evaluated: they have something to read, and a valid expression.
pub(super) fn check(context: &mut Context<'_>) {
    let cluster = context.cluster;
    for gate in &cluster.control_plane.gates {
        let path = format!("controlPlane.gates[{}]", gate.name);
        names(context, gate, &path);
        if gate.objects.is_none() && gate.prometheus.is_none() {
            let complaint = error(
                GATE,
                format!("the gate `{}` reads nothing of the cluster", gate.name),
                "add `objects` or `prometheus`",
            );
            context.at(&path, complaint);
        }
        if let Some(objects) = &gate.objects
            && objects.kind.eq_ignore_ascii_case("Secret")
        {
            let complaint = error(
                GATE,
                format!("the gate `{}` reads Secrets, and the result of a gate is shown in plans", gate.name),
                "read another kind of objects, such as those that use the Secret",
            );
            context.at(&format!("{path}.objects.kind"), complaint);
        }
        let inputs = [("objects", gate.objects.is_some()), ("samples", gate.prometheus.is_some())];
        let variables: Vec<&str> =
            inputs.iter().filter(|(_, is_read)| *is_read).map(|(name, _)| *name).collect();
        if let Err(reason) = Condition::parse(&gate.expression, &variables) {
            let complaint = error(
                GATE,
                format!("the gate `{}` cannot be evaluated: {reason}", gate.name),
                "write an expression such as `objects.all(o, o.status.phase == \"Running\")`",
            );
            context.at(&format!("{path}.expression"), complaint);
        }
    }
}

/// Names are parts of the names of gates in plans, and of paths of requests.
fn names(context: &mut Context<'_>, gate: &Gate, path: &str) {
    let namespace = gate.objects.as_ref().and_then(|objects| objects.namespace.as_ref());
    let mut names = vec![("name", Some(&gate.name)), ("objects.namespace", namespace)];
    if let Some(prometheus) = &gate.prometheus {
        names.push(("prometheus.namespace", Some(&prometheus.namespace)));
        names.push(("prometheus.service", Some(&prometheus.service)));
    }
    for (field, name) in names {
        if let Some(name) = name
            && let Some(problem) = dns_label(name)
        {
            let complaint = error(
                BAD_NAME,
                format!("the name `{name}` {problem}"),
                "a name is at most 63 lower-case letters, digits and hyphens",
            );
            context.at(&format!("{path}.{field}"), complaint);
        }
    }
}
