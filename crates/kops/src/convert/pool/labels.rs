use std::collections::BTreeMap;

use slipway_spec::model::{Role, Taint, TaintEffect};

use crate::{convert::Context, field::Field, outcome::Outcome};

/// The labels of a pool's nodes.
pub(super) struct Labels {
    /// Labels that a kubelet may set on its own node.
    pub(super) set_by_kubelet: BTreeMap<String, String>,
    /// Those of kOps' and Kubernetes' own domains, which the NodeRestriction admission plugin keeps from kubelets; in
    /// kOps its controller sets them.
    pub(super) set_from_outside: BTreeMap<String, String>,
}

/// The sections of a pool's kubelet settings, the general first.
fn sections<'a>(context: &Context<'a>, spec: &Field<'a>, role: Role) -> Vec<Field<'a>> {
    let mut sections = vec![context.spec.at("kubelet")];
    if matches!(role, Role::ControlPlane | Role::ApiServer) {
        sections.push(context.spec.at("masterKubelet"));
    }
    sections.push(spec.at("kubelet"));
    sections
}

/// The labels of the kubelet's settings, and the group's own. Nodes of the control plane have none of `kubelet`, as in kOps,
/// although they have its taints.
pub(super) fn read<'a>(context: &Context<'a>, spec: &Field<'a>, role: Role) -> Labels {
    let mut all = BTreeMap::new();
    let shared = match role {
        Role::ControlPlane | Role::ApiServer => context.spec.at("masterKubelet"),
        Role::Worker | Role::Bastion => context.spec.at("kubelet"),
    };
    for section in [shared, spec.at("kubelet")] {
        all.extend(section.at("nodeLabels").text_map());
    }
    all.extend(spec.at("nodeLabels").text_map());
    let (set_from_outside, set_by_kubelet) = all.into_iter().partition(|(name, _)| is_restricted(name));
    Labels { set_by_kubelet, set_from_outside }
}

fn is_restricted(label: &str) -> bool {
    let Some((domain, _)) = label.split_once('/') else { return false };
    let below = |parent: &str| domain == parent || domain.ends_with(&format!(".{parent}"));
    (below("kubernetes.io") || below("k8s.io"))
        && !below("node.kubernetes.io")
        && !below("kubelet.kubernetes.io")
}

/// The taints of the kubelet's settings, and the group's own, as in `key=value:effect`.
pub(super) fn taints<'a>(
    context: &Context<'a>,
    spec: &Field<'a>,
    role: Role,
    outcome: &mut Outcome,
) -> Vec<Taint> {
    let mut all = Vec::new();
    let lists = sections(context, spec, role).into_iter().map(|section| section.at("taints"));
    for list in lists.chain([spec.at("taints")]) {
        for item in list.items() {
            let text = item.text().unwrap_or_default();
            match taint(&text) {
                Some(taint) if !all.contains(&taint) => all.push(taint),
                Some(_) => {}
                None => outcome.say(item.malformed(
                    &text,
                    "is not a taint",
                    "write key=value:effect with the effect NoSchedule, PreferNoSchedule or NoExecute",
                )),
            }
        }
    }
    all
}

fn taint(text: &str) -> Option<Taint> {
    let (key, effect) = text.rsplit_once(':')?;
    let (key, value) = key.split_once('=').unwrap_or((key, ""));
    let effect = match effect {
        "NoSchedule" => TaintEffect::NoSchedule,
        "PreferNoSchedule" => TaintEffect::PreferNoSchedule,
        "NoExecute" => TaintEffect::NoExecute,
        _ => return None,
    };
    (!key.is_empty()).then(|| Taint { key: key.to_owned(), value: value.to_owned(), effect })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_taints() {
        assert_eq!(taint("dedicated=gpu:NoSchedule").unwrap().to_string(), "dedicated=gpu:NoSchedule");
        assert_eq!(taint("example.com/drain:NoExecute").unwrap().value, "");
        assert_eq!(taint("dedicated=gpu"), None);
        assert_eq!(taint("dedicated=gpu:Never"), None);
    }

    #[test]
    fn knows_what_kubelets_may_not_set() {
        assert!(is_restricted("kops.k8s.io/instancegroup"));
        assert!(is_restricted("node-role.kubernetes.io/infra"));
        assert!(!is_restricted("node.kubernetes.io/lifecycle"));
        assert!(!is_restricted("example.com/tier"));
        assert!(!is_restricted("tier"));
    }
}
