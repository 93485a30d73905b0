use serde_json::Value;

use super::context::{Context, error};
use crate::diagnostic::code::CONTRADICTION;

/// The header that an audit policy has in the file of the API server.
const HEADER: [(&str, &str); 2] = [("apiVersion", "audit.k8s.io/v1"), ("kind", "Policy")];

/// An audit policy is an object of the kind that API servers read. The header may be left out.
pub(super) fn check(context: &mut Context<'_>) {
    let policy = &context.cluster.audit.policy;
    if policy.is_null() {
        return;
    }
    let path = "audit.policy";
    let Some(fields) = policy.as_object() else {
        let complaint = error(
            CONTRADICTION,
            "the audit policy is not an object",
            "write it as in `policy: { rules: [] }`",
        );
        context.at(path, complaint);
        return;
    };
    for (name, required) in HEADER {
        let Some(found) = fields.get(name).filter(|found| found.as_str() != Some(required)) else { continue };
        let found = found.as_str().map_or_else(|| Value::to_string(found), str::to_owned);
        let complaint = error(
            CONTRADICTION,
            format!("the {name} `{found}` is not that of an audit policy"),
            format!("write `{name}: {required}`, or remove `{name}`"),
        );
        context.at(&format!("{path}.{name}"), complaint);
    }
}
