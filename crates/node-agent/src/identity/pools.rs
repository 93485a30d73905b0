//! The pools whose machines get the credential of a node, as the plan of the cluster lists them.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use slipway_bootstrap::boot::{POOLS, role_key, template_key};
use slipway_resource::provider::VerifiedNode;

/// The list of pools: the entries of its ConfigMap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pools(BTreeMap<String, String>);

impl Pools {
    /// The list in a ConfigMap.
    pub(super) fn of(object: &Json) -> Self {
        let data = object["data"].as_object().into_iter().flatten();
        Self(data.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect())
    }

    /// Checks that a machine was launched from the template of its pool, and has the role of its pool.
    ///
    /// # Errors
    /// The reason why the machine is refused.
    pub(super) fn check(&self, verified: &VerifiedNode) -> Result<(), String> {
        let VerifiedNode { machine, pool, role, template, .. } = verified;
        let pool = pool.as_deref().ok_or_else(|| format!("the machine {machine} is in no pool"))?;
        let expected = self.0.get(&template_key(pool)).ok_or_else(|| {
            format!("the machine {machine} is in the pool {pool}, which the ConfigMap {POOLS} does not list")
        })?;
        if template.as_ref() != Some(expected) {
            let found = template.as_deref().unwrap_or("no template");
            return Err(format!(
                "the machine {machine} was launched from {found}, and machines of the pool {pool} are launched from {expected}"
            ));
        }
        match self.0.get(&role_key(pool)) {
            Some(expected) if role.as_ref() != Some(expected) => {
                let found = role.as_deref().unwrap_or("no role");
                Err(format!(
                    "the machine {machine} has the role {found}, and machines of the pool {pool} have the role {expected}"
                ))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn machine(pool: Option<&str>, role: Option<&str>, template: Option<&str>) -> VerifiedNode {
        VerifiedNode {
            machine: "i-1".to_owned(),
            nodes: vec!["a".to_owned()],
            pool: pool.map(str::to_owned),
            role: role.map(str::to_owned),
            template: template.map(str::to_owned),
            started: 0,
        }
    }

    #[test]
    fn only_machines_of_the_templates_and_roles_of_the_list_pass() {
        let data = json!({"nodes.template": "lt-1", "nodes.role": "nodes", "own.template": "lt-2"});
        let pools = Pools::of(&json!({ "data": data }));
        let check = |pool, role, template| pools.check(&machine(pool, role, template));
        assert_eq!(check(Some("nodes"), Some("nodes"), Some("lt-1")), Ok(()));
        // A pool with a profile of the user: its role is not known to the plan.
        assert_eq!(check(Some("own"), Some("any"), Some("lt-2")), Ok(()));
        for (pool, role, template, part) in [
            (None, Some("nodes"), Some("lt-1"), "is in no pool"),
            (Some("other"), Some("nodes"), Some("lt-1"), "the pool other, which"),
            (Some("nodes"), Some("nodes"), Some("lt-2"), "launched from lt-2, and"),
            (Some("nodes"), Some("nodes"), None, "launched from no template, and"),
            (Some("nodes"), Some("others"), Some("lt-1"), "the role others, and"),
            (Some("nodes"), None, Some("lt-1"), "no role, and"),
        ] {
            let text = check(pool, role, template).unwrap_err();
            assert!(text.contains(part), "{text}");
        }
        assert!(Pools::of(&json!({})).check(&machine(Some("nodes"), None, Some("lt-1"))).is_err());
    }
}
