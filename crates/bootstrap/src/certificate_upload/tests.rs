use std::collections::BTreeMap;

use zeroize::Zeroizing;

use super::{CertificateKey, Error, open, seal, shared_files};
use crate::{
    configuration::{Configuration, Detected, EncryptionAlgorithm, Etcd, ExternalEtcd},
    pki::PrivateKey,
};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
/// Made with another implementation of AES-256-GCM: nonce, ciphertext, tag.
const ENTRY: &str =
    "000102030405060708090a0b2f67ba77aac5a17eff35feedd88a1919e6a58d6738bc3d2442a2cd9bd69d9d267b6ae9";

fn key() -> CertificateKey {
    KEY.parse().unwrap()
}

fn configuration() -> Configuration {
    Configuration::new(&Detected::default())
}

#[test]
fn opens_what_others_sealed() {
    let entry = crate::pki::hex::decode(ENTRY).unwrap();
    assert_eq!(key().open("ca.crt", &entry).unwrap().as_slice(), b"hello certificates\n");
    let mut changed = entry.clone();
    changed[20] ^= 1;
    assert_eq!(key().open("ca.crt", &changed), Err(Error::WrongKey("ca.crt".to_owned())));
    assert!(CertificateKey::generate().unwrap().open("ca.crt", &entry).is_err());
    assert!(key().open("ca.crt", &entry[..5]).is_err());
}

#[test]
fn seals_each_time_in_another_way() {
    let (one, other) = (key().seal(b"text").unwrap(), key().seal(b"text").unwrap());
    assert_ne!(one, other);
    assert_eq!(key().open("x", &one).unwrap().as_slice(), b"text");
}

#[test]
fn keys_are_64_digits() {
    assert_eq!(key().to_text().expose(), KEY);
    let made = CertificateKey::generate().unwrap();
    assert_eq!(made.to_text().expose().parse::<CertificateKey>().unwrap().bytes, made.bytes);
    for text in ["", "00", &KEY[1..], &format!("{KEY}00"), &KEY.replace('0', "g")] {
        assert_eq!(text.parse::<CertificateKey>().unwrap_err(), Error::Malformed);
    }
    assert_eq!(format!("{made:?}"), "CertificateKey");
}

#[test]
fn what_is_missing_has_an_empty_entry_and_makes_no_file() {
    let text = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap().to_pem().unwrap();
    let read = |path: &str| -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        Ok((path == "/etc/kubernetes/pki/sa.key").then(|| Zeroizing::new(text.expose().as_bytes().to_vec())))
    };
    let entries = seal(&configuration(), &key(), read).unwrap();
    assert_eq!(entries.len(), 8);
    assert_eq!(entries["etcd-ca.key"], b"");
    let files = open(&configuration(), &key(), &entries).unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!((files[0].path.as_str(), files[0].mode), ("/etc/kubernetes/pki/sa.key", 0o600));
    assert_eq!(files[0].content, text);

    let mut fewer = entries.clone();
    fewer.remove("etcd-ca.crt");
    assert_eq!(open(&configuration(), &key(), &fewer), Err(Error::Missing("etcd-ca.crt".to_owned())));
    let mut other = entries;
    other.insert("ca.crt".to_owned(), key().seal(b"nonsense").unwrap());
    assert_eq!(open(&configuration(), &key(), &other), Err(Error::Unknown("ca.crt".to_owned())));
    assert!(open(&configuration(), &key(), &BTreeMap::new()).is_err());
}

#[test]
fn an_etcd_elsewhere_shares_its_client_certificate() {
    let mut configuration = configuration();
    configuration.cluster.etcd = Etcd::External(ExternalEtcd {
        endpoints: Vec::new(),
        ca_file: "/e/ca.crt".to_owned(),
        cert_file: "/e/c.crt".to_owned(),
        key_file: String::new(),
    });
    let files = shared_files(&configuration);
    let names: Vec<&str> = files.iter().map(|file| file.entry.as_str()).collect();
    assert_eq!(names[6..], ["external-etcd-ca.crt", "external-etcd.crt", "external-etcd.key"]);
    assert_eq!(files[7].path, "/e/c.crt");
}
