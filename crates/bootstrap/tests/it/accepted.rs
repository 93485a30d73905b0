use jiff::Timestamp;
use slipway_bootstrap::{
    configuration::{EncryptionAlgorithm, Etcd, ExternalEtcd},
    kubeconfig::{self, Credentials, Kubeconfig, client_certificate},
    pki::{Certificate, PrivateKey, inventory, renew, verify},
};

use crate::support::{Place, config, display, run, text, try_run};

fn certificate(place: &Place, name: &str) -> Certificate {
    Certificate::from_pem(&place.text(&format!("pki/{name}.crt"))).unwrap()
}

fn key(place: &Place, name: &str) -> PrivateKey {
    PrivateKey::from_pem(&place.text(&format!("pki/{name}.key"))).unwrap()
}

/// Makes every certificate and kubeconfig in a folder as Slipway does.
fn make(place: &Place) {
    let (now, configuration) = (Timestamp::now(), &place.configuration);
    let algorithm = configuration.cluster.key_algorithm();
    for entry in inventory::certificates(configuration) {
        let own_key = PrivateKey::generate(algorithm).unwrap();
        let template = entry.template(configuration, now).unwrap();
        let made = match entry.authority_entry().map(|authority| authority.base_name) {
            None => template.self_signed(&own_key).unwrap(),
            Some(authority) => template
                .signed_by(own_key.public_key(), &certificate(place, authority), &key(place, authority))
                .unwrap(),
        };
        place.write(&format!("pki/{}.crt", entry.base_name), &made.to_pem());
        place.write(&format!("pki/{}.key", entry.base_name), own_key.to_pem().unwrap().expose());
    }
    let accounts = PrivateKey::generate(algorithm).unwrap();
    place.write("pki/sa.key", accounts.to_pem().unwrap().expose());
    place.write("pki/sa.pub", &accounts.public_key().to_pem());
    let (authority, authority_key) = (certificate(place, "ca"), key(place, "ca"));
    for entry in kubeconfig::inventory::KUBECONFIGS {
        let subject = entry.subject(configuration);
        let validity = configuration.cluster.certificate_validity_period.get();
        let credentials =
            client_certificate(&subject, algorithm, &authority, &authority_key, now, validity).unwrap();
        let server = entry.server(configuration).url();
        let name = &configuration.cluster.name;
        let made = Kubeconfig::new(name, &server, &authority.to_pem(), &subject.common_name, &credentials);
        place.write(entry.file, made.to_yaml().expose());
    }
}

/// kubeadm finds every file of Slipway in its place and keeps it.
fn accepted(place: &Place, more: &str) {
    make(place);
    let file = place.write("config.yaml", &config(place, more));
    let said = run(&["init", "phase", "certs", "all", "--config", display(&file)]);
    assert!(!said.contains("Generating"), "{said}");
    for entry in inventory::certificates(&place.configuration) {
        let name = entry.base_name;
        assert!(said.contains(&format!("Using existing {name} certificate")), "{name}: {said}");
    }
    assert!(said.contains("Using the existing \"sa\" key"), "{said}");
    assert!(!said.contains("WARNING"), "{said}");

    let folder = place.path("");
    let said = run(&[
        "init",
        "phase",
        "kubeconfig",
        "all",
        "--config",
        display(&file),
        "--kubeconfig-dir",
        display(&folder),
    ]);
    assert_eq!(said.matches("Using existing kubeconfig file").count(), 5, "{said}");
    assert!(!said.contains("unexpected API Server URL"), "{said}");

    let table = run(&["certs", "check-expiration", "--config", display(&file), "-o", "json"]);
    let table: serde_json::Value = serde_json::from_str(&table[table.find('{').unwrap()..]).unwrap();
    let named = |list: &str| -> Vec<(String, String)> {
        let text = |line: &serde_json::Value, field: &str| line[field].as_str().unwrap().to_owned();
        let lines = table[list].as_array().unwrap().iter();
        // The kubeconfigs of this host, which has none, are missing.
        let lines = lines.filter(|line| line["missing"] != true);
        lines.map(|line| (text(line, "name"), text(line, "expirationDate"))).collect()
    };
    for entry in inventory::certificates(&place.configuration) {
        let lists = if entry.is_authority() { "certificateAuthorities" } else { "certificates" };
        let expected = (entry.name.to_owned(), certificate(place, entry.base_name).not_after().to_string());
        assert!(named(lists).contains(&expected), "{expected:?} in {table}");
    }
}

#[test]
fn kubeadm_keeps_what_is_there_rsa() {
    accepted(&Place::new(EncryptionAlgorithm::Rsa2048), "");
}

#[test]
fn kubeadm_keeps_what_is_there_rsa_4096() {
    accepted(&Place::new(EncryptionAlgorithm::Rsa4096), "");
}

#[test]
fn kubeadm_keeps_what_is_there_p256() {
    let mut place = Place::new(EncryptionAlgorithm::EcdsaP256);
    place.configuration.cluster.control_plane_endpoint = Some("api.example.test:6443".parse().unwrap());
    place.configuration.cluster.api_server.cert_sans =
        vec!["*.example.test".to_owned(), "fd00::1".to_owned()];
    accepted(
        &place,
        "controlPlaneEndpoint: api.example.test:6443\napiServer: {certSANs: [\"*.example.test\", \"fd00::1\"]}\n",
    );
}

