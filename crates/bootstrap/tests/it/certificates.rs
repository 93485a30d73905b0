use der::{Decode, Encode, asn1::Any};
use slipway_bootstrap::{
    configuration::EncryptionAlgorithm,
    pki::{AlternativeNames, Certificate, PrivateKey, Request, Subject, Template, inventory},
};

use crate::support::{Place, config, display, run};

/// The parts of a DER sequence, each with its header.
fn parts(der: &[u8]) -> Vec<Vec<u8>> {
    Vec::<Any>::from_der(der).unwrap().iter().map(|part| part.to_der().unwrap()).collect()
}

/// The signed content of a certificate, without its serial number.
pub fn content(certificate: &Certificate) -> Vec<Vec<u8>> {
    let mut content = parts(&parts(certificate.as_der())[0]);
    content.remove(1);
    content
}

/// kubeadm makes everything; with its keys and its times we make it again: only serial numbers differ.
fn same_as_kubeadm(mut place: Place, more: &str) {
    let file = place.write("config.yaml", &config(&place, more));
    run(&["init", "phase", "certs", "all", "--config", display(&file)]);
    let key = |name: &str| {
        let text = place.text(&format!("pki/{name}.key"));
        let key = PrivateKey::from_pem(&text).unwrap();
        assert_eq!(key.to_pem().unwrap().expose(), text, "{name}.key");
        key
    };
    let certificate = |name: &str| {
        let text = place.text(&format!("pki/{name}.crt"));
        let certificate = Certificate::from_pem(&text).unwrap();
        assert_eq!(certificate.to_pem(), text, "{name}.crt");
        certificate
    };
    for entry in inventory::certificates(&place.configuration) {
        let theirs = certificate(entry.base_name);
        let own_key = key(entry.base_name);
        let template = Template {
            not_before: theirs.not_before(),
            not_after: theirs.not_after(),
            ..entry.template(&place.configuration, jiff::Timestamp::now()).unwrap()
        };
        let ours = match entry.authority_entry() {
            None => template.self_signed(&own_key).unwrap(),
            Some(authority) => {
                let (authority, authority_key) = (certificate(authority.base_name), key(authority.base_name));
                template.signed_by(own_key.public_key(), &authority, &authority_key).unwrap()
            }
        };
        assert_eq!(content(&ours), content(&theirs), "{}", entry.name);
        let validity = theirs.not_after().duration_since(theirs.not_before());
        let expected = entry.validity(&place.configuration) + slipway_bootstrap::pki::BACKDATE;
        assert_eq!(validity.unsigned_abs(), expected, "{}", entry.name);
    }
    assert_eq!(key("sa").public_key().to_pem(), place.text("pki/sa.pub"));
    place.configuration.cluster.certificates_dir.clear();
}

#[test]
fn certificates_are_kubeadms_rsa() {
    same_as_kubeadm(Place::new(EncryptionAlgorithm::Rsa2048), "");
}

#[test]
fn certificates_are_kubeadms_rsa_3072() {
    same_as_kubeadm(Place::new(EncryptionAlgorithm::Rsa3072), "");
}

#[test]
fn certificates_are_kubeadms_rsa_4096() {
    same_as_kubeadm(Place::new(EncryptionAlgorithm::Rsa4096), "");
}

#[test]
fn certificates_are_kubeadms_p256_with_every_kind_of_name() {
    let mut place = Place::new(EncryptionAlgorithm::EcdsaP256);
    let cluster = &mut place.configuration.cluster;
    let sans = ["b.example.test", "*.a.example.test", "fd00::1", "192.0.2.7", "10.0.0.11", "b.example.test"];
    cluster.api_server.cert_sans = sans.map(ToOwned::to_owned).to_vec();
    cluster.control_plane_endpoint = Some("api.example.test:6443".parse().unwrap());
    cluster.networking.service_subnet = "fd00:10::/112,10.96.0.0/12".to_owned();
    cluster.networking.dns_domain = "k8s.example".to_owned();
    let slipway_bootstrap::configuration::Etcd::Local(etcd) = &mut cluster.etcd else { unreachable!() };
    etcd.server_cert_sans = vec!["etcd.example.test".to_owned()];
    etcd.peer_cert_sans = vec!["192.0.2.8".to_owned()];
    place.configuration.node.advertise_address = "fd00::11".parse().unwrap();
    // Its own CA's name: such a certificate does not name its issuer's key.
    place.configuration.node.name = "etcd-ca".to_owned();
    same_as_kubeadm(
        place,
        "controlPlaneEndpoint: api.example.test:6443\n\
         apiServer: {certSANs: [b.example.test, \"*.a.example.test\", \"fd00::1\", 192.0.2.7, 10.0.0.11, b.example.test]}\n\
         networking: {serviceSubnet: \"fd00:10::/112,10.96.0.0/12\", dnsDomain: k8s.example}\n\
         etcd: {local: {dataDir: /var/lib/etcd, serverCertSANs: [etcd.example.test], peerCertSANs: [192.0.2.8]}}\n",
    );
}

#[test]
fn certificates_are_kubeadms_p384_with_other_times() {
    let mut place = Place::new(EncryptionAlgorithm::EcdsaP384);
    place.configuration.cluster.certificate_validity_period = "90m".parse().unwrap();
    // Beyond 2050, where times are written in another form.
    place.configuration.cluster.ca_certificate_validity_period = "500000h".parse().unwrap();
    same_as_kubeadm(place, "certificateValidityPeriod: 90m\ncaCertificateValidityPeriod: 500000h\n");
}

/// kubeadm makes keys and requests; with its keys ours are the same.
#[test]
fn requests_are_kubeadms() {
    for algorithm in [EncryptionAlgorithm::Rsa2048, EncryptionAlgorithm::EcdsaP384] {
        let place = Place::new(algorithm);
        let file = place.write("config.yaml", &config(&place, ""));
        let folder = place.path("");
        run(&["certs", "generate-csr", "--config", display(&file), "--kubeconfig-dir", display(&folder)]);
        let check = |name: &str, key: &PrivateKey, subject: &Subject, names: &AlternativeNames| {
            let theirs = Request::from_pem(&place.text(name)).unwrap();
            let ours = Request::new(subject, names, key).unwrap();
            assert_eq!((theirs.subject(), theirs.names()), (subject, names), "{name}");
            assert_eq!(parts(ours.as_der())[0], parts(theirs.as_der())[0], "{name}");
        };
        for entry in inventory::certificates(&place.configuration).filter(|entry| !entry.is_authority()) {
            let key = PrivateKey::from_pem(&place.text(&format!("pki/{}.key", entry.base_name))).unwrap();
            let (subject, names) = (entry.subject(&place.configuration), entry.names(&place.configuration));
            check(&format!("pki/{}.csr", entry.base_name), &key, &subject, &names);
        }
    }
}
