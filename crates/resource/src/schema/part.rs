//! Parts of a cluster that objects of a type are: servers of its API, members of etcd, kubelets.

use serde::{Deserialize, Serialize};

/// A part of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// A server of the cluster's API. The API exists as soon as one of them does.
    ApiServer,
    /// A member of the cluster's etcd. Its attribute `never_started` lists members that were announced and never started,
    /// its attribute `alarms` the alarms of etcd.
    EtcdMember,
    /// The vote of a member of etcd. A member without this object is a learner.
    EtcdVoter,
    /// The kubelet of a machine.
    Kubelet,
    /// The claim of a machine from an inventory.
    HostClaim,
    /// The agent that works inside a machine.
    HostAgent,
    /// A node of the cluster. The name of the object is the name of the node.
    Node,
}

/// Which objects of a type are a part of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// The part.
    pub part: Part,
    /// The last segment of the names of these objects, as `kube-apiserver` in `static_pod.cp-1/kube-apiserver`. Empty if
    /// every object of the type is such a part.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

impl Role {
    /// The role of every object of a type.
    #[must_use]
    pub fn of_all(part: Part) -> Self {
        Self { part, name: String::new() }
    }

    /// The role of the objects with a name.
    #[must_use]
    pub fn of(part: Part, name: &str) -> Self {
        Self { part, name: name.to_owned() }
    }

    /// Whether the object of a name has the role.
    #[must_use]
    pub fn fits(&self, name: &str) -> bool {
        self.name.is_empty() || name.rsplit('/').next() == Some(self.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_one_of_a_name_or_of_the_whole_type() {
        let server = Role::of(Part::ApiServer, "kube-apiserver");
        assert!(server.fits("kube-apiserver") && server.fits("cp-1/kube-apiserver"));
        assert!(!server.fits("cp-1/etcd") && !server.fits("cp-1/not-kube-apiserver") && !server.fits(""));
        assert!(Role::of_all(Part::HostClaim).fits("cp-1"));
    }
}
