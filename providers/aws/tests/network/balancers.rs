//! Load balancers that another tool made are found by their tags: their names say nothing.

use aws_credential_types::Credentials;
use aws_sdk_ec2::config::{BehaviorVersion, Region};
use aws_sdk_elasticloadbalancingv2::types::{LoadBalancerTypeEnum, ProtocolEnum, Tag};
use slipway_resource::provider::{LocateItem, LocateRequest, Located};
use slipway_resource::{Identity, Value};

use crate::support::{CLUSTER, Cloud, REGION, moto};

/// The tags of kOps; those of a replaced object have the number of replacements.
fn tags(cluster: &str, name: &str, revision: Option<u32>) -> Vec<Tag> {
    let tag = |key: &str, value: &str| Tag::builder().key(key).value(value).build();
    let revision = revision.map(|number| tag("kops.k8s.io/revision", &number.to_string()));
    [tag("KubernetesCluster", cluster), tag("Name", name)].into_iter().chain(revision).collect()
}

fn item(address: &str, name: &str, wanted: &str) -> LocateItem {
    let desired = Value::map([("name", Value::from(wanted)), ("tags", Value::map([("Name", name)]))]);
    LocateItem { address: address.parse().unwrap(), desired, existing: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn are_found_by_their_tags() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let credentials = Credentials::new("testing", "testing", None, None, "test");
    let config = aws_sdk_ec2::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(REGION))
        .endpoint_url(moto.endpoint())
        .credentials_provider(credentials.clone());
    let ec2 = aws_sdk_ec2::Client::from_conf(config.build());
    let config = aws_sdk_elasticloadbalancingv2::Config::builder()
        .behavior_version(aws_sdk_elasticloadbalancingv2::config::BehaviorVersion::latest())
        .region(Region::new(REGION))
        .endpoint_url(moto.endpoint())
        .credentials_provider(credentials);
    let balancing = aws_sdk_elasticloadbalancingv2::Client::from_conf(config.build());
    let mut networks = Vec::new();
    for range in ["10.0", "10.1"] {
        let vpc = ec2.create_vpc().cidr_block(format!("{range}.0.0/16")).send().await.unwrap();
        let vpc = vpc.vpc().unwrap().vpc_id().unwrap().to_owned();
        let subnet = ec2.create_subnet().vpc_id(&vpc).cidr_block(format!("{range}.1.0/24"));
        let subnet = subnet.availability_zone(format!("{REGION}a")).send().await.unwrap();
        networks.push((vpc, subnet.subnet().unwrap().subnet_id().unwrap().to_owned()));
    }
    let balancer = async |name: &str, network: usize, tags: Vec<Tag>| {
        let request = balancing.create_load_balancer().name(name).r#type(LoadBalancerTypeEnum::Network);
        let made = request.subnets(&networks[network].1).set_tags(Some(tags)).send().await.unwrap();
        made.load_balancers()[0].load_balancer_arn().unwrap().to_owned()
    };
    let target_group = async |name: &str, network: usize, tags: Vec<Tag>| {
        let request = balancing.create_target_group().name(name).protocol(ProtocolEnum::Tcp).port(443);
        let made = request.vpc_id(&networks[network].0).set_tags(Some(tags)).send().await.unwrap();
        made.target_groups()[0].target_group_arn().unwrap().to_owned()
    };
    balancer("api-first", 0, tags(CLUSTER, "api", None)).await;
    let newest = balancer("api-newest", 0, tags(CLUSTER, "api", Some(10))).await;
    balancer("api-second", 0, tags(CLUSTER, "api", Some(9))).await;
    balancer("api-of-another", 0, tags("b.example.com", "api", Some(11))).await;
    balancer("api-elsewhere", 1, tags(CLUSTER, "api", Some(12))).await;
    let group = target_group("anything", 0, tags(CLUSTER, "tcp-a", None)).await;
    let twins = [
        target_group("one", 0, tags(CLUSTER, "twins", Some(2))).await,
        target_group("other", 0, tags(CLUSTER, "twins", Some(2))).await,
    ];
    // An object without tags is found by its name.
    let named = target_group("by-name", 0, Vec::new()).await;

    let in_network = |mut item: LocateItem| {
        if let Value::Map(entries) = &mut item.desired {
            entries.insert("vpc_id".to_owned(), networks[0].0.as_str().into());
        }
        item
    };
    let items = vec![
        in_network(item("aws_lb.api", "api", "api-first")),
        in_network(item("aws_lb_target_group.tcp", "tcp-a", "tcp-a")),
        in_network(item("aws_lb_target_group.twins", "twins", "twins")),
        in_network(item("aws_lb_target_group.named", "nobody", "by-name")),
        in_network(item("aws_lb_target_group.none", "nobody", "none")),
    ];
    let request = LocateRequest { cluster: CLUSTER.to_owned(), items };
    let located = cloud.session.locate(request).await.unwrap();
    let found: Vec<Option<&str>> =
        located.iter().map(|located| located.identity().map(Identity::as_str)).collect();
    assert_eq!(found, [Some(newest.as_str()), Some(&group), None, Some(&named), None]);
    let Located { identities, .. } = &located[2];
    assert!(twins.iter().all(|twin| identities.iter().any(|id| id.as_str() == twin)), "{identities:?}");
    cloud.end().await;
}
