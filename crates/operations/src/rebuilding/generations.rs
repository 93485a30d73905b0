//! How far the authorities of a cluster are rotated whose state is lost, by the certificates on its control planes.

use std::collections::BTreeMap;

use slipway_bootstrap::from_cluster::{RotatedKey, Rotation, Stage, name_of_generation};
use slipway_bootstrap::pki::Certificate;
use slipway_generated_secrets::KEYPAIR;
use slipway_resource::provider::Catalog;
use slipway_resource::{Address, SecretText};

use crate::adopting::nodes::PAIRS;
use crate::composition;
use crate::error::Error;

/// The keys that are rotated, or were.
pub(super) type Rotations = BTreeMap<RotatedKey, Rotation>;

/// The common name of the first authority of the API, as in kubeadm.
const FIRST_CA: &str = "kubernetes";

/// The rotations by the files of a control plane. Every generation of an authority has a common name of its own, and the first
/// certificate of a file is that of the generation in use.
pub(super) fn of(files: &BTreeMap<String, SecretText>) -> Rotations {
    let authorities = RotatedKey::ALL.into_iter().filter(|subject| subject.is_authority());
    let rotation = |subject: RotatedKey| {
        let (_, _, file) = PAIRS.iter().find(|(name, ..)| *name == subject.key_name())?;
        let chain = Certificate::chain_from_pem(files.get((*file)?)?.expose()).ok()?;
        let mut generations = chain.iter().map(|certificate| generation(subject, certificate));
        let used = generations.next()??;
        let rotation = match generations.next().flatten() {
            Some(other) if other == used.saturating_add(1) => {
                Rotation { generation: used, stage: Stage::Added }
            }
            Some(other) if used == other.saturating_add(1) => {
                Rotation { generation: other, stage: Stage::Used }
            }
            _ => Rotation { generation: used, stage: Stage::Rest },
        };
        (rotation != Rotation::default()).then_some((subject, rotation))
    };
    authorities.filter_map(rotation).collect()
}

/// The generation of an authority; `None` for one that Slipway has not named.
fn generation(subject: RotatedKey, certificate: &Certificate) -> Option<u32> {
    let name = certificate.subject().common_name.as_str();
    if name == subject.key_name() || (subject == RotatedKey::KubernetesCa && name == FIRST_CA) {
        return Some(1);
    }
    let number: u32 = name.strip_prefix(subject.key_name())?.strip_prefix('-')?.parse().ok()?;
    (name == name_of_generation(subject.key_name(), number)).then_some(number)
}

/// The rotations without those of which a key is lost that machines do not use: only the key in use counts then. Where the state
/// keeps the keys of all generations, that key becomes the first one. `None` if none is lost.
pub(super) fn settled(rotations: &Rotations, missing: &[Address]) -> Option<Rotations> {
    let is_lost = |subject: RotatedKey, rotation: Rotation| {
        let mut others = subject.kept(rotation).into_iter().filter(|other| *other != rotation.used());
        others.any(|other| {
            let address = Address::new(KEYPAIR, name_of_generation(subject.key_name(), other));
            missing.contains(&address)
        })
    };
    let settled = rotations.iter().map(|(subject, rotation)| match is_lost(*subject, *rotation) {
        true if subject.keeps_old_keys() => (*subject, Rotation::default()),
        true => (*subject, Rotation { generation: rotation.used(), stage: Stage::Rest }),
        false => (*subject, *rotation),
    });
    let settled: Rotations = settled.filter(|(_, rotation)| *rotation != Rotation::default()).collect();
    (settled != *rotations).then_some(settled)
}

/// The choices of the providers with these rotations.
pub(super) fn pin(
    mut catalogs: BTreeMap<String, Catalog>,
    rotations: &Rotations,
) -> Result<BTreeMap<String, Catalog>, Error> {
    for catalog in catalogs.values_mut() {
        let Some(mut placement) = composition::placement(catalog)? else { continue };
        placement.rotations.clone_from(rotations);
        *catalog = composition::with_placement(catalog, &placement)?;
    }
    Ok(catalogs)
}