#[test]
fn kubeadm_keeps_what_is_there_p384_with_etcd_elsewhere() {
    let mut place = Place::new(EncryptionAlgorithm::EcdsaP384);
    place.configuration.cluster.etcd = Etcd::External(ExternalEtcd {
        endpoints: vec!["http://10.0.0.9:2379".to_owned()],
        ca_file: String::new(),
        cert_file: String::new(),
        key_file: String::new(),
    });
    let external = "{endpoints: [\"http://10.0.0.9:2379\"], caFile: \"\", certFile: \"\", keyFile: \"\"}";
    accepted(&place, &format!("etcd: {{external: {external}}}\n"));
}

#[test]
fn kubeadm_refuses_what_we_refuse() {
    let place = Place::new(EncryptionAlgorithm::EcdsaP256);
    make(&place);
    let (configuration, now) = (&place.configuration, Timestamp::now());
    // A CA of the same name with another key: a check of names only does not notice it.
    let impostor_key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    let authority = inventory::certificate("ca").unwrap();
    let impostor = authority.template(configuration, now).unwrap().self_signed(&impostor_key).unwrap();
    let template = inventory::certificate("apiserver").unwrap().template(configuration, now).unwrap();
    let forged = template.signed_by(impostor_key.public_key(), &impostor, &impostor_key).unwrap();
    place.write("pki/apiserver.crt", &forged.to_pem());
    place.write("pki/apiserver.key", impostor_key.to_pem().unwrap().expose());

    let found = verify::leaf(&forged, &[], None, &certificate(&place, "ca"), &template, now);
    assert!(matches!(found[..], [verify::Problem::NotSigned { .. }]), "{found:?}");
    let file = place.write("config.yaml", &config(&place, ""));
    let output = try_run(&["init", "phase", "certs", "apiserver", "--config", display(&file)]);
    assert!(!output.status.success() && text(&output).contains("not signed by CA"), "{}", text(&output));
}

/// With CAs whose keys are elsewhere, kubeadm accepts Slipway's files. It looks for kubeconfigs at fixed
/// paths, so it gets a separate root; changing the root needs root permissions.
#[test]
fn kubeadm_takes_cas_without_their_keys() {
    let place = Place::new(EncryptionAlgorithm::EcdsaP256);
    make(&place);
    for name in ["ca", "front-proxy-ca", "etcd/ca"] {
        std::fs::remove_file(place.path(&format!("pki/{name}.key"))).unwrap();
    }
    let folder = place.path("root/etc/kubernetes");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::rename(place.path("pki"), folder.join("pki")).unwrap();
    for entry in kubeconfig::inventory::KUBECONFIGS {
        std::fs::rename(place.path(entry.file), folder.join(entry.file)).unwrap();
    }
    let documents =
        config(&place, "").replace(&place.configuration.cluster.certificates_dir, "/etc/kubernetes/pki");
    place.write("root/config.yaml", &documents);
    let root = place.path("root");
    let said =
        run(&["--rootfs", display(&root), "init", "phase", "certs", "all", "--config", "/config.yaml"]);
    assert!(!said.contains("Generating"), "{said}");
    let said =
        run(&["--rootfs", display(&root), "init", "phase", "kubeconfig", "all", "--config", "/config.yaml"]);
    assert!(!said.contains("Writing"), "{said}");
}

/// A renewed certificate is accepted like the first.
#[test]
fn kubeadm_takes_what_we_renewed() {
    let place = Place::new(EncryptionAlgorithm::EcdsaP256);
    make(&place);
    let (old, now) = (certificate(&place, "apiserver"), Timestamp::now());
    let own_key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    let template = renew::successor(&old, now, std::time::Duration::from_secs(3600)).unwrap();
    let renewed =
        template.signed_by(own_key.public_key(), &certificate(&place, "ca"), &key(&place, "ca")).unwrap();
    place.write("pki/apiserver.crt", &renewed.to_pem());
    place.write("pki/apiserver.key", own_key.to_pem().unwrap().expose());
    let kubeconfig = Kubeconfig::parse(&place.text("admin.conf")).unwrap();
    let Credentials::Certificate { certificate: client, key: client_key } = client_certificate(
        kubeconfig.certificate().unwrap().unwrap().subject(),
        EncryptionAlgorithm::EcdsaP256,
        &certificate(&place, "ca"),
        &key(&place, "ca"),
        now,
        std::time::Duration::from_secs(3600),
    )
    .unwrap() else {
        unreachable!()
    };
    place.write("admin.conf", kubeconfig.with_certificate(&client, &client_key).unwrap().to_yaml().expose());
    let file = place.write("config.yaml", &config(&place, ""));
    let said = run(&["init", "phase", "certs", "apiserver", "--config", display(&file)]);
    assert!(said.contains("Using existing apiserver"), "{said}");
    let folder = place.path("");
    run(&[
        "init",
        "phase",
        "kubeconfig",
        "admin",
        "--config",
        display(&file),
        "--kubeconfig-dir",
        display(&folder),
    ]);
}
