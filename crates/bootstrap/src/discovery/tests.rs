use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

use super::{CONFIG_MAP, Error, FileTrust, KUBECONFIG, is_signature, signature, signatures, trust};
use crate::{
    configuration::EncryptionAlgorithm,
    kubeconfig::Kubeconfig,
    pki::{Certificate, Pin, PrivateKey, Template},
    token::{Stored, Token},
};

const SERVER: &str = "https://api.test:6443";

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn token() -> Token {
    "abcdef.0123456789abcdef".parse().unwrap()
}

fn authority() -> Certificate {
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    Template::authority("kubernetes", now(), Duration::from_secs(3600)).unwrap().self_signed(&key).unwrap()
}

fn info(authorities: &str, token: &Token) -> BTreeMap<String, String> {
    let text = Kubeconfig::cluster_info(SERVER, authorities).to_yaml().expose().to_owned();
    let signed = signature(&text, token);
    BTreeMap::from([(KUBECONFIG.to_owned(), text), ("jws-kubeconfig-abcdef".to_owned(), signed)])
}

/// RFC 7515 with another implementation: Python's hmac and base64.
#[test]
fn signs_as_others_do() {
    let expected = "eyJhbGciOiJIUzI1NiIsImtpZCI6ImFiY2RlZiJ9..K1chermAQEq0rdqy-ehj0VDfmA_ytv8Wzh9g26FldrE";
    assert_eq!(signature("apiVersion: v1\n", &token()), expected);
    assert!(is_signature(expected, "apiVersion: v1\n", &token()));
    assert!(!is_signature(expected, "apiVersion: v2\n", &token()));
    let other: Token = "abcdef.0123456789abcdee".parse().unwrap();
    assert!(!is_signature(expected, "apiVersion: v1\n", &other));
}

#[test]
fn trusts_what_is_signed_and_pinned() {
    let authority = authority();
    let data = info(&authority.to_pem(), &token());
    let trusted = trust(&data, &token(), &[Pin::of(authority.public_key())]).unwrap();
    assert_eq!(trusted.kubeconfig.cluster().unwrap().server, SERVER);
    assert_eq!(trusted.pinned, [authority]);
    trusted.confirm(&data).unwrap();
    assert!(trust(&data, &token(), &[]).is_ok());
}

#[test]
fn refuses_what_is_not() {
    let (real, other) = (authority(), authority());
    let data = info(&real.to_pem(), &token());
    let refused = |data: &BTreeMap<String, String>, token: &Token, pin: &Certificate| {
        trust(data, token, &[Pin::of(pin.public_key())]).unwrap_err()
    };
    let found = vec![Pin::of(real.public_key())];
    assert_eq!(refused(&data, &token(), &other), Error::NoPinFits { found });
    let unknown: Token = "zzzzzz.0123456789abcdef".parse().unwrap();
    assert_eq!(refused(&data, &unknown, &real), Error::NoSignature("zzzzzz".to_owned()));
    let wrong: Token = "abcdef.ffffffffffffffff".parse().unwrap();
    assert_eq!(refused(&data, &wrong, &real), Error::WrongSignature("abcdef".to_owned()));
    let mut altered = data.clone();
    altered.insert(KUBECONFIG.to_owned(), data[KUBECONFIG].replace("api.test", "evil.test"));
    assert_eq!(refused(&altered, &token(), &real), Error::WrongSignature("abcdef".to_owned()));
    let mut empty = data.clone();
    empty.remove(KUBECONFIG);
    assert_eq!(refused(&empty, &token(), &real), Error::NoKubeconfig);
    let trusted = trust(&data, &token(), &[]).unwrap();
    assert_eq!(trusted.confirm(&altered), Err(Error::Changed));
    assert_eq!(CONFIG_MAP, "cluster-info");
}

/// An attacker with the token puts another CA beside the real one: only the pinned CA is trusted then.
#[test]
fn a_ca_that_is_not_pinned_is_not_trusted_for_the_second_reading() {
    let (real, evil) = (authority(), authority());
    let data = info(&format!("{}{}", evil.to_pem(), real.to_pem()), &token());
    let trusted = trust(&data, &token(), &[Pin::of(real.public_key())]).unwrap();
    assert_eq!(trusted.pinned_pem(), real.to_pem());
    assert_eq!(trusted.authorities.len(), 2);
}

#[test]
fn signs_with_every_token_that_may() {
    let stored = |id: &str, usages: &[&str], expires: Option<Timestamp>| Stored {
        token: format!("{id}.0123456789abcdef").parse().unwrap(),
        description: String::new(),
        expires,
        usages: usages.iter().map(ToString::to_string).collect(),
        groups: Vec::new(),
    };
    let tokens = [
        stored("aaaaaa", &["signing"], None),
        stored("bbbbbb", &["authentication"], None),
        stored("cccccc", &["signing"], Some(now())),
        stored("dddddd", &["signing"], Some(now() + Duration::from_secs(1))),
    ];
    let signed = signatures("text", &tokens, now());
    assert_eq!(signed.keys().collect::<Vec<_>>(), ["jws-kubeconfig-aaaaaa", "jws-kubeconfig-dddddd"]);
    assert_eq!(signed["jws-kubeconfig-aaaaaa"], signature("text", &tokens[0].token));
}

#[test]
fn a_file_brings_its_ca_and_perhaps_credentials() {
    let pem = authority().to_pem();
    let file = |authority: &str, user: &str| {
        let text = format!(
            "clusters: [{{name: x, cluster: {{server: {SERVER}, {authority}}}}}]\ncurrent-context: c\n\
             contexts: [{{name: c, context: {{cluster: x, user: u}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
        );
        FileTrust::from_kubeconfig(Kubeconfig::parse(&text).unwrap(), |path| {
            (path == "/ca.crt").then(|| pem.clone())
        })
    };
    let trusted = file("certificate-authority: /ca.crt", "").unwrap();
    assert_eq!((trusted.server.as_str(), &trusted.authority), (SERVER, &pem));
    assert!(trusted.bootstrap_kubeconfig("kubernetes", None).is_none());
    let made = trusted.bootstrap_kubeconfig("kubernetes", Some(&token())).unwrap();
    assert_eq!(made.token().unwrap().expose(), "abcdef.0123456789abcdef");

    let own = file("certificate-authority: /ca.crt", "token: t").unwrap();
    let made = own.bootstrap_kubeconfig("kubernetes", None).unwrap();
    assert_eq!(made.token().unwrap().expose(), "t");
    assert_eq!(made.cluster().unwrap().authority.unwrap(), pem);

    for authority in ["", "certificate-authority: /missing", "insecure-skip-tls-verify: true"] {
        assert!(matches!(file(authority, ""), Err(Error::Kubeconfig(_))), "{authority}");
    }
}
