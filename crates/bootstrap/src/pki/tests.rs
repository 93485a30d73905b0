use std::time::Duration;

use jiff::Timestamp;

use super::{
    AlternativeNames, Certificate, Error, Pin, PrivateKey, PublicKey, Request, Subject, Template, Usage,
    asn1::Extension,
    expiry::Expiry,
    renew,
    verify::{self, Problem},
};
use crate::configuration::EncryptionAlgorithm;

const DAY: Duration = Duration::from_secs(86_400);

fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

fn authority(algorithm: EncryptionAlgorithm, name: &str) -> (Certificate, PrivateKey) {
    let key = PrivateKey::generate(algorithm).unwrap();
    (Template::authority(name, now(), DAY * 3650).unwrap().self_signed(&key).unwrap(), key)
}

fn server(names: &[&str]) -> Template {
    let subject = Subject::new("server").with_organizations(["b", "a"]);
    Template::leaf(subject, now(), DAY)
        .unwrap()
        .with_names(AlternativeNames::of(names))
        .with_usages([Usage::Server, Usage::Client])
}

#[test]
fn what_is_written_is_read_back() {
    for algorithm in EncryptionAlgorithm::ALL {
        let (certificate, key) = authority(algorithm, "kubernetes");
        let read = PrivateKey::from_pem(key.to_pem().unwrap().expose()).unwrap();
        assert_eq!(read.public_key(), key.public_key());
        assert_eq!(key.public_key().algorithm(), algorithm.as_str());
        assert_eq!(PublicKey::from_pem(&key.public_key().to_pem()).unwrap(), *key.public_key());
        assert_eq!(Certificate::from_pem(&certificate.to_pem()).unwrap(), certificate);

        let leaf_key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
        let template = server(&["b.test", "a.test", "10.0.0.1"]);
        let leaf = template.signed_by(leaf_key.public_key(), &certificate, &key).unwrap();
        assert_eq!(leaf.subject().common_name, "server");
        assert_eq!(leaf.issuer().common_name, "kubernetes");
        assert_eq!(leaf.names().dns, ["a.test", "b.test"]);
        assert_eq!(leaf.usages(), [Usage::Server, Usage::Client]);
        assert_eq!(leaf.not_after(), now() + DAY);
        assert_eq!(leaf.not_before(), now() - super::BACKDATE);
        assert!(!leaf.is_ca() && certificate.is_ca() && certificate.is_self_signed());
        let found = verify::leaf(&leaf, &[], Some(leaf_key.public_key()), &certificate, &template, now());
        assert_eq!(found, []);
    }
}

#[test]
fn what_is_wrong_is_found() {
    let (certificate, key) = authority(EncryptionAlgorithm::EcdsaP256, "ca");
    let (impostor, _) = authority(EncryptionAlgorithm::EcdsaP256, "ca");
    let template = server(&["a.test"]);
    let leaf = template.signed_by(key.public_key(), &certificate, &key).unwrap();

    let check = |authority: &Certificate, template: &Template, now| {
        verify::leaf(&leaf, &[], Some(key.public_key()), authority, template, now)
    };
    assert!(matches!(check(&impostor, &template, now())[..], [Problem::NotSigned { .. }]));
    assert!(matches!(check(&certificate, &template, now() + DAY * 2)[..], [Problem::Expired(_)]));
    assert!(matches!(check(&certificate, &template, now() - DAY)[..], [Problem::NotYetValid(_)]));
    let more = server(&["a.test", "b.test", "::1"]);
    let missing = vec!["b.test".to_owned(), "::1".to_owned()];
    assert_eq!(check(&certificate, &more, now()), [Problem::MissingNames(missing)]);
    let other = Template { subject: Subject::new("other"), ..template.clone() };
    assert!(matches!(check(&certificate, &other, now())[..], [Problem::OtherSubject { .. }]));

    let other_key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    let found = verify::leaf(&leaf, &[], Some(other_key.public_key()), &certificate, &template, now());
    assert_eq!(found, [Problem::OtherKey]);
    assert_eq!(verify::authority(&leaf, None, now()), [Problem::NotAuthority]);
}

#[test]
fn a_chain_leads_to_its_root() {
    let (root, root_key) = authority(EncryptionAlgorithm::EcdsaP384, "root");
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    let middle = Template::authority("middle", now(), DAY).unwrap();
    let middle = middle.signed_by(key.public_key(), &root, &root_key).unwrap();
    let leaf = server(&[]).signed_by(key.public_key(), &middle, &key).unwrap();
    assert!(verify::is_signed(&leaf, std::slice::from_ref(&middle), &root));
    assert!(!verify::is_signed(&leaf, &[], &root));
    // A certificate that is not a CA signs nothing, whatever its key.
    assert!(!verify::is_signed(&leaf, std::slice::from_ref(&leaf), &root));
}

#[test]
fn a_changed_certificate_is_not_signed() {
    let (certificate, key) = authority(EncryptionAlgorithm::Rsa2048, "ca");
    let leaf = server(&["a.test"]).signed_by(key.public_key(), &certificate, &key).unwrap();
    let mut der = leaf.as_der().to_vec();
    let place = der.windows(6).position(|window| window == b"a.test").unwrap();
    der[place] = b'b';
    let changed = Certificate::from_der(&der).unwrap();
    assert_eq!(changed.names().dns, ["b.test"]);
    assert!(!verify::is_signed(&changed, &[], &certificate));
}

