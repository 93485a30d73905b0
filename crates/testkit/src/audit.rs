//! The audit log of an API server: the rights that an account used, and those that it lacked.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value as Json;

use crate::scratch::Scratch;

/// Every request, without its body. Watches are written when they begin.
const POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
"rules": [{"level": "Metadata"}]}"#;

/// An audit log. It is removed with its value.
#[derive(Debug)]
pub struct Audit {
    scratch: Scratch,
}

/// The requests of one account, by the rights that they need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Requests that the account had no right to, such as `delete nodes /one`: verb, resource, namespace and name.
    pub refused: BTreeSet<String>,
    used: BTreeSet<Right>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    group: String,
    /// With its subresource, such as `nodes/status`.
    resource: String,
    verb: String,
}

impl Audit {
    /// Writes the policy of a log.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new() -> Result<Self> {
        let audit = Self { scratch: Scratch::new("audit")? };
        fs::write(audit.policy(), POLICY)?;
        Ok(audit)
    }

    /// Arguments of kube-apiserver that make it write the log.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        vec![
            format!("--audit-policy-file={}", self.policy().display()),
            format!("--audit-log-path={}", self.log().display()),
        ]
    }

    /// The requests of a user up to now.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn rights(&self, user: &str) -> Result<Rights> {
        let path = self.log();
        let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        Rights::read(&text, user)
    }

    fn policy(&self) -> PathBuf {
        self.scratch.path().join("policy.json")
    }

    fn log(&self) -> PathBuf {
        self.scratch.path().join("audit.log")
    }
}

impl Rights {
    fn read(log: &str, user: &str) -> Result<Self> {
        let mut rights = Self::default();
        // The last line may be incomplete.
        for line in log.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let event: Json =
                serde_json::from_str(line).context("the audit log has a line that is no JSON")?;
            let object = &event["objectRef"];
            if event["user"]["username"] != user || object.is_null() {
                continue;
            }
            let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
            let (mut resource, verb) = (text(&object["resource"]), text(&event["verb"]));
            if let Some(subresource) = object["subresource"].as_str() {
                resource = format!("{resource}/{subresource}");
            }
            if event["annotations"]["authorization.k8s.io/decision"] == "forbid" {
                let [namespace, name] = ["namespace", "name"].map(|field| text(&object[field]));
                rights.refused.insert(format!("{verb} {resource} {namespace}/{name}"));
            } else {
                let group = text(&object["apiGroup"]);
                // A server-side apply of a new object also needs the right to create it.
                if verb == "patch" && event["responseStatus"]["code"] == 201 {
                    let (group, resource) = (group.clone(), resource.clone());
                    rights.used.insert(Right { group, resource, verb: "create".to_owned() });
                }
                rights.used.insert(Right { group, resource, verb });
            }
        }
        Ok(rights)
    }

    /// The rights in ClusterRoles and Roles among objects that the account never used, such as `update secrets`.
    #[must_use]
    pub fn unused(&self, objects: &[Json]) -> BTreeSet<String> {
        let roles = objects
            .iter()
            .filter(|object| ["ClusterRole", "Role"].contains(&object["kind"].as_str().unwrap_or("")));
        let mut unused = BTreeSet::new();
        for rule in roles.flat_map(|role| items_of(&role["rules"])) {
            for (group, resource, verb) in combinations(rule) {
                let is_used = |right: &Right| {
                    let fits = resource == "*" || right.resource == resource;
                    right.group == group && fits && right.verb == verb
                };
                if !self.used.iter().any(is_used) {
                    unused.insert(format!("{verb} {resource}"));
                }
            }
        }
        unused
    }
}

/// The items of a list; none if there is no list.
fn items_of(list: &Json) -> &[Json] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Each group, resource and verb of a rule.
fn combinations(rule: &Json) -> Vec<(&str, &str, &str)> {
    let items = |field: &str| items_of(&rule[field]).iter().filter_map(Json::as_str);
    let mut all = Vec::new();
    for group in items("apiGroups") {
        for resource in items("resources") {
            all.extend(items("verbs").map(|verb| (group, resource, verb)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rights_are_used_refused_or_unused() {
        let event = |user: &str, verb: &str, object: Json, decision: &str| {
            let annotations = json!({"authorization.k8s.io/decision": decision});
            let user = json!({ "username": user });
            format!(
                "{}\n",
                json!({"verb": verb, "user": user, "objectRef": object, "annotations": annotations})
            )
        };
        let status = json!({"resource": "nodes", "subresource": "status", "name": "one"});
        let secret = json!({"resource": "secrets", "namespace": "a", "name": "b"});
        let role = json!({"resource": "clusters", "apiGroup": "x", "name": "b"});
        let log = [
            event("me", "patch", status, "allow"),
            event("me", "get", secret.clone(), "forbid"),
            event("me", "get", role, "allow"),
            event("other", "update", secret, "allow"),
            format!(
                "{}\n",
                json!({"verb": "patch", "user": {"username": "me"}, "responseStatus": {"code": 201},
                       "objectRef": {"resource": "services"}})
            ),
            "{\"verb\": ".to_owned(),
        ];
        let rights = Rights::read(&log.concat(), "me").unwrap();
        assert_eq!(rights.refused, BTreeSet::from(["get secrets a/b".to_owned()]));
        let objects = [
            json!({"kind": "Role", "rules": [
                {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
                {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "update"]},
                {"apiGroups": [""], "resources": ["services"], "verbs": ["create", "patch"]},
            ]}),
            json!({"kind": "ClusterRole", "rules": [{"apiGroups": ["x"], "resources": ["*"], "verbs": ["get"]}]}),
            json!({"kind": "Namespace"}),
        ];
        let unused = ["get secrets", "update secrets"].map(str::to_owned);
        assert_eq!(rights.unused(&objects), BTreeSet::from(unused));
    }
}
