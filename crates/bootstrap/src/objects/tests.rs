use super::*;
use slipway_resource::{Secret, Value as Attribute};

#[test]
fn hashes_run_over_the_values_in_the_order_of_their_keys() {
    let map = config_map("n", "m", vec![("b", "2".to_owned()), ("a", "1".to_owned())], true);
    assert_eq!(map["metadata"]["annotations"][HASH_ANNOTATION], hash(["12"]));
    let unsigned = config_map("n", "m", vec![("b", "2".to_owned())], false);
    assert!(unsigned["metadata"].get("annotations").is_none());
}

#[test]
fn a_tokens_secret_part_stays_a_secret() {
    let secret = Attribute::from(Secret::new("state:token.join#secret"));
    let object = bootstrap_token(&TokenObject {
        id: "abcdef",
        secret: secret.clone(),
        description: "",
        expiration: Some("2026-11-22T18:28:58.5Z".parse().unwrap()),
        usages: &["signing".to_owned()],
        groups: &["system:bootstrappers:b".to_owned(), "system:bootstrappers:a".to_owned()],
    });
    let data = object.get("stringData").unwrap();
    assert_eq!(data.get("token-secret"), Some(&secret));
    assert_eq!(data.get("expiration").unwrap().as_str(), Some("2026-11-22T18:28:58Z"));
    assert_eq!(
        data.get("auth-extra-groups").unwrap().as_str(),
        Some("system:bootstrappers:b,system:bootstrappers:a")
    );
    assert!(data.get("description").is_none());
}

#[test]
fn cluster_info_is_the_text_that_is_signed() {
    assert_eq!(
        cluster_info_kubeconfig("https://api.example.test:6443", "LS0t"),
        "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: LS0t\n    server: \
         https://api.example.test:6443\n  name: \"\"\ncontexts: null\ncurrent-context: \"\"\nkind: Config\nusers: null\n"
    );
}
