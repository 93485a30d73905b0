//! The policies of a cluster's key in KMS: whom the key itself permits, and what a role may do with it.

use super::document::{Conditions, Document, Principal, Statement, Text};

/// The condition on the encryption context, with which the provider wraps the data keys of one cluster.
const CONTEXT: &str = "kms:EncryptionContext:slipway.dev/cluster";

/// The actions of an administrator. None of them uses the key, and none lets others use it beyond its policy.
const ADMINISTRATION: [&str; 16] = [
    "kms:CancelKeyDeletion",
    "kms:CreateAlias",
    "kms:DeleteAlias",
    "kms:DescribeKey",
    "kms:DisableKey",
    "kms:EnableKey",
    "kms:GetKeyPolicy",
    "kms:GetKeyRotationStatus",
    "kms:ListKeyPolicies",
    "kms:ListResourceTags",
    "kms:PutKeyPolicy",
    "kms:ScheduleKeyDeletion",
    "kms:TagResource",
    "kms:UntagResource",
    "kms:UpdateAlias",
    "kms:UpdateKeyDescription",
];

/// The policy of the key: identities of the account administer it, and use it for data keys of this cluster, where their own
/// policies say so. It permits no other account, no grant, and no use without the name of the cluster.
pub(crate) fn of_key((partition, account): (&str, &str), cluster: &str) -> Document {
    let allow = |actions: &[&str], conditions| Statement {
        principal: Some(Principal::Account(format!("arn:{partition}:iam::{account}:root"))),
        actions: actions.iter().map(|action| (*action).to_owned()).collect(),
        resources: vec!["*".into()],
        conditions,
    };
    Document {
        statements: vec![
            allow(&ADMINISTRATION, Conditions::default()),
            allow(&["kms:Decrypt", "kms:Encrypt"], for_cluster(cluster)),
        ],
    }
}

/// The policy of a role that opens the keys of a cluster: this key, for this cluster, and only to decrypt.
pub(crate) fn decrypts(key: Text, cluster: &str) -> Document {
    Document::of(Statement {
        principal: None,
        actions: ["kms:Decrypt".to_owned()].into(),
        resources: vec![key],
        conditions: for_cluster(cluster),
    })
}

fn for_cluster(cluster: &str) -> Conditions {
    let context = [(CONTEXT.to_owned(), [cluster.to_owned()].into())].into();
    Conditions::from([("StringEquals".to_owned(), context)])
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn json(document: &Document) -> Json {
        serde_json::from_str(document.to_value().as_str().unwrap()).unwrap()
    }

    #[test]
    fn the_key_is_used_for_its_cluster_only() {
        let policy = json(&of_key(("aws-cn", "111122223333"), "a.example.com"));
        let statements = policy["Statement"].as_array().unwrap();
        assert!(
            statements
                .iter()
                .all(|one| one["Principal"] == json!({"AWS": "arn:aws-cn:iam::111122223333:root"}))
        );
        let uses = |one: &&Json| one["Action"].to_string().contains("crypt\"");
        let [using] = statements.iter().filter(uses).collect::<Vec<_>>()[..] else { panic!("{policy}") };
        let context = json!({ "StringEquals": { CONTEXT: "a.example.com" } });
        assert_eq!(using["Condition"], context);
        let text = policy.to_string();
        for wide in ["kms:*", "Grant", "GenerateDataKey", "ReEncrypt", "\"AWS\":\"*\""] {
            assert!(!text.contains(wide), "{wide}: {text}");
        }
    }

    #[test]
    fn a_role_decrypts_and_nothing_else() {
        let policy = json(&decrypts("arn:key".into(), "a.example.com"));
        let statement = &policy["Statement"][0];
        assert_eq!(
            (&statement["Action"], &statement["Resource"]),
            (&json!("kms:Decrypt"), &json!("arn:key"))
        );
        assert_eq!(statement["Condition"], json!({ "StringEquals": { CONTEXT: "a.example.com" } }));
    }
}
