//! Policies over plans: conditions in CEL that the caller sets for all plans. A spec names none, so whoever changes a spec changes no
//! policy.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value as Json;
use slipway_expressions::Condition;
use slipway_plan::{Plan, render};
use slipway_resource::ErrorClass;
use slipway_resource::provider::{ExpandNote, PreflightFinding};

/// The variable of the conditions: the plan as `slipway plan -o json` prints it.
const PLAN: &str = "plan";

/// The field of notes about policies.
const FIELD: &str = "policy";

/// The way out of a plan that a policy denies. No argument skips a policy.
pub(crate) const HINT: &str = "change the spec, or ask those who keep the policies";

/// Why a policy file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file is not YAML, or has other fields.
    #[error("the file does not have the form of a policy file")]
    Form(#[source] serde_yaml::Error),
    /// A condition is not CEL, or uses another variable than `plan`.
    #[error("the policy `{name}` cannot be evaluated")]
    Expression {
        /// The name of the policy.
        name: String,
        /// Why.
        #[source]
        source: slipway_expressions::Error,
    },
    /// A name is used twice.
    #[error("two policies have the name `{name}`")]
    Twice {
        /// The name.
        name: String,
    },
    /// A test names a policy that the file does not have.
    #[error("the test `{test}` names the policy `{name}`, which the file does not have")]
    NoPolicy {
        /// The name of the test.
        test: String,
        /// The name of the policy.
        name: String,
    },
}

/// What a policy does with a plan that does not satisfy it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PolicyAction {
    /// The plan cannot be applied.
    #[default]
    Deny,
    /// The plan has a note.
    Warn,
}

/// A policy as a file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Written {
    name: String,
    #[serde(default)]
    action: PolicyAction,
    expression: String,
    message: String,
}

/// The form of a policy file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Form {
    policies: Vec<Written>,
    #[serde(default)]
    tests: Vec<PolicyTest>,
}

/// A condition that plans have to satisfy.
#[derive(Debug)]
struct Rule {
    name: String,
    action: PolicyAction,
    condition: Condition,
    message: String,
}

/// Conditions that plans have to satisfy.
#[derive(Clone, Debug, Default)]
pub struct Policies(Vec<Arc<Rule>>);

/// A plan and what policies say about it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PolicyTest {
    /// The name of the test.
    pub name: String,
    /// The plan, with the fields that the policies read.
    pub plan: Json,
    /// The policies that deny it.
    #[serde(default)]
    pub denied: Vec<String>,
    /// The policies that warn of it.
    #[serde(default)]
    pub warned: Vec<String>,
}

/// A policy file.
#[derive(Clone, Debug)]
pub struct PolicyFile {
    /// Its policies.
    pub policies: Policies,
    /// Their tests.
    pub tests: Vec<PolicyTest>,
}

/// A policy that a plan does not satisfy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the policy.
    pub policy: String,
    /// Its message, or why it could not be evaluated.
    pub message: String,
}

/// What policies say about a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The policies that deny it.
    pub denied: Vec<Violation>,
    /// The policies that warn of it.
    pub warned: Vec<Violation>,
}

impl PolicyFile {
    /// Reads the text of a policy file.
    ///
    /// # Errors
    /// [`PolicyError`].
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let form: Form = serde_yaml::from_str(text).map_err(PolicyError::Form)?;
        let mut policies = Policies::default();
        for Written { name, action, expression, message } in form.policies {
            if policies.has(&name) {
                return Err(PolicyError::Twice { name });
            }
            let condition = Condition::parse(&expression, &[PLAN])
                .map_err(|source| PolicyError::Expression { name: name.clone(), source })?;
            policies.0.push(Arc::new(Rule { name, action, condition, message }));
        }
        for test in &form.tests {
            let unknown = test.denied.iter().chain(&test.warned).find(|name| !policies.has(name));
            if let Some(name) = unknown {
                return Err(PolicyError::NoPolicy { test: test.name.clone(), name: name.clone() });
            }
        }
        Ok(Self { policies, tests: form.tests })
    }
}

impl Policies {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds policies of another file.
    ///
    /// # Errors
    /// [`PolicyError::Twice`].
    pub fn add(&mut self, other: Self) -> Result<(), PolicyError> {
        match other.0.iter().find(|rule| self.has(&rule.name)) {
            Some(rule) => Err(PolicyError::Twice { name: rule.name.clone() }),
            None => {
                self.0.extend(other.0);
                Ok(())
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|rule| rule.name == name)
    }

    /// Evaluates all policies over a plan in its JSON form. A policy that cannot be evaluated is not satisfied. It blocks the thread
    /// for some seconds at most.
    #[must_use]
    pub fn judge(&self, plan: &Json) -> Judgement {
        let mut judgement = Judgement::default();
        for rule in &self.0 {
            let message = match rule.condition.holds(&[(PLAN, plan)]) {
                Ok(true) => continue,
                Ok(false) => rule.message.clone(),
                Err(error) => error.to_string(),
            };
            let violation = Violation { policy: rule.name.clone(), message };
            match rule.action {
                PolicyAction::Deny => judgement.denied.push(violation),
                PolicyAction::Warn => judgement.warned.push(violation),
            }
        }
        judgement
    }

    /// The same for a plan, on a thread for tasks that block.
    pub(crate) async fn of_plan(&self, plan: &Plan) -> Judgement {
        if self.is_empty() {
            return Judgement::default();
        }
        let (policies, document) = (self.clone(), render::json(plan));
        let judged = tokio::task::spawn_blocking(move || policies.judge(&document)).await;
        judged.unwrap_or_else(|_| {
            let message = "the policies could not be evaluated".to_owned();
            Judgement { denied: vec![Violation { policy: "all".to_owned(), message }], warned: Vec::new() }
        })
    }
}

impl Judgement {
    /// The findings that stop a plan.
    pub(crate) fn findings(&self) -> Vec<PreflightFinding> {
        let finding = |Violation { policy, message }: &Violation| PreflightFinding {
            address: None,
            class: ErrorClass::PreconditionFailed,
            message: format!("the policy {policy} denies the plan: {message}"),
            hint: Some(HINT.to_owned()),
        };
        self.denied.iter().map(finding).collect()
    }

