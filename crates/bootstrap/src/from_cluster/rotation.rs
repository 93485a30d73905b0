//! How far the keys of a cluster are rotated. It is pinned with the placement of the machines.
//!
//! A rotation has stages. Every machine is in one stage before any of them enters the next one, so that two stages that exist at the
//! same time always accept each other's keys.

use serde::{Deserialize, Serialize};

/// A key or an authority that can be rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RotatedKey {
    /// The key that encrypts objects at rest.
    EncryptionKey,
    /// The key that signs the tokens of service accounts.
    SaKey,
    /// The authority of the API: of its servers, its clients and the kubelets.
    KubernetesCa,
    /// The authority of the API's front proxies, which aggregated APIs trust.
    FrontProxyCa,
    /// The authority of etcd's members and of their clients.
    EtcdCa,
}

impl RotatedKey {
    /// Everything that can be rotated.
    pub const ALL: [Self; 5] =
        [Self::EncryptionKey, Self::SaKey, Self::KubernetesCa, Self::FrontProxyCa, Self::EtcdCa];

    /// The name on the command line and in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EncryptionKey => "encryption-key",
            Self::SaKey => "sa-key",
            Self::KubernetesCa => "ca",
            Self::FrontProxyCa => "front-proxy-ca",
            Self::EtcdCa => "etcd-ca",
        }
    }

    /// The name of its first generation in the state.
    #[must_use]
    pub const fn key_name(self) -> &'static str {
        match self {
            Self::EncryptionKey => super::AT_REST,
            Self::SaKey => super::SERVICE_ACCOUNTS,
            Self::KubernetesCa => super::CA,
            Self::FrontProxyCa => super::FRONT_PROXY_CA,
            Self::EtcdCa => super::ETCD_CA,
        }
    }

    /// Whether it is an authority, which signs certificates.
    #[must_use]
    pub const fn is_authority(self) -> bool {
        matches!(self, Self::KubernetesCa | Self::FrontProxyCa | Self::EtcdCa)
    }

    /// Whether the state keeps its old generations: they no longer sign anything, and open sealed snapshots of etcd.
    #[must_use]
    pub const fn keeps_old_keys(self) -> bool {
        matches!(self, Self::EtcdCa)
    }

    /// The generations of the key that the state has in a stage.
    #[must_use]
    pub fn kept(self, rotation: Rotation) -> Vec<u32> {
        let generations = rotation.generations();
        match generations.last() {
            Some(last) if self.keeps_old_keys() => (1..=*last).collect(),
            _ => generations,
        }
    }
}

/// A stage of a rotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// There is one key.
    #[default]
    Rest,
    /// All API servers accept the new key too. The old one is used.
    Added,
    /// The new key is used. All API servers accept the old one too.
    Used,
}

/// How far one key is rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    /// The generation of the key that the last complete rotation left: 1 is the key that the cluster began with.
    pub generation: u32,
    /// The stage of the rotation to the next generation.
    pub stage: Stage,
}

impl Default for Rotation {
    fn default() -> Self {
        Self { generation: 1, stage: Stage::Rest }
    }
}

impl Rotation {
    /// The next stage. After the last stage, the next generation is in use alone.
    #[must_use]
    pub const fn next(self) -> Self {
        match self.stage {
            Stage::Rest => Self { stage: Stage::Added, ..self },
            Stage::Added => Self { stage: Stage::Used, ..self },
            Stage::Used => Self { generation: self.generation.saturating_add(1), stage: Stage::Rest },
        }
    }

    /// The stage before; `None` where there is no way back.
    #[must_use]
    pub const fn back(self) -> Option<Self> {
        match self.stage {
            Stage::Rest => None,
            Stage::Added => Some(Self { stage: Stage::Rest, ..self }),
            Stage::Used => Some(Self { stage: Stage::Added, ..self }),
        }
    }

    /// The generation of the new key.
    #[must_use]
    pub const fn new_generation(self) -> u32 {
        self.generation.saturating_add(1)
    }

    /// The generations of the keys that exist in this stage.
    #[must_use]
    pub fn generations(self) -> Vec<u32> {
        match self.stage {
            Stage::Rest => vec![self.generation],
            Stage::Added | Stage::Used => vec![self.generation, self.new_generation()],
        }
    }

    /// The generations in the order in which a component has them: the first one is used, the others are accepted.
    #[must_use]
    pub fn in_use_first(self) -> Vec<u32> {
        let mut generations = self.generations();
        if self.stage == Stage::Used {
            generations.reverse();
        }
        generations
    }

    /// The generation of the key that is used.
    #[must_use]
    pub const fn used(self) -> u32 {
        match self.stage {
            Stage::Rest | Stage::Added => self.generation,
            Stage::Used => self.new_generation(),
        }
    }
}

/// The name of a generation of a key in the state: `at-rest`, then `at-rest-2`.
#[must_use]
pub fn name_of_generation(name: &str, generation: u32) -> String {
    match generation {
        0 | 1 => name.to_owned(),
        generation => format!("{name}-{generation}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rotation_goes_through_its_stages_and_back_until_the_last_one() {
        let rest = Rotation::default();
        let (added, used) = (rest.next(), rest.next().next());
        assert_eq!((added.in_use_first(), added.used()), (vec![1, 2], 1));
        assert_eq!((used.in_use_first(), used.used()), (vec![2, 1], 2));
        assert_eq!((used.back(), added.back(), rest.back()), (Some(added), Some(rest), None));
        let after = used.next();
        assert_eq!((after.generations(), after.back()), (vec![2], None));
        assert_eq!(name_of_generation("at-rest", 1), "at-rest");
        assert_eq!(name_of_generation("at-rest", after.generation), "at-rest-2");
        assert_eq!(RotatedKey::SaKey.kept(after), [2]);
        assert_eq!(RotatedKey::EtcdCa.kept(after), [1, 2], "snapshots are sealed with the first one");
    }
}