/// RFC 5280, 4.2: a certificate with an unknown critical extension must not be used.
#[test]
fn what_may_not_be_passed_over_is_not() {
    let (certificate, key) = authority(EncryptionAlgorithm::EcdsaP256, "ca");
    let template = server(&["a.test"]);
    let with = |id: &str| {
        let extension = Extension {
            id: id.parse().unwrap(),
            critical: true,
            value: der::asn1::OctetString::new(vec![5, 0]).unwrap(),
        };
        template.signed_with(key.public_key(), &certificate, &key, vec![extension]).unwrap()
    };
    // Constraints of names are TLS' business.
    assert!(verify::is_signed(&with("2.5.29.30"), &[], &certificate));
    assert!(!verify::is_signed(&with("1.2.3.4"), &[], &certificate));
}

#[test]
fn requests_prove_that_their_sender_has_the_key() {
    for algorithm in EncryptionAlgorithm::ALL {
        let key = PrivateKey::generate(algorithm).unwrap();
        let names = AlternativeNames::of(["node.test", "10.0.0.1"]);
        let request = Request::new(&Subject::new("node"), &names, &key).unwrap();
        let read = Request::from_pem(&request.to_pem()).unwrap();
        assert_eq!((read.subject(), read.names()), (&Subject::new("node"), &names));
        let mut der = request.as_der().to_vec();
        let place = der.windows(4).position(|window| window == b"node").unwrap();
        der[place] = b'm';
        assert!(matches!(Request::from_der(&der), Err(Error::BadSignature(_))));
    }
}

#[test]
fn a_request_becomes_a_certificate() {
    let (certificate, key) = authority(EncryptionAlgorithm::EcdsaP256, "ca");
    let own = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    let request = Request::new(&Subject::new("client"), &AlternativeNames::default(), &own).unwrap();
    let template =
        Template::leaf(request.subject().clone(), now(), DAY).unwrap().with_usages([Usage::Client]);
    let signed = template.signed_by(request.public_key(), &certificate, &key).unwrap();
    assert_eq!(signed.public_key(), own.public_key());
}

#[test]
fn what_nobody_could_use_is_not_made() {
    let (certificate, key) = authority(EncryptionAlgorithm::EcdsaP256, "ca");
    let (_, other_key) = authority(EncryptionAlgorithm::EcdsaP256, "ca");
    let refused = |template: &Template, key: &PrivateKey, authority: &Certificate| {
        assert!(matches!(template.signed_by(key.public_key(), authority, key), Err(Error::Template(_))));
    };
    let template = server(&[]);
    refused(&template, &other_key, &certificate);
    refused(&Template { usages: Vec::new(), ..template.clone() }, &key, &certificate);
    refused(&Template { subject: Subject::new(""), ..template.clone() }, &key, &certificate);
    refused(&Template { not_after: now() - DAY, ..template.clone() }, &key, &certificate);
    let leaf = template.signed_by(key.public_key(), &certificate, &key).unwrap();
    refused(&template, &key, &leaf);
}

#[test]
fn a_successor_keeps_all_but_key_and_time() {
    let (certificate, key) = authority(EncryptionAlgorithm::EcdsaP256, "ca");
    let leaf = server(&["a.test"]).signed_by(key.public_key(), &certificate, &key).unwrap();
    let later = now() + DAY * 3;
    assert!(renew::is_due(&leaf, now(), DAY) && !renew::is_due(&leaf, now(), DAY / 2));
    let template = renew::successor(&leaf, later, DAY).unwrap();
    assert_eq!((&template.subject, &template.names), (leaf.subject(), leaf.names()));
    assert_eq!((template.usages.clone(), template.not_after), (leaf.usages(), later + DAY));
    assert!(renew::successor(&certificate, later, DAY).is_err());
}

#[test]
fn what_is_left_is_said_as_kubeadm_says_it() {
    let (certificate, _) = authority(EncryptionAlgorithm::EcdsaP256, "ca");
    let left = |now| Expiry::of("ca", &certificate, None, false, now).remaining();
    assert_eq!(left(now()), "10y");
    assert_eq!(left(now() + DAY * 3600), "50d");
    assert_eq!(left(now() + DAY * 3650 - Duration::from_secs(90)), "1m");
    assert_eq!(left(now() + DAY * 3651), "<invalid>");
}

#[test]
fn the_time_of_a_century_is_written() {
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    let long = Template::authority("ca", now(), DAY * 36_500).unwrap().self_signed(&key).unwrap();
    assert_eq!(long.not_after(), now() + DAY * 36_500);
    // RFC 5280: the year has two digits until 2049.
    for (end, written) in [
        ("2049-12-31T23:59:59Z", "\x17\x0d491231235959Z"),
        ("2050-01-01T00:00:00Z", "\x18\x0f20500101000000Z"),
    ] {
        let template =
            Template { not_after: end.parse().unwrap(), ..Template::authority("ca", now(), DAY).unwrap() };
        let certificate = template.self_signed(&key).unwrap();
        let found = certificate.as_der().windows(written.len()).any(|part| part == written.as_bytes());
        assert!(found, "{end}");
    }
}

#[test]
fn pins_are_digests_of_public_keys() {
    let (certificate, _) = authority(EncryptionAlgorithm::Rsa2048, "ca");
    let pin = Pin::of(certificate.public_key());
    assert_eq!(pin.to_string().parse::<Pin>().unwrap(), pin);
    assert!(pin.fits(&certificate));
    assert!(!pin.fits(&authority(EncryptionAlgorithm::Rsa2048, "ca").0));
    for text in ["", "sha256", "sha256:00", "md5:00", &pin.to_string()[7..], &format!("{pin}0")] {
        assert!(text.parse::<Pin>().is_err(), "{text}");
    }
}

#[test]
fn no_output_shows_a_key() {
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    assert_eq!(format!("{key:?}"), "PrivateKey(ECDSA-P256)");
    assert!(!format!("{:?}", key.to_pem().unwrap()).contains("BEGIN"));
}