/// The address of the key in use, by the name of its first generation.
pub(super) fn key(name: &str, rotations: &Rotations) -> Address {
    let subject = RotatedKey::ALL.into_iter().find(|subject| subject.key_name() == name);
    let rotation = subject.and_then(|subject| rotations.get(&subject)).copied().unwrap_or_default();
    Address::new(KEYPAIR, name_of_generation(name, rotation.used()))
}

/// The certificate in use of a file of authorities. A file with one certificate is kept byte for byte.
pub(super) fn in_use(text: &str) -> String {
    match Certificate::chain_from_pem(text).as_deref() {
        Ok([first, _, ..]) => first.to_pem(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use slipway_bootstrap::configuration::EncryptionAlgorithm;
    use slipway_bootstrap::pki::{PrivateKey, Template};

    use super::*;

    fn authority(name: &str) -> String {
        let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
        let template = Template::authority(name, Timestamp::now(), Duration::from_secs(600)).unwrap();
        template.self_signed(&key).unwrap().to_pem()
    }

    fn found(names: &[&str]) -> Option<Rotation> {
        let text: String = names.iter().map(|name| authority(name)).collect();
        let files = BTreeMap::from([("pki/ca.crt".to_owned(), SecretText::new(text))]);
        of(&files).get(&RotatedKey::KubernetesCa).copied()
    }

    #[test]
    fn certificates_tell_how_far_an_authority_is_rotated() {
        let rotation = |generation: u32, stage: Stage| Some(Rotation { generation, stage });
        assert_eq!(found(&["kubernetes"]), None);
        assert_eq!(found(&["an authority of somebody else"]), None);
        assert_eq!(found(&["kubernetes-ca-of-somebody"]), None);
        assert_eq!(found(&["kubernetes", "kubernetes-ca-2"]), rotation(1, Stage::Added));
        assert_eq!(found(&["kubernetes-ca-2", "kubernetes"]), rotation(1, Stage::Used));
        assert_eq!(found(&["kubernetes-ca-2"]), rotation(2, Stage::Rest));
        assert_eq!(found(&["kubernetes-ca-3", "kubernetes-ca-2"]), rotation(2, Stage::Used));
    }

    #[test]
    fn a_key_that_only_the_state_had_ends_its_rotation() {
        let rotations = |generation: u32, stage: Stage| {
            BTreeMap::from([(RotatedKey::KubernetesCa, Rotation { generation, stage })])
        };
        let (old, new) = (Address::new(KEYPAIR, "kubernetes-ca"), Address::new(KEYPAIR, "kubernetes-ca-2"));
        let used = rotations(1, Stage::Used);
        assert_eq!(key("kubernetes-ca", &used), new);
        assert_eq!(settled(&used, std::slice::from_ref(&new)), None, "the key in use is on machines");
        assert_eq!(settled(&used, &[old]), Some(rotations(2, Stage::Rest)));
        assert_eq!(settled(&rotations(1, Stage::Added), &[new]), Some(BTreeMap::new()));
        assert_eq!(settled(&rotations(2, Stage::Rest), &[]), None);
        let of_etcd = BTreeMap::from([(RotatedKey::EtcdCa, Rotation { generation: 2, stage: Stage::Rest })]);
        assert_eq!(settled(&of_etcd, &[]), None);
        assert_eq!(settled(&of_etcd, &[Address::new(KEYPAIR, "etcd-ca")]), Some(BTreeMap::new()));
    }

    #[test]
    fn the_certificate_in_use_is_the_first_one() {
        let (old, new) = (authority("kubernetes"), authority("kubernetes-ca-2"));
        assert_eq!(in_use(&format!("{new}{old}")), new);
        let alone = old.trim_end();
        assert_eq!(in_use(alone), alone);
    }
}
