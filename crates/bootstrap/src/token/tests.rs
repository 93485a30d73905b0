use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

use super::{
    DEFAULT_GROUP, Stored, StoredError, Token, group_of_node, groups_of_node, is_group, node_of_groups,
};
use crate::configuration::BootstrapTokenSettings;

type Fields = BTreeMap<String, Vec<u8>>;

fn now() -> Timestamp {
    "2026-03-01T12:00:00.75Z".parse().unwrap()
}

fn bytes(token: &Token, settings: &BootstrapTokenSettings) -> Fields {
    let fields = token.fields(settings, now()).into_iter();
    fields.map(|(name, text)| (name, text.expose().as_bytes().to_vec())).collect()
}

#[test]
fn generated_tokens_are_valid_and_differ() {
    let tokens: Vec<Token> = (0..50).map(|_| Token::generate().unwrap()).collect();
    for token in &tokens {
        assert_eq!(token.to_text().expose().parse::<Token>().unwrap(), *token);
    }
    assert!(tokens[1..].iter().all(|token| *token != tokens[0]));
    let letters: std::collections::BTreeSet<char> =
        tokens.iter().flat_map(|token| token.secret().expose().chars().collect::<Vec<_>>()).collect();
    assert!(letters.len() > 30, "{letters:?}");
}

#[test]
fn other_texts_are_refused_without_showing_them() {
    for text in [
        "",
        "hunter2",
        "zyxwvu.0123456789abcde",
        "zyxwvU.0123456789abcdef",
        "zyxwvu.0123456789abcdef ",
        "zyxwvu:0123456789abcdef",
    ] {
        let error = text.parse::<Token>().unwrap_err();
        assert!(!error.to_string().contains(text) || text.is_empty(), "{text}");
    }
    let token: Token = "abcdef.0123456789fedcba".parse().unwrap();
    assert!(!format!("{token}{token:?}").contains("fedcba"));
}

#[test]
fn a_secret_says_all_of_a_token() {
    let token: Token = "abcdef.0123456789abcdef".parse().unwrap();
    let settings = BootstrapTokenSettings { description: "for tests".to_owned(), ..Default::default() };
    let fields = bytes(&token, &settings);
    let text = |name: &str| std::str::from_utf8(&fields[name]).unwrap();
    assert_eq!(text("expiration"), "2026-03-02T12:00:00Z");
    assert_eq!(text("auth-extra-groups"), DEFAULT_GROUP);
    assert_eq!((text("usage-bootstrap-signing"), text("usage-bootstrap-authentication")), ("true", "true"));

    let stored = Stored::from_secret("bootstrap-token-abcdef", super::SECRET_TYPE, &fields).unwrap();
    assert_eq!((stored.token.clone(), stored.description.as_str()), (token, "for tests"));
    assert!(stored.signs(now()) && !stored.signs(now() + Duration::from_secs(86_400)));
    assert_eq!(stored.groups, [DEFAULT_GROUP]);
}

#[test]
fn a_token_may_live_for_ever_or_until_a_given_time() {
    let token = Token::generate().unwrap();
    let forever = BootstrapTokenSettings { ttl: "0s".parse().unwrap(), ..Default::default() };
    assert!(!bytes(&token, &forever).contains_key("expiration"));
    let given =
        BootstrapTokenSettings { expires: Some("2030-01-01T00:00:00+02:00".parse().unwrap()), ..forever };
    assert_eq!(bytes(&token, &given)["expiration"], b"2029-12-31T22:00:00Z");
}

#[test]
fn a_secret_that_makes_no_token_valid_is_refused() {
    let token: Token = "abcdef.0123456789abcdef".parse().unwrap();
    let good = bytes(&token, &BootstrapTokenSettings::default());
    let read = |name: &str, secret_type: &str, change: &dyn Fn(&mut Fields)| {
        let mut fields = good.clone();
        change(&mut fields);
        Stored::from_secret(name, secret_type, &fields).unwrap_err()
    };
    let (name, kind) = ("bootstrap-token-abcdef", super::SECRET_TYPE);
    assert!(matches!(read(name, "Opaque", &|_| {}), StoredError::OtherType(_)));
    assert!(matches!(read("bootstrap-token-zzzzzz", kind, &|_| {}), StoredError::OtherName { .. }));
    let error = read(name, kind, &|fields| drop(fields.remove("token-secret")));
    assert!(matches!(error, StoredError::Field { field: "token-secret", .. }));
    let error = read(name, kind, &|fields| drop(fields.insert("expiration".to_owned(), b"soon".to_vec())));
    assert!(matches!(error, StoredError::Field { field: "expiration", .. }));
}

#[test]
fn groups_have_a_form() {
    for group in [DEFAULT_GROUP, "system:bootstrappers:a", &group_of_node("a.b-1")] {
        assert!(is_group(group), "{group}");
    }
    for group in
        ["system:masters", "system:bootstrappers:", "system:bootstrappers:a-", "system:bootstrappers:A"]
    {
        assert!(!is_group(group), "{group}");
    }
}

#[test]
fn a_bound_token_names_its_node() {
    let group = group_of_node("worker-1.example.test");
    assert_eq!(node_of_groups(["system:bootstrappers", &group]).unwrap(), "worker-1.example.test");
    assert_eq!(node_of_groups(["system:bootstrappers", DEFAULT_GROUP]), None);
    let groups = groups_of_node("worker-1.example.test").unwrap();
    assert!(groups.iter().all(|group| is_group(group)) && !groups.contains(&DEFAULT_GROUP.to_owned()));
    for name in ["", "Worker", "a:b", "a_b", "worker-"] {
        assert_eq!(groups_of_node(name), None, "{name:?}");
    }
}
