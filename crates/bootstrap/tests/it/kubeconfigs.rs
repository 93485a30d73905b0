use slipway_bootstrap::{
    configuration::EncryptionAlgorithm,
    kubeconfig::{Credentials, Kubeconfig, client_template, inventory},
    pki::{Certificate, PrivateKey, Request},
};

use crate::support::{Place, config, display, run};

/// kubeadm's kubeconfigs, made again from their own certificates and keys, are the same bytes.
#[test]
fn kubeconfigs_are_kubeadms() {
    let mut place = Place::new(EncryptionAlgorithm::EcdsaP256);
    place.configuration.cluster.control_plane_endpoint = Some("[fd00::1]:7443".parse().unwrap());
    place.configuration.cluster.name = "other: name".to_owned();
    let more = "controlPlaneEndpoint: \"[fd00::1]:7443\"\nclusterName: \"other: name\"\n";
    let file = place.write("config.yaml", &config(&place, more));
    let folder = place.path("");
    run(&["init", "phase", "certs", "all", "--config", display(&file)]);
    run(&[
        "init",
        "phase",
        "kubeconfig",
        "all",
        "--config",
        display(&file),
        "--kubeconfig-dir",
        display(&folder),
    ]);
    let authority = Certificate::from_pem(&place.text("pki/ca.crt")).unwrap();
    let authority_key = PrivateKey::from_pem(&place.text("pki/ca.key")).unwrap();
    for entry in inventory::KUBECONFIGS {
        let text = place.text(entry.file);
        let theirs = Kubeconfig::parse(&text).unwrap();
        let subject = entry.subject(&place.configuration);
        let server = entry.server(&place.configuration).url();
        let now = jiff::Timestamp::now();
        let problems = theirs.check(&server, std::slice::from_ref(&authority), None, Some(&subject), now);
        assert_eq!(problems, [], "{}", entry.file);

        let (certificate, key) = (theirs.certificate().unwrap().unwrap(), theirs.key().unwrap().unwrap());
        let credentials =
            Credentials::Certificate { certificate: certificate.to_pem(), key: key.to_pem().unwrap() };
        let cluster = &place.configuration.cluster;
        let ours =
            Kubeconfig::new(&cluster.name, &server, &authority.to_pem(), &subject.common_name, &credentials);
        assert_eq!(ours.to_yaml().expose(), text, "{}", entry.file);

        let validity = cluster.certificate_validity_period.get();
        let mut template = client_template(subject, &authority, now, validity).unwrap();
        assert!((template.not_after.as_second() - certificate.not_after().as_second()).abs() < 600);
        template.not_after = certificate.not_after();
        let again = template.signed_by(key.public_key(), &authority, &authority_key).unwrap();
        assert_eq!(
            crate::certificates::content(&again),
            crate::certificates::content(&certificate),
            "{}",
            entry.file
        );
    }
}

/// With a CA elsewhere kubeadm writes kubeconfigs without certificates, and requests for these.
#[test]
fn kubeconfigs_that_wait_for_their_certificates_are_kubeadms() {
    let place = Place::new(EncryptionAlgorithm::EcdsaP256);
    let file = place.write("config.yaml", &config(&place, ""));
    let folder = place.path("");
    run(&["certs", "generate-csr", "--config", display(&file), "--kubeconfig-dir", display(&folder)]);
    for entry in inventory::KUBECONFIGS {
        let text = place.text(entry.file);
        let key = Kubeconfig::parse(&text).unwrap().key().unwrap().unwrap();
        let subject = entry.subject(&place.configuration);
        let server = entry.server(&place.configuration).url();
        let credentials = Credentials::Key(key.to_pem().unwrap());
        let ours = Kubeconfig::new("kubernetes", &server, "", &subject.common_name, &credentials);
        assert_eq!(ours.to_yaml().expose(), text, "{}", entry.file);
        let request = Request::from_pem(&place.text(&format!("{}.csr", entry.file))).unwrap();
        assert_eq!((request.subject(), request.public_key()), (&subject, key.public_key()));
    }
}
