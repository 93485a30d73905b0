//! Interfaces that a network plugin inside the cluster created for instances and left behind.
//!
//! The Amazon VPC plugin and Cilium attach interfaces to instances. When an instance is terminated while its plugin attaches or detaches
//! an interface, the interface stays. After the last instance nothing deletes it, and it blocks the deletion of its subnet and of its
//! security groups. Its description names the instance.

use aws_sdk_ec2::types::{NetworkInterface, NetworkInterfaceStatus};
use slipway_resource::{ErrorClass, Identity, ProviderError};

use super::blocker::instances_going;
use super::{Kind, or_gone};
use crate::act::Act;
use crate::look::filter;
use crate::owner::of_ec2;
use crate::rate::Class;

/// The tag in which the Amazon VPC plugin names the cluster, if it knows the name.
const CLUSTER: &str = "cluster.k8s.amazonaws.com/name";

/// The text before and after the id of the instance in descriptions of the Amazon VPC plugin and of Cilium.
const DESCRIPTIONS: [(&str, &str); 2] = [("aws-K8S-", ""), ("Cilium-CNI (", ")")];

/// Deletes the interfaces of plugins that block the deletion of a subnet or of a security group of a cluster that is deleted. Returns the
/// ids of the deleted ones. Interfaces of instances that are not terminated stay, and those that may not be read or deleted.
///
/// # Errors
/// `throttled` and `transient`, when a call may be repeated.
pub(crate) async fn delete_interfaces(
    act: &Act<'_>,
    kind: &dyn Kind,
    identity: &Identity,
) -> Result<Vec<String>, ProviderError> {
    let name = match kind.name() {
        "aws_subnet" => "subnet-id",
        "aws_security_group" => "group-id",
        _ => return Ok(Vec::new()),
    };
    let found = match left_behind(act, name, identity).await {
        Err(error) if !error.class.is_retryable() => {
            tracing::debug!(%identity, %error, "interfaces of network plugins cannot be read");
            return Ok(Vec::new());
        }
        found => found?,
    };
    let mut deleted = Vec::new();
    for (id, instance) in found {
        let request = act.cloud.ec2().delete_network_interface().network_interface_id(&id);
        let answer =
            act.cloud.write(Class::Ec2Write, "DeleteNetworkInterface", || request.clone().send()).await;
        match or_gone(answer.map(drop)) {
            Ok(()) => {
                act.progress(format!(
                    "deleted {id}, an interface that a network plugin created for {instance}"
                ));
                deleted.push(id);
            }
            // The next attempt to delete the subnet or the group shows the outcome.
            Err(error) if error.class == ErrorClass::OutcomeUnknown => deleted.push(id),
            Err(error) if error.class.is_retryable() => return Err(error),
            Err(error) => tracing::debug!(id, %error, "an interface of a network plugin is not deleted"),
        }
    }
    Ok(deleted)
}

/// The interfaces, each with its instance, that a filter finds and whose instances are terminated.
async fn left_behind(
    act: &Act<'_>,
    name: &str,
    identity: &Identity,
) -> Result<Vec<(String, String)>, ProviderError> {
    let request = act.cloud.ec2().describe_network_interfaces().filters(filter(name, [identity.as_str()]));
    let send = |token| request.clone().set_next_token(token).send();
    let call = "DescribeNetworkInterfaces";
    let pages = act.cloud.pages(Class::Ec2Read, call, send, |page| page.next_token()).await?;
    let interfaces = pages.iter().flat_map(|page| page.network_interfaces());
    let cluster = act.request.ownership.cluster.as_str();
    let found: Vec<(&str, &str)> = interfaces.filter_map(|interface| of_plugin(interface, cluster)).collect();
    let instances: Vec<&str> = found.iter().map(|(_, instance)| *instance).collect();
    let going = instances_going(act.cloud, &instances).await?;
    // An instance is no longer listed about an hour after its end.
    let ended = found.into_iter().filter(|(_, instance)| going.get(*instance).copied().unwrap_or(true));
    Ok(ended.map(|(id, instance)| (id.to_owned(), instance.to_owned())).collect())
}

/// The id of an unused interface that a plugin created, and the id of its instance. Interfaces with the name of another cluster do not
/// count.
fn of_plugin<'i>(interface: &'i NetworkInterface, cluster: &str) -> Option<(&'i str, &'i str)> {
    let is_unused = interface.status() == Some(&NetworkInterfaceStatus::Available);
    if !is_unused || of_ec2(interface.tag_set()).get(CLUSTER).is_some_and(|name| name != cluster) {
        return None;
    }
    Some((interface.network_interface_id()?, instance_of(interface.description()?)?))
}

/// The id of the instance in the description of an interface.
fn instance_of(description: &str) -> Option<&str> {
    let inner = |(before, after): (&str, &str)| description.strip_prefix(before)?.strip_suffix(after);
    DESCRIPTIONS.into_iter().find_map(inner).filter(|id| id.starts_with("i-"))
}

#[cfg(test)]
mod tests {
    use aws_sdk_ec2::types::Tag;

    use super::*;

    #[test]
    fn descriptions_of_plugins_name_an_instance() {
        assert_eq!(instance_of("aws-K8S-i-04eb084dde5735440"), Some("i-04eb084dde5735440"));
        assert_eq!(instance_of("Cilium-CNI (i-04eb084dde5735440)"), Some("i-04eb084dde5735440"));
        for other in
            ["", "aws-K8S-", "i-04eb084dde5735440", "Cilium-CNI (i-1", "ELB net/a/b", "aws-K8S-branch"]
        {
            assert_eq!(instance_of(other), None, "{other}");
        }
    }

    #[test]
    fn only_unused_interfaces_of_the_cluster_count() {
        let interface = |status: NetworkInterfaceStatus, cluster: Option<&str>| {
            let tags = cluster.map(|name| vec![Tag::builder().key(CLUSTER).value(name).build()]);
            NetworkInterface::builder()
                .network_interface_id("eni-1")
                .description("aws-K8S-i-1")
                .status(status)
                .set_tag_set(tags)
                .build()
        };
        let counts = |status, cluster| of_plugin(&interface(status, cluster), "a.example.com").is_some();
        assert!(counts(NetworkInterfaceStatus::Available, None));
        assert!(counts(NetworkInterfaceStatus::Available, Some("a.example.com")));
        assert!(!counts(NetworkInterfaceStatus::Available, Some("b.example.com")));
        assert!(!counts(NetworkInterfaceStatus::InUse, None));
    }
}
