//! Disks.

mod attach;

use async_trait::async_trait;
use aws_sdk_ec2::types::{Volume as Sdk, VolumeState, VolumeType};
use slipway_resource::provider::{Applied, operation};
use slipway_resource::{Identity, ProviderError, Value};

use super::attribute::{differs, need, number32, some, text};
use super::family::Volumes;
use super::{Blockers, Condition, Found, Kind, update_tags};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::{incomplete, invalid};
use crate::owner::{identity, of_ec2, specification, visible};
use crate::rate::Class;

/// `aws_ebs_volume`.
pub(super) struct Volume;

/// Settings that a volume changes in place.
const MODIFIED: [&str; 4] = ["size", "type", "iops", "throughput"];

#[async_trait]
impl Kind for Volume {
    fn name(&self) -> &'static str {
        "aws_ebs_volume"
    }

    fn tagged_as(&self) -> Option<&'static str> {
        Some("volume")
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let Some(volume) = cloud.get::<Volumes>(id.as_str()).await? else { return Ok(None) };
        let found = Found::ready(id.as_str(), attributes(cloud, &volume), &of_ec2(volume.tags()));
        Ok(match volume.state() {
            Some(VolumeState::Deleted) => None,
            Some(VolumeState::Deleting) => Some(found.but(Condition::Ending)),
            Some(VolumeState::Creating) => {
                Some(found.but(Condition::Pending("the volume is being made".into())))
            }
            Some(VolumeState::Error) => {
                Some(found.but(Condition::Failed("AWS says that the volume is broken".into())))
            }
            _ => Some(found),
        })
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let request = act
            .cloud
            .ec2()
            .create_volume()
            .availability_zone(need(desired, "availability_zone")?)
            .set_size(number32(desired, "size"))
            .set_volume_type(text(desired, "type").map(VolumeType::from))
            .set_iops(number32(desired, "iops"))
            .set_throughput(number32(desired, "throughput"))
            .set_encrypted(desired.get("encrypted").and_then(Value::as_bool))
            .set_kms_key_id(text(desired, "kms_key_id").map(str::to_owned))
            .set_snapshot_id(text(desired, "snapshot_id").map(str::to_owned))
            .client_token(act.client_token())
            .tag_specifications(specification("volume", &act.tags(desired)));
        let answer = act.cloud.write(Class::Ec2Write, "CreateVolume", || request.clone().send()).await?;
        Ok(identity(answer.volume_id().ok_or_else(|| incomplete("CreateVolume", "id"))?))
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        update_tags(act.cloud, id.as_str(), prior, desired).await?;
        if !MODIFIED.iter().any(|name| differs(prior, desired, name)) {
            return Ok(());
        }
        let changed = |name: &str| number32(desired, name).filter(|_| differs(prior, desired, name));
        let request = act
            .cloud
            .ec2()
            .modify_volume()
            .volume_id(id.as_str())
            .set_size(changed("size"))
            .set_volume_type(
                text(desired, "type").filter(|_| differs(prior, desired, "type")).map(VolumeType::from),
            )
            .set_iops(changed("iops"))
            .set_throughput(changed("throughput"));
        act.cloud.write(Class::Ec2Write, "ModifyVolume", || request.clone().send()).await.map(drop)
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.ec2().delete_volume().volume_id(id.as_str());
        act.cloud.write(Class::Ec2Write, "DeleteVolume", || request.clone().send()).await.map(drop)
    }

    async fn operate(
        &self,
        act: &Act<'_>,
        _: &Identity,
        name: &str,
        arguments: &Value,
    ) -> Result<Applied, ProviderError> {
        match name {
            operation::ATTACH => attach::attach(act, arguments).await,
            _ => Err(invalid(format!("aws_ebs_volume has no operation {name}"))),
        }
    }

    /// An instance that terminates lets its disks go; one that runs does not.
    async fn blockers(&self, cloud: &Cloud, id: &Identity) -> Result<Blockers, ProviderError> {
        let Some(volume) = cloud.get::<Volumes>(id.as_str()).await? else { return Ok(Blockers::default()) };
        let users: Vec<String> = volume
            .attachments()
            .iter()
            .filter_map(|attachment| attachment.instance_id().map(str::to_owned))
            .collect();
        if cloud.leaving() {
            // With the cluster, its machines terminate, perhaps after the first attempt to delete the volume.
            return Ok(Blockers { lasting: Vec::new(), passing: users });
        }
        super::blocker::of_instances(cloud, &users).await
    }
}

fn attributes(cloud: &Cloud, volume: &Sdk) -> Value {
    let id = volume.volume_id().unwrap_or_default();
    Value::map([
        ("id", Value::from(id)),
        ("arn", cloud.ec2_arn(None, "volume", id).into()),
        ("availability_zone", some(volume.availability_zone())),
        ("size", volume.size().map(i64::from).into()),
        ("type", volume.volume_type().map(VolumeType::as_str).into()),
        ("iops", volume.iops().map(i64::from).into()),
        ("throughput", volume.throughput().map(i64::from).into()),
        ("encrypted", volume.encrypted().into()),
        ("kms_key_id", some(volume.kms_key_id())),
        ("snapshot_id", some(volume.snapshot_id())),
        ("tags", visible(&of_ec2(volume.tags()))),
    ])
}
