//! Load balancers that controllers have created for Services in a network that is deleted.
//!
//! Their interfaces block the deletion of subnets. The plan deletes those whose tags name the cluster. The others are classic load
//! balancers, and load balancers without such tags: they are findings.

use std::collections::BTreeMap;

use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{ErrorClass, Identity, ProviderError};

use super::{finding, unanswered};
use crate::cloud::Cloud;
use crate::kind::tags_of;
use crate::known::Known;
use crate::look::filter;
use crate::owner::OF_CONTROLLERS;
use crate::rate::Class;

/// How many values a filter may have.
const VALUES: usize = 200;

/// How the description of an interface of a load balancer begins.
const OF_BALANCER: &str = "ELB ";

/// The tags that name the Service or the Ingress of a load balancer: those of `cloud-provider-aws` and of the AWS Load Balancer
/// Controller.
const SERVICE: [&str; 3] = ["kubernetes.io/service-name", "service.k8s.aws/stack", "ingress.k8s.aws/stack"];

/// The way out.
const HINT: &str = "delete the Services and Ingresses of these load balancers with kubectl, wait until the load balancers are gone, and \
                    run `slipway delete` again; if the cluster has no controller any more, delete the load balancers and their \
                    security groups in AWS";

/// The load balancers of Services in the network, if this run deletes the network with the whole cluster.
///
/// # Errors
/// `throttled`, when a call was throttled.
pub(super) async fn balanced(
    cloud: &Cloud,
    items: &[PreflightItem],
) -> Result<Vec<PreflightFinding>, ProviderError> {
    let deleted = |kind: &str| {
        items
            .iter()
            .find(|item| item.action == "delete" && item.address.kind() == kind)
            .filter(|_| cloud.leaving())
    };
    let known = cloud.shared::<Known>();
    let (item, name, ids) = match (deleted("aws_vpc"), deleted("aws_subnet")) {
        (Some(item), _) => (item, "vpc-id", known.of_kind("aws_vpc")),
        (None, Some(item)) => (item, "subnet-id", known.of_kind("aws_subnet")),
        (None, None) => return Ok(Vec::new()),
    };
    let balancers = match interfaces(cloud, name, &ids).await {
        Ok(descriptions) => of_controllers(descriptions.iter().map(String::as_str)),
        Err(error) => return unanswered("load balancers of Services", error).map(|()| Vec::new()),
    };
    let stays = |(name, _): &(String, Option<String>)| !items.iter().any(|item| deletes(item, name));
    let balancers: Vec<(String, Option<String>)> = balancers.into_iter().filter(stays).collect();
    if balancers.is_empty() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for (balancer, path) in balancers {
        names.push(match service_of(cloud, path.as_deref()).await? {
            Some(service) => format!("{balancer} of {service}"),
            None => balancer,
        });
    }
    let text = format!("load balancers of Services use the network: {}", names.join(", "));
    let class = ErrorClass::Dependency { blockers: names };
    Ok(vec![finding(Some(&item.address), class, text, HINT)])
}

/// Whether a change deletes a load balancer that a controller created.
fn deletes(item: &PreflightItem, balancer: &str) -> bool {
    let name = item.address.name().strip_prefix(OF_CONTROLLERS);
    item.action == "delete"
        && item.address.kind() == "aws_lb"
        && name.is_some_and(|name| name.rsplit('/').next() == Some(balancer))
}

/// The descriptions of the interfaces that a filter finds.
async fn interfaces(cloud: &Cloud, name: &str, ids: &[Identity]) -> Result<Vec<String>, ProviderError> {
    let mut found = Vec::new();
    for part in ids.chunks(VALUES) {
        let filters = filter(name, part.iter().map(Identity::as_str));
        let request = cloud.ec2().describe_network_interfaces().filters(filters);
        let send = |token| request.clone().set_next_token(token).send();
        let call = "DescribeNetworkInterfaces";
        let pages = cloud.pages(Class::Ec2Read, call, send, |page| page.next_token()).await?;
        let interfaces = pages.iter().flat_map(|page| page.network_interfaces());
        found.extend(interfaces.filter_map(|interface| interface.description()).map(str::to_owned));
    }
    Ok(found)
}

/// The load balancers that controllers have named, with the ends of their ARNs. Descriptions are `ELB NAME` for classic load balancers
/// and `ELB net/NAME/ID` or `ELB app/NAME/ID` for others.
fn of_controllers<'d>(descriptions: impl Iterator<Item = &'d str>) -> BTreeMap<String, Option<String>> {
    let paths = descriptions.filter_map(|text| text.strip_prefix(OF_BALANCER));
    let named = paths.filter_map(|path| match path.split('/').collect::<Vec<_>>().as_slice() {
        [name] => Some((*name, None)),
        [_, name, _] => Some((*name, Some(path.to_owned()))),
        _ => None,
    });
    named.filter(|(name, _)| is_of_controller(name)).map(|(name, path)| (name.to_owned(), path)).collect()
}

/// Whether a controller has given a name: `a` and the uid of a Service in `cloud-provider-aws` and in Slipway, and `k8s-` in the AWS Load
/// Balancer Controller.
fn is_of_controller(name: &str) -> bool {
    let is_uid = |rest: &str| rest.len() == 31 && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.starts_with("k8s-") || name.strip_prefix('a').is_some_and(is_uid)
}

/// The Service of a load balancer, as `namespace/name`.
async fn service_of(cloud: &Cloud, path: Option<&str>) -> Result<Option<String>, ProviderError> {
    let Some(path) = path else { return Ok(None) };
    let (partition, region, account) = (cloud.partition(), cloud.region(), cloud.account());
    let arn = format!("arn:{partition}:elasticloadbalancing:{region}:{account}:loadbalancer/{path}");
    match tags_of(cloud, &arn).await {
        Ok(tags) => Ok(tags.and_then(|tags| SERVICE.iter().find_map(|key| tags.get(*key).cloned()))),
        Err(error) => unanswered("the Service of a load balancer", error).map(|()| None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_balancers_of_controllers_are_told_by_their_names() {
        let descriptions = [
            "ELB a0d3bf7a39d0f4d3c8a2f8c9f5ce7a1b",
            "ELB net/a1d3bf7a39d0f4d3c8a2f8c9f5ce7a1b/50dc6c495c0c9188",
            "ELB app/k8s-shop-web-0123456789/50dc6c495c0c9188",
            "ELB net/api-a-example-com-q1w2e3/50dc6c495c0c9188",
            "ELB another",
            "Interface for NAT Gateway nat-1",
        ];
        let found = of_controllers(descriptions.into_iter());
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        let expected = [
            "a0d3bf7a39d0f4d3c8a2f8c9f5ce7a1b",
            "a1d3bf7a39d0f4d3c8a2f8c9f5ce7a1b",
            "k8s-shop-web-0123456789",
        ];
        assert_eq!(names, expected);
        assert_eq!(found[expected[0]], None);
        assert!(found[expected[1]].as_deref().is_some_and(|path| path.starts_with("net/a1d3")));
    }
}
