//! Attaches the volume of a member of etcd to the instance that asks for it.
//!
//! A volume has its member in the tag `k8s.io/etcd/<etcd cluster>`: `<member>/<all members>`. An instance gets the volume that it
//! has already, or a free one of its zone and pool. AWS attaches a volume to one instance only, so that of two instances one gets it.

use std::time::Duration;

use aws_sdk_ec2::types::{Volume, VolumeAttachmentState, VolumeState};
use slipway_aws_model::tags;
use slipway_resource::provider::{Applied, operation};
use slipway_resource::{ErrorClass, ProviderError, Value};

use crate::act::{Act, Wait};
use crate::cloud::Cloud;
use crate::error::{error, incomplete, invalid};
use crate::kind::attribute::{need, texts};
use crate::look::filter;
use crate::owner::identity;
use crate::rate::Class;

/// How long AWS may take to attach a volume.
const ATTACHED: Duration = Duration::from_secs(300);
/// The names under which volumes are attached. Instances of the Nitro system show them as `/dev/nvme1n1` and so on.
const DEVICES: [&str; 6] = ["/dev/xvdu", "/dev/xvdv", "/dev/xvdw", "/dev/xvdx", "/dev/xvdy", "/dev/xvdz"];
/// The prefix of the tag of a volume with its member.
const MEMBER: &str = "k8s.io/etcd/";

/// The instance that asks, and the members whose volume it may have.
struct Asked<'a> {
    cluster: &'a str,
    etcd: &'a str,
    members: Vec<String>,
    zone: &'a str,
    instance: &'a str,
}

/// A volume of a member.
struct OfMember {
    member: String,
    id: String,
    attachments: Vec<Attachment>,
    is_free: bool,
}

/// An instance that a volume is attached to, or is being attached to.
struct Attachment {
    instance: String,
    is_complete: bool,
    /// The name that was asked for. Instances on Xen show the volume under it.
    device: Option<String>,
}