    /// The notes of a plan.
    pub(crate) fn notes(&self) -> Vec<ExpandNote> {
        let note = |Violation { policy, message }: &Violation| ExpandNote {
            field: FIELD.to_owned(),
            message: format!("the policy {policy} warns: {message}"),
        };
        self.warned.iter().map(note).collect()
    }
}

impl PolicyTest {
    /// What is wrong with the result of the test; `None` if it is the expected one.
    #[must_use]
    pub fn failure(&self, policies: &Policies) -> Option<String> {
        let Judgement { denied, warned } = policies.judge(&self.plan);
        let parts = [("denied", &self.denied, denied), ("warned", &self.warned, warned)];
        let wrong = parts.into_iter().filter_map(|(what, expected, found)| {
            let mut expected: Vec<&str> = expected.iter().map(String::as_str).collect();
            let mut names: Vec<&str> = found.iter().map(|violation| violation.policy.as_str()).collect();
            expected.sort_unstable();
            names.sort_unstable();
            (expected != names).then(|| {
                let told: Vec<String> = found
                    .iter()
                    .map(|Violation { policy, message }| format!("{policy} ({message})"))
                    .collect();
                format!("{what} by [{}], expected [{}]", told.join(", "), expected.join(", "))
            })
        });
        let wrong: Vec<String> = wrong.collect();
        (!wrong.is_empty()).then(|| wrong.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const FILE: &str = r#"
policies:
  - name: no-deletions
    expression: plan.resource_changes.all(c, !("delete" in c.change.actions))
    message: a resource is deleted
  - name: small
    action: warn
    expression: size(plan.resource_changes) < 2
    message: the plan is large
tests:
  - name: a deletion
    plan: { resource_changes: [ { change: { actions: [delete] } } ] }
    denied: [no-deletions]
  - name: nothing
    plan: { resource_changes: [] }
    warned: [small]
"#;

    fn changes(actions: &[&str]) -> Json {
        let change = |action: &&str| json!({ "change": { "actions": [action] } });
        json!({ "resource_changes": actions.iter().map(change).collect::<Vec<_>>() })
    }

    #[test]
    fn policies_deny_and_warn() {
        let policies = PolicyFile::parse(FILE).unwrap().policies;
        assert_eq!(policies.judge(&changes(&["create"])), Judgement::default());
        let judged = policies.judge(&changes(&["create", "delete"]));
        assert_eq!(
            judged.findings()[0].message,
            "the policy no-deletions denies the plan: a resource is deleted"
        );
        assert_eq!(judged.notes()[0].message, "the policy small warns: the plan is large");
        let broken = policies.judge(&json!({}));
        assert!(
            broken.denied[0].message.contains("the field `resource_changes` does not exist"),
            "{broken:?}"
        );
        assert_eq!(broken.warned.len(), 1);
    }

    #[test]
    fn tests_name_the_policies_that_deny_and_warn() {
        let file = PolicyFile::parse(FILE).unwrap();
        assert_eq!(file.tests[0].failure(&file.policies), None);
        assert_eq!(file.tests[1].failure(&file.policies).unwrap(), "warned by [], expected [small]");
    }

    #[test]
    fn files_that_cannot_be_used_are_refused() {
        let refused = |text: &str| PolicyFile::parse(text).unwrap_err();
        assert!(matches!(refused("policy: []"), PolicyError::Form(_)));
        let other = refused(&FILE.replace("size(plan.resource_changes)", "size(spec)"));
        assert!(matches!(other, PolicyError::Expression { ref name, .. } if name == "small"), "{other:?}");
        let twice = refused(&FILE.replace("name: small", "name: no-deletions"));
        assert!(matches!(twice, PolicyError::Twice { .. }));
        let missing = refused(&FILE.replace("warned: [small]", "warned: [tiny]"));
        assert!(matches!(missing, PolicyError::NoPolicy { ref name, .. } if name == "tiny"), "{missing:?}");
        let mut policies = PolicyFile::parse(FILE).unwrap().policies;
        assert!(matches!(policies.add(policies.clone()), Err(PolicyError::Twice { .. })));
    }
}
