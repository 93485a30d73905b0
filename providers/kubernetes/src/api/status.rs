//! The refusals of the server.

use serde_json::Value as Json;
use slipway_resource::{ErrorClass, ProviderError};

use crate::object::text;

/// The start of the server's message about a field that does not exist, in server-side apply.
const UNKNOWN_FIELD: &str = "failed to create typed patch object";

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The reason, as `AlreadyExists`.
    pub reason: String,
    /// In a sentence.
    pub message: String,
    /// The causes of the refusal.
    pub causes: Vec<Cause>,
}

/// One cause of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// The kind of cause, as `FieldManagerConflict` or `FieldValueInvalid`.
    pub reason: String,
    /// In a sentence.
    pub message: String,
    /// The field, as `.spec.replicas`.
    pub field: String,
}

/// A field that another field manager owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The field, as `.spec.replicas`.
    pub field: String,
    /// The field manager that owns it, as `kubectl-edit`.
    pub manager: String,
}

impl std::fmt::Display for Taken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.manager, self.field)
    }
}

impl Refusal {
    pub(crate) fn new(status: u16, body: &Json) -> Self {
        let of = |pointer: &str| text(body, pointer).unwrap_or_default().to_owned();
        let causes = body.pointer("/details/causes").and_then(Json::as_array).into_iter().flatten();
        let cause = |cause: &Json| {
            let of = |name: &str| cause.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
            Cause { reason: of("reason"), message: of("message"), field: of("field") }
        };
        let message = match (of("/message"), body.as_str()) {
            (message, _) if !message.is_empty() => message,
            (_, Some(plain)) if !plain.trim().is_empty() => plain.trim().to_owned(),
            _ => format!("the cluster's API refuses with HTTP status {status}"),
        };
        // A manifest with a field that does not exist comes back as an internal error without a reason, so its message decides.
        let status = if status == 500 && message.starts_with(UNKNOWN_FIELD) { 422 } else { status };
        Self { status, reason: of("/reason"), message, causes: causes.map(cause).collect() }
    }

    pub(crate) fn is_not_found(&self) -> bool {
        self.status == 404
    }

    /// Whether a disruption budget refuses an eviction: not a matter of pace.
    pub(crate) fn is_budget(&self) -> bool {
        self.causes.iter().any(|cause| cause.reason == "DisruptionBudget")
    }

    /// The fields that others have, when that is why.
    pub(crate) fn taken(&self) -> Vec<Taken> {
        let conflicts = self.causes.iter().filter(|cause| cause.reason == "FieldManagerConflict");
        conflicts
            .map(|cause| Taken { field: cause.field.clone(), manager: manager_of(&cause.message) })
            .collect()
    }

    /// The refusal as a failure.
    pub(crate) fn into_error(self) -> ProviderError {
        let class = match self.status {
            401 => ErrorClass::Unauthenticated,
            // A quota and a missing permission have the same status and reason, and no cause.
            403 if self.message.contains("exceeded quota") => ErrorClass::Permanent,
            403 => ErrorClass::Permission { action: action_of(&self.message) },
            404 => ErrorClass::NotFound,
            409 => ErrorClass::Conflict,
            410 => ErrorClass::Transient,
            400 | 405 | 406 | 413 | 415 | 422 => ErrorClass::Invalid,
            _ => ErrorClass::Permanent,
        };
        ProviderError::new(class, self.message)
    }
}

/// The manager in `conflict with "kubectl-edit" using apps/v1`, which is the only place where the server names it.
fn manager_of(message: &str) -> String {
    let mut pieces = message.split('"');
    pieces.next();
    pieces.next().unwrap_or(message).to_owned()
}

/// The refused action, as `create deployments`, from the server's fixed form `… cannot create resource
/// "deployments" …`.
fn action_of(message: &str) -> String {
    let Some((_, after)) = message.split_once(" cannot ") else { return message.to_owned() };
    let verb = after.split(' ').next().unwrap_or_default();
    let resource = after.split('"').nth(1).unwrap_or_default();
    format!("{verb} {resource}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_conflict_names_fields_and_managers() {
        let refusal = Refusal::new(
            409,
            &json!({"kind": "Status", "reason": "Conflict", "message": "Apply failed with 1 conflict", "details": {"causes": [
                {"reason": "FieldManagerConflict", "message": "conflict with \"kubectl-edit\" using apps/v1", "field": ".spec.replicas"}]}}),
        );
        assert_eq!(
            refusal.taken(),
            [Taken { field: ".spec.replicas".to_owned(), manager: "kubectl-edit".to_owned() }]
        );
        assert_eq!(refusal.into_error().class, ErrorClass::Conflict);
    }

    #[test]
    fn a_refusal_has_its_class() {
        let class = |status: u16, message: &str| {
            Refusal::new(status, &json!({"message": message})).into_error().class
        };
        let forbidden = "deployments.apps is forbidden: User \"x\" cannot create resource \"deployments\" in API group \"apps\"";
        assert_eq!(class(403, forbidden), ErrorClass::Permission { action: "create deployments".to_owned() });
        assert_eq!(class(422, ""), ErrorClass::Invalid);
        assert_eq!(class(401, "Unauthorized"), ErrorClass::Unauthenticated);
        let plain = Refusal::new(404, &json!("404 page not found\n"));
        assert_eq!((plain.is_not_found(), plain.message.as_str()), (true, "404 page not found"));
        let unknown = "failed to create typed patch object (shop/w; example.com/v1, Kind=Widget): .spec.sise: field not declared in schema";
        assert_eq!(class(500, unknown), ErrorClass::Invalid);
        let budget = json!({"details": {"causes": [{"reason": "DisruptionBudget"}]}});
        assert!(Refusal::new(429, &budget).is_budget());
    }
}
