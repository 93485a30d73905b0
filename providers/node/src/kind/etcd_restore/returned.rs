//! Data of a member of which the cluster knows nothing any more: its machine was away while etcd was recovered without it.

use std::fs;

use slipway_resource::ProviderError;

use super::super::Work;
use super::member::Member;
use super::{ETCD, aside_of, stop};
use crate::error::of_path;
use crate::etcd_data;

/// The beginning of the name of a folder with such data, below the folder of etcd's data.
pub(in super::super) const OLD: &str = "slipway-old-";

/// Stops etcd and keeps its data aside, if that is the data of this member in another cluster than the one that it joins. Etcd
/// refuses to join with such data, and must not serve it.
pub(in super::super) async fn set_aside(
    work: &Work,
    member_id: &str,
    cluster: u64,
) -> Result<(), ProviderError> {
    let disk = &work.host().disk;
    let Ok(member) = Member::read(disk) else { return Ok(()) };
    let data = disk.target(&member.data)?;
    let Some(ids) = etcd_data::read(&data).and_then(|data| data.ids) else { return Ok(()) };
    if ids.cluster == cluster || format!("{:x}", ids.member) != member_id {
        return Ok(());
    }
    work.tell(format!(
        "stops etcd, and keeps its data aside: it is that of the cluster {:x}, which was recovered without this machine",
        ids.cluster
    ));
    stop(work, &[ETCD]).await?;
    // The step that comes next writes a manifest for the new cluster.
    disk.remove(&aside_of(ETCD))?;
    let to = data.join(format!("{OLD}{:x}", ids.cluster));
    disk.at("set data aside");
    fs::rename(data.join("member"), &to).map_err(|error| of_path(&to, "replace", &error))
}
