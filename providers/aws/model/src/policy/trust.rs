//! Trust policies: the principals that may assume a role.

use super::document::{Conditions, Document, Principal, Statement, Text};

/// The trust policy of instances. China's regions have another name for the service.
pub(crate) fn assumed_by_instances(dns_suffix: &str) -> Document {
    Document::of(Statement {
        principal: Some(Principal::Services(vec![format!("ec2.{dns_suffix}")])),
        actions: ["sts:AssumeRole".to_owned()].into(),
        resources: Vec::new(),
        conditions: Conditions::default(),
    })
}

/// The trust policy of a service account, whose tokens the issuer signs. A namespace may be a pattern.
pub(crate) fn assumed_by_service_account(
    provider: Text,
    issuer: &str,
    namespace: &str,
    name: &str,
) -> Document {
    let operator = if namespace.contains('*') { "StringLike" } else { "StringEquals" };
    let issuer = issuer.strip_prefix("https://").unwrap_or(issuer);
    let subject = format!("system:serviceaccount:{namespace}:{name}");
    let key = format!("{issuer}:sub");
    Document::of(Statement {
        principal: Some(Principal::Federated(provider)),
        actions: ["sts:AssumeRoleWithWebIdentity".to_owned()].into(),
        resources: Vec::new(),
        conditions: Conditions::from([(operator.to_owned(), [(key, [subject].into())].into())]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_namespaces_is_matched_as_one() {
        let of = |namespace: &str| {
            let document = assumed_by_service_account("arn".into(), "https://issuer/x", namespace, "robot");
            let json: serde_json::Value =
                serde_json::from_str(document.to_value().as_str().unwrap()).unwrap();
            json["Statement"][0]["Condition"].clone()
        };
        let equals =
            serde_json::json!({ "StringEquals": { "issuer/x:sub": "system:serviceaccount:a:robot" } });
        assert_eq!(of("a"), equals);
        let like = serde_json::json!({ "StringLike": { "issuer/x:sub": "system:serviceaccount:a-*:robot" } });
        assert_eq!(of("a-*"), like);
    }
}
