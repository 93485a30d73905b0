//! Laws for every input.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use proptest::prelude::*;
use slipway_bootstrap::{
    certificate_upload::CertificateKey,
    configuration::{Detected, EncryptionAlgorithm, Endpoint, GoDuration},
    discovery, kubeadm,
    kubeconfig::Kubeconfig,
    pki::{AlternativeNames, Certificate, PrivateKey, Request, Subject, Template, Usage, verify},
    token::{Token, group_of_node, is_group, node_of_groups},
};
use slipway_spec::source::SourceFile;

/// Whatever bit of a certificate is changed: it cannot be read any more, or it is not signed any more.
#[test]
fn no_bit_of_a_certificate_can_be_changed() {
    let now = Timestamp::now();
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    let authority =
        Template::authority("ca", now, Duration::from_secs(3600)).unwrap().self_signed(&key).unwrap();
    let template = Template::leaf(Subject::new("a"), now, Duration::from_secs(60))
        .unwrap()
        .with_names(AlternativeNames::of(["a.test", "10.0.0.1"]))
        .with_usages([Usage::Server]);
    let leaf = template.signed_by(key.public_key(), &authority, &key).unwrap();
    assert!(verify::is_signed(&leaf, &[], &authority));
    let request = Request::new(&Subject::new("a"), &AlternativeNames::of(["a.test"]), &key).unwrap();
    for (der, check) in [
        (leaf.as_der(), &|der: &[u8]| {
            Certificate::from_der(der).is_ok_and(|changed| verify::is_signed(&changed, &[], &authority))
        }),
        (request.as_der(), (&|der: &[u8]| Request::from_der(der).is_ok()) as &dyn Fn(&[u8]) -> bool),
    ] as [(&[u8], &dyn Fn(&[u8]) -> bool); 2]
    {
        for place in 0..der.len() {
            for bit in 0..8 {
                let mut changed = der.to_vec();
                changed[place] ^= 1 << bit;
                assert!(!check(&changed), "byte {place}, bit {bit}");
            }
        }
        for length in 0..der.len() {
            assert!(!check(&der[..length]), "cut to {length}");
        }
    }
}

proptest! {
    #[test]
    fn nothing_that_is_read_can_stop_the_program(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "\\PC{0,200}") {
        let _ = Certificate::from_der(&bytes);
        let _ = Request::from_der(&bytes);
        let _ = PrivateKey::from_pem(&text);
        let _ = Certificate::chain_from_pem(&text);
        let _ = Kubeconfig::parse(&text);
        let _ = text.parse::<Token>();
        let _ = text.parse::<CertificateKey>();
        let _ = text.parse::<Endpoint>();
        let _ = text.parse::<GoDuration>();
        let _ = kubeadm::read(&[Arc::new(SourceFile::new("x", text.as_str()))], &Detected::default());
    }

    #[test]
    fn documents_with_changed_letters_are_read_or_refused(place in 0_usize..2000, letter in "\\PC") {
        let mut configuration = slipway_bootstrap::configuration::Configuration::new(&Detected::default());
        configuration.cluster.networking.pod_subnet = "10.244.0.0/16".to_owned();
        configuration.node.taints = Some(Vec::new());
        let text = kubeadm::write(&configuration);
        let mut letters: Vec<String> = text.expose().chars().map(String::from).collect();
        let place = place % letters.len();
        letters[place] = letter;
        let reading =
            kubeadm::read(&[Arc::new(SourceFile::new("x", letters.concat()))], &Detected::default());
        prop_assert_eq!(reading.is_valid(), reading.diagnostics.iter().all(|found| found.severity != slipway_spec::diagnostic::Severity::Error));
        // With an error nothing is given that could be used by mistake.
        prop_assert!(reading.is_valid() || (reading.init.is_none() && reading.join.is_none()));
    }

    #[test]
    fn durations_are_read_as_they_are_printed(nanoseconds in 0_u64..i64::MAX as u64) {
        let duration = GoDuration::from(Duration::from_nanos(nanoseconds));
        prop_assert_eq!(duration.to_string().parse::<GoDuration>().unwrap(), duration);
    }

    #[test]
    fn a_bound_token_is_for_its_node(name in "[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?(\\.[a-z0-9]{1,10}){0,3}") {
        let group = group_of_node(&name);
        prop_assert!(is_group(&group));
        prop_assert_eq!(node_of_groups([group.as_str()]), Some(name));
    }

    #[test]
    fn a_signature_is_for_one_text_and_one_token(one in "\\PC{0,50}", other in "\\PC{0,50}") {
        let token: Token = "abcdef.0123456789abcdef".parse().unwrap();
        let signed = discovery::signature(&one, &token);
        prop_assert_eq!(discovery::is_signature(&signed, &other, &token), one == other);
    }

    #[test]
    fn what_is_sealed_is_opened(file in proptest::collection::vec(any::<u8>(), 0..300)) {
        let key = CertificateKey::generate().unwrap();
        let sealed = key.seal(&file).unwrap();
        let opened = key.open("x", &sealed).unwrap();
        prop_assert_eq!(opened.as_slice(), file.as_slice());
    }
}