/// Attaches a volume. Repeated, it has the same result.
///
/// # Errors
/// `transient` while every volume belongs to another instance; `conflict` when two volumes claim to be those of one member.
pub(super) async fn attach(act: &Act<'_>, arguments: &Value) -> Result<Applied, ProviderError> {
    let asked = Asked::of(arguments)?;
    let mut wait = Wait::for_at_most(ATTACHED);
    loop {
        let volumes = volumes(act.cloud, &asked).await?;
        let own = volumes.iter().find_map(|volume| {
            let is_own = |attachment: &&Attachment| attachment.instance == asked.instance;
            Some((volume, volume.attachments.iter().find(is_own)?))
        });
        match own {
            Some((volume, attachment)) if attachment.is_complete => return Ok(answer(volume, attachment)),
            Some((volume, _)) => act.progress(format!("volume {} is being attached", volume.id)),
            None => {
                let free = free(&volumes, &asked)?;
                let device = device(act.cloud, asked.instance).await?;
                let call = act.cloud.ec2().attach_volume();
                let call = call.volume_id(&free.id).instance_id(asked.instance).device(device);
                let attached = act.cloud.write(Class::Ec2Write, "AttachVolume", || call.clone().send()).await;
                match attached {
                    Ok(_) => {}
                    // Another instance was faster, or the volumes are shown as they were before. What is true shows later.
                    Err(error)
                        if matches!(
                            error.class,
                            ErrorClass::Dependency { .. } | ErrorClass::OutcomeUnknown
                        ) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        act.pause(&mut wait, &format!("no volume was attached to {}", asked.instance)).await?;
    }
}

impl<'a> Asked<'a> {
    fn of(arguments: &'a Value) -> Result<Self, ProviderError> {
        let machine = need(arguments, "machine")?;
        let place = machine.strip_prefix("aws:///").and_then(|place| place.split_once('/'));
        let (zone, instance) =
            place.filter(|(zone, id)| !zone.is_empty() && id.starts_with("i-")).ok_or_else(|| {
                invalid(format!(
                    "{machine} is no provider id of an instance, such as aws:///us-east-1a/i-0123"
                ))
            })?;
        Ok(Self {
            cluster: need(arguments, "cluster")?,
            etcd: need(arguments, "etcd")?,
            members: texts(arguments, "members"),
            zone,
            instance,
        })
    }
}

/// The volumes of the members in the zone of the instance, by member.
async fn volumes(cloud: &Cloud, asked: &Asked<'_>) -> Result<Vec<OfMember>, ProviderError> {
    let tag = format!("{MEMBER}{}", asked.etcd);
    let request = cloud
        .ec2()
        .describe_volumes()
        .filters(filter(&format!("tag:{}", tags::CLUSTER), [asked.cluster]))
        .filters(filter("tag-key", [tag.as_str()]))
        .filters(filter("availability-zone", [asked.zone]));
    let send = |token| request.clone().set_next_token(token).send();
    let pages = cloud.pages(Class::Ec2Read, "DescribeVolumes", send, |page| page.next_token()).await?;
    let all = pages.iter().flat_map(|page| page.volumes());
    let mut found: Vec<OfMember> = all.filter_map(|volume| of_member(volume, &tag, asked)).collect();
    found.sort_by(|one, other| (&one.member, &one.id).cmp(&(&other.member, &other.id)));
    Ok(found)
}

fn of_member(volume: &Volume, tag: &str, asked: &Asked<'_>) -> Option<OfMember> {
    let value = volume.tags().iter().find(|found| found.key() == Some(tag))?.value()?;
    let member = value.split('/').next()?;
    let is_there = !matches!(volume.state(), Some(VolumeState::Deleted | VolumeState::Deleting));
    if !is_there || !asked.members.iter().any(|wanted| wanted == member) {
        return None;
    }
    let attachments = volume.attachments().iter().filter(|attachment| {
        !matches!(
            attachment.state(),
            Some(VolumeAttachmentState::Detached | VolumeAttachmentState::Detaching)
        )
    });
    let attachments = attachments.filter_map(|attachment| {
        Some(Attachment {
            instance: attachment.instance_id()?.to_owned(),
            is_complete: attachment.state() == Some(&VolumeAttachmentState::Attached),
            device: attachment.device().map(str::to_owned),
        })
    });
    Some(OfMember {
        member: member.to_owned(),
        id: volume.volume_id()?.to_owned(),
        attachments: attachments.collect(),
        is_free: volume.state() == Some(&VolumeState::Available),
    })
}

/// The volume that the instance gets.
fn free<'a>(volumes: &'a [OfMember], asked: &Asked<'_>) -> Result<&'a OfMember, ProviderError> {
    let Asked { etcd, zone, .. } = asked;
    for (one, other) in volumes.iter().zip(volumes.iter().skip(1)) {
        if one.member == other.member {
            let text = format!(
                "two volumes are those of member {} of etcd {etcd}: {} and {}",
                one.member, one.id, other.id
            );
            let hint = format!("remove the tag {MEMBER}{etcd} from the volume whose data is not needed");
            return Err(error(ErrorClass::Conflict, text).with_hint(hint));
        }
    }
    if let Some(found) = volumes.iter().find(|volume| volume.is_free) {
        return Ok(found);
    }
    let used = volumes.iter().map(|volume| {
        let users: Vec<&str> = volume.attachments.iter().map(|one| one.instance.as_str()).collect();
        let users =
            if users.is_empty() { "not available".to_owned() } else { format!("of {}", users.join(", ")) };
        format!("{} of member {} is {users}", volume.id, volume.member)
    });
    let used = used.collect::<Vec<_>>().join("; ");
    let why = if used.is_empty() { "there is none".to_owned() } else { used };
    let text = format!("no volume of a member of etcd {etcd} is free in {zone}: {why}");
    Err(error(ErrorClass::Transient, text))
}

/// A name of a device that the instance does not use.
async fn device(cloud: &Cloud, id: &str) -> Result<&'static str, ProviderError> {
    let call = || cloud.ec2().describe_instances().instance_ids(id).send();
    let answer = cloud.read(Class::Ec2Read, "DescribeInstances", call).await?;
    let instance = answer.reservations().iter().flat_map(|one| one.instances()).next();
    let instance = instance.ok_or_else(|| incomplete("DescribeInstances", "instance"))?;
    let used: Vec<&str> =
        instance.block_device_mappings().iter().filter_map(|mapping| mapping.device_name()).collect();
    // Older names of the same device.
    let is_used =
        |device: &str| used.contains(&device) || used.contains(&device.replace("xvd", "sd").as_str());
    let free = DEVICES.into_iter().find(|device| !is_used(device));
    free.ok_or_else(|| {
        invalid(format!("instance {id} has volumes at {} already", DEVICES.join(", ")))
            .with_hint("give other names to the volumes of the pool")
    })
}

/// The member, and how the machine finds the device.
fn answer(volume: &OfMember, attachment: &Attachment) -> Applied {
    let serial = volume.id.replace('-', "");
    let by_id = format!("/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_{serial}");
    let devices = std::iter::once(by_id).chain(attachment.device.clone());
    let attributes = [
        (operation::MEMBER, Value::from(volume.member.as_str())),
        (operation::VOLUME, volume.id.as_str().into()),
        (operation::SERIAL, serial.as_str().into()),
        (operation::DEVICES, Value::list(devices)),
    ];
    Applied::new(identity(&volume.id), Value::map(attributes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(instance: &str) -> Attachment {
        Attachment { instance: instance.to_owned(), is_complete: true, device: Some("/dev/xvdu".to_owned()) }
    }

    fn volume(member: &str, id: &str, users: &[&str]) -> OfMember {
        OfMember {
            member: member.to_owned(),
            id: id.to_owned(),
            attachments: users.iter().map(|id| attachment(id)).collect(),
            is_free: users.is_empty(),
        }
    }

    fn arguments(machine: &str) -> Value {
        let texts = [("cluster", "a"), ("etcd", "main"), ("machine", machine)];
        Value::map(texts.map(|(name, text)| (name, Value::from(text))))
    }

    #[test]
    fn a_free_volume_is_taken_and_no_doubtful_one() {
        let arguments = arguments("aws:///us-east-1a/i-1");
        let asked = Asked::of(&arguments).unwrap();
        let both = [volume("a", "vol-1", &["i-9"]), volume("b", "vol-2", &[])];
        assert_eq!(free(&both, &asked).unwrap().id, "vol-2");
        let none = free(&both[..1], &asked).map(|_| ()).unwrap_err();
        assert!(none.class.is_retryable() && none.message.contains("vol-1 of member a is of i-9"), "{none}");
        assert!(free(&[], &asked).map(|_| ()).unwrap_err().message.ends_with("there is none"));
        let twins = [volume("a", "vol-1", &[]), volume("a", "vol-3", &[])];
        let twins = free(&twins, &asked).map(|_| ()).unwrap_err();
        assert_eq!(twins.class, ErrorClass::Conflict, "{twins}");
    }

    #[test]
    fn a_device_is_found_by_its_serial_number_and_by_the_name_that_was_asked_for() {
        let answer = answer(&volume("a", "vol-0123", &[]), &attachment("i-1"));
        let devices = ["/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0123", "/dev/xvdu"];
        assert_eq!(answer.attributes.get(operation::DEVICES), Some(&Value::list(devices)));
        assert_eq!(answer.attributes.get(operation::SERIAL), Some(&"vol0123".into()));
    }

    #[test]
    fn only_an_instance_is_given_a_volume() {
        for machine in ["i-1", "aws:///us-east-1a/node", "aws:////i-1", "gce://a/b/c"] {
            assert!(Asked::of(&arguments(machine)).is_err(), "{machine}");
        }
    }
}
