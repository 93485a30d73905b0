//! Where etcd keeps its data on the machines of a pool.
//!
//! Slipway's document has it on the volume of a member, which the next machine attaches. Documents of earlier versions left the data
//! on the disk that a machine boots from, so that it is lost with the machine. The next machine has another name and is a further
//! member of etcd, and the former member is never removed: after some replacements etcd has no majority. These machines therefore
//! stay as long as their cluster does.
//!
//! Without programs in the spec, it depends on the image whether a machine runs etcd. The loss of these machines is named, and
//! confirmed by name. Machines that another tool boots have volumes for etcd.

use serde_json::Value as Json;
use slipway_resource::Value;

use super::boot;

/// The attribute of launch templates, and the setting of the rollout of their groups.
pub(crate) const ETCD_DATA: &str = "etcd_data";
/// What each machine loses.
const LOSS: &str = "the data of its member of etcd, which is on the disk that it boots from";
/// Why machines stay.
const STAYS: &str = "etcd keeps its data on the disk that they boot from, and Slipway does not move such a member of etcd to \
                     another machine";

/// Where etcd keeps its data on the machines of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EtcdData {
    /// On the disk that they boot from.
    BootDisk,
    /// On the disk that they boot from, if their image has the programs with which they become control planes.
    BootDiskOfImage,
    /// On volumes that outlive them.
    Elsewhere,
}

impl EtcdData {
    /// Where machines with this user data keep it; `None` for machines without etcd, and for user data that is not known.
    pub(crate) fn of_user_data(user_data: &Value) -> Option<Self> {
        let text = boot::text(user_data).filter(|text| !text.is_empty())?;
        if !boot::is_ours(&text) {
            return Some(Self::Elsewhere);
        }
        let document = boot::document(&text)?;
        if boot::has_volumes(&document) {
            return Some(Self::Elsewhere);
        }
        let clusters = document.pointer("/controlPlane/etcd").and_then(Json::as_array);
        let has_etcd = clusters.is_some_and(|clusters| !clusters.is_empty());
        let place = if boot::has_programs(&text, &document) { Self::BootDisk } else { Self::BootDiskOfImage };
        has_etcd.then_some(place)
    }

    /// The value of the attribute; `None` for any other text.
    pub(crate) fn of(text: &str) -> Option<Self> {
        [Self::BootDisk, Self::BootDiskOfImage, Self::Elsewhere].into_iter().find(|one| one.as_str() == text)
    }

    /// The value of the attribute.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::BootDisk => "boot-disk",
            Self::BootDiskOfImage => "boot-disk-of-image",
            Self::Elsewhere => "elsewhere",
        }
    }

    /// The data that is lost with each machine.
    pub(super) fn loss(self) -> Option<String> {
        (self != Self::Elsewhere).then(|| LOSS.to_owned())
    }

    /// Why the machines stay.
    pub(super) fn irremovable(self) -> Option<String> {
        (self == Self::BootDisk).then(|| STAYS.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user_data(document: &str, fetches: &str) -> Value {
        let script = format!(
            "#!/bin/sh\ncat > /etc/slipway/bootstrap.json <<'DOCUMENT'\n{document}\nDOCUMENT\n{fetches}exec slipway node boot \
             --document /etc/slipway/bootstrap.json --digest sha256:0\n"
        );
        script.as_str().into()
    }

    #[test]
    fn only_a_document_with_volumes_has_the_data_elsewhere_than_on_the_disk_that_a_machine_boots_from() {
        let files = boot::NEEDED.map(|name| format!(r#"{{"name":"{name}"}}"#)).join(",");
        let programs = format!(r#","programs":{{"files":[{files}]}}"#);
        let fetches = format!("{}x; do :; done\n", boot::FETCHES);
        let of = |control_plane: &str, programs: &str, fetches: &str| {
            let document = format!(r#"{{"node":{{"pool":"a"}}{control_plane}{programs}}}"#);
            EtcdData::of_user_data(&user_data(&document, fetches))
        };
        let etcd = r#","controlPlane":{"etcd":[{"name":"main"}]}"#;
        assert_eq!(of(etcd, &programs, &fetches), Some(EtcdData::BootDisk));
        assert_eq!(of(etcd, "", ""), Some(EtcdData::BootDiskOfImage));
        let volumes = r#","controlPlane":{"etcd":[{"name":"main"}],"etcdVolumes":true}"#;
        assert_eq!(of(volumes, &programs, &fetches), Some(EtcdData::Elsewhere));
        assert_eq!(of(volumes, "", ""), Some(EtcdData::Elsewhere));
        assert_eq!(of(r#","controlPlane":{"schedulable":true}"#, &programs, &fetches), None);
        assert_eq!(of("", &programs, &fetches), None);
        let nodeup = "#!/bin/bash\ncat > conf/kube_env.yaml\n./nodeup --conf=kube_env.yaml\n";
        assert_eq!(EtcdData::of_user_data(&nodeup.into()), Some(EtcdData::Elsewhere));
        assert_eq!(EtcdData::of_user_data(&Value::Null), None);
    }

    #[test]
    fn only_machines_that_certainly_run_etcd_have_to_stay() {
        let facts = |data: EtcdData| (data.loss().is_some(), data.irremovable().is_some());
        assert_eq!(facts(EtcdData::BootDisk), (true, true));
        assert_eq!(facts(EtcdData::BootDiskOfImage), (true, false));
        assert_eq!(facts(EtcdData::Elsewhere), (false, false));
        for data in [EtcdData::BootDisk, EtcdData::BootDiskOfImage, EtcdData::Elsewhere] {
            assert_eq!(EtcdData::of(data.as_str()), Some(data));
        }
        assert_eq!(EtcdData::of("tape"), None);
    }
}
