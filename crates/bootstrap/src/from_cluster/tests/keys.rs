//! Keys that are rotated, and tokens that end.

use jiff::{SignedDuration, Timestamp};

use super::*;

#[test]
fn the_token_ends_and_is_renewed_for_those_who_join() {
    let time = |text: &str| text.parse::<Timestamp>().unwrap();
    let end = |pinned: Option<&str>, now: &str| Placement::end_of_join_token(pinned.map(time), time(now));
    let first = end(None, "2026-03-01T10:00:00Z").unwrap();
    assert_eq!(first, time("2026-03-03T00:00:00Z"));
    assert_eq!(end(None, "2026-03-01T23:59:59Z"), Some(first), "plans of a day are the same");
    assert_eq!(
        end(Some("2026-03-03T00:00:00Z"), "2026-03-02T21:00:00Z"),
        Some(first),
        "it lasts long enough"
    );
    // A join that is planned shortly before the token's end, or after it, gets another token.
    for now in ["2026-03-02T22:30:00Z", "2026-03-04T00:00:00Z"] {
        let later = end(Some("2026-03-03T00:00:00Z"), now).unwrap();
        let left = later.duration_since(time(now));
        assert!(left >= SignedDuration::from_hours(24) && left <= SignedDuration::from_hours(48), "{now}");
    }
    let secret = |placement: &Placement| {
        let resources = expand(&cluster("elected: {}"), placement, &[]).unwrap().resources;
        let secret =
            resources.into_iter().find(|desired| desired.address.name().contains("bootstrap-token-"));
        secret.unwrap()
    };
    let placement = Placement { join_token_ends: Some(first), ..placement(1) };
    let made = secret(&placement);
    let ends =
        made.attributes.get("manifest").and_then(|manifest| manifest.get("stringData")?.get("expiration"));
    assert_eq!(ends, Some(&Value::from("2026-03-03T00:00:00Z")));
    assert!(made.lifecycle.on_demand, "nothing is renewed when nobody joins");
    let resources = expand(&cluster("elected: {}"), &placement, &[]).unwrap().resources;
    assert!(stands_on(&resources, "kubelet_credentials.cp-1/kubelet").contains(&made.address.to_string()));
    // A token without an end gets one, also when no machine joins.
    let endless = Placement { is_join_token_endless: true, ..placement };
    assert!(!secret(&endless).lifecycle.on_demand);
}

#[test]
fn a_new_encryption_key_is_second_then_first_then_alone() {
    let mut stage = Rotation::default();
    let mut seen = Vec::new();
    for _ in 0..4 {
        let resources = rotated(RotatedKey::EncryptionKey, stage);
        let file = kept_by(find(&resources, "file.cp-1/encryption-configuration"));
        let keys = resources.iter().filter(|desired| desired.address.kind() == "encryption_key");
        seen.push((file, keys.count()));
        let objects = resources.iter().find(|desired| desired.address.kind() == "encrypted_objects");
        assert_eq!(objects.is_some(), stage.stage != Stage::Rest);
        if let Some(objects) = objects {
            // The objects are written when every API server uses the configuration.
            let before = stands_on(&resources, &objects.address.to_string());
            for machine in ["cp-0", "cp-1", "cp-2"] {
                assert!(before.contains(&format!("api_server_encryption.{machine}/kube-apiserver")));
                assert!(before.contains(&format!("file.{machine}/encryption-configuration")));
            }
            let key = if stage.stage == Stage::Used { "at-rest-2" } else { "at-rest" };
            assert!(before.contains(&format!("encryption_key.{key}")), "{before:?}");
        }
        stage = stage.next();
    }
    let expected = [
        ("encryption_key.at-rest#configuration", 1),
        ("encryption_configuration.at-rest-2-added#configuration", 2),
        ("encryption_configuration.at-rest-2-used#configuration", 2),
        ("encryption_key.at-rest-2#configuration", 1),
    ];
    assert_eq!(seen, expected.map(|(keeper, keys)| (keeper.to_owned(), keys)));
}

#[test]
fn pods_follow_the_keys_of_service_accounts() {
    let unrotated = expand(&cluster("elected: {}"), &placement(3), &[]).unwrap().resources;
    let inputs = |resources: &[Desired], pod: &str| {
        let pod = find(resources, &format!("static_pod.cp-1/{pod}"));
        pod.attributes.get("volatile_inputs").map(|inputs| format!("{inputs:?}")).unwrap_or_default()
    };
    assert!(!inputs(&unrotated, "kube-apiserver").contains("service-account-keys"));
    let mut stage = Rotation::default();
    let mut seen = Vec::new();
    for _ in 0..4 {
        let resources = rotated(RotatedKey::SaKey, stage);
        let private = kept_by(find(&resources, "file.cp-1/pki/sa.key"));
        let mut public = Vec::new();
        find(&resources, "file.cp-1/pki/sa.pub")
            .attributes
            .get("content")
            .unwrap()
            .for_each_reference(&mut |reference| public.push(reference.address.name().to_owned()));
        assert!(inputs(&resources, "kube-apiserver").contains("service-account-keys"));
        // It reads the key that signs, which the first stage does not change.
        let signer = inputs(&resources, "kube-controller-manager");
        assert_eq!(signer.contains("service-account-keys"), stage.used() > 1);
        seen.push((private, public.join(" ")));
        stage = stage.next();
    }
    let (old, new) =
        ("keypair.service-accounts#private_key_pem", "keypair.service-accounts-2#private_key_pem");
    let expected = [
        (old, "service-accounts"),
        (old, "service-accounts service-accounts-2"),
        (new, "service-accounts-2 service-accounts"),
        (new, "service-accounts-2"),
    ];
    assert_eq!(seen, expected.map(|(private, public)| (private.to_owned(), public.to_owned())));
}
