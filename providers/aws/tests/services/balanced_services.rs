//! Load balancers of Services.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use slipway_resource::provider::{
    BalancedPort, BalancedService, BalancerKey, DesiredBalancer, IngressPoint, IpFamily, LoadBalancer,
    NodeTarget, PortProtocol, PreflightItem, balancer_name,
};
use slipway_resource::{ErrorClass, Identity, Value};
use slipway_testkit::lab::values;

use crate::identity::{answer, ask};
use crate::life::create;
use crate::support::{Cloud, moto};

const CLUSTER: &str = "a.example.com";

const UID: &str = "0d3bf7a3-9d0f-4d3c-8a2f-8c9f5ce7a1b2";

/// A network of the cluster with one public subnet, a group for nodes, and an emulator that has it.
struct Network {
    port: u16,
    subnet: String,
    nodes: String,
}

impl Network {
    fn create(port: u16) -> Self {
        let ec2 =
            |body: &str, element: &str| ask(port, "ec2", &format!("{body}&Version=2016-11-15"), element);
        let tags = |kind: &str| {
            format!(
                "TagSpecification.1.ResourceType={kind}\
                 &TagSpecification.1.Tag.1.Key=kubernetes.io/cluster/{CLUSTER}&TagSpecification.1.Tag.1.Value=owned\
                 &TagSpecification.1.Tag.2.Key=kubernetes.io/role/elb&TagSpecification.1.Tag.2.Value=1"
            )
        };
        let vpc = ec2("Action=CreateVpc&CidrBlock=10.0.0.0/16", "vpcId");
        let subnet = format!(
            "Action=CreateSubnet&VpcId={vpc}&CidrBlock=10.0.0.0/24&AvailabilityZone=us-east-1a&{}",
            tags("subnet")
        );
        let group = format!(
            "Action=CreateSecurityGroup&VpcId={vpc}&GroupName=nodes&GroupDescription=nodes&{}",
            tags("security-group")
        );
        let (subnet, nodes) = (ec2(&subnet, "subnetId"), ec2(&group, "groupId"));
        Self { port, subnet, nodes }
    }

    /// Marks the network as that of an adopted cluster.
    fn is_of_kops(&self) {
        self.tag(&self.nodes, "KubernetesCluster", CLUSTER);
    }

    fn tag(&self, object: &str, key: &str, value: &str) {
        let body = format!(
            "Action=CreateTags&Version=2016-11-15&ResourceId.1={object}&Tag.1.Key={key}&Tag.1.Value={value}"
        );
        answer(self.port, "ec2", &body);
    }

    /// Starts an instance.
    fn node(&self) -> NodeTarget {
        let run = format!(
            "Action=RunInstances&Version=2016-11-15&ImageId=ami-12c6146b&MinCount=1&MaxCount=1&InstanceType=t3.micro\
             &SubnetId={}&SecurityGroupId.1={}",
            self.subnet, self.nodes
        );
        let id = ask(self.port, "ec2", &run, "instanceId");
        let provider_id = Some(format!("aws:///us-east-1a/{id}"));
        NodeTarget { node: id, provider_id, addresses: Vec::new() }
    }

    /// The texts of an element in all answers of a call of load balancing.
    fn balancing(&self, call: &str, element: &str) -> Vec<String> {
        let body = format!("Action={call}&Version=2015-12-01");
        let text = answer(self.port, "elasticloadbalancing", &body);
        values(&text, element).into_iter().map(str::to_owned).collect()
    }

    /// The instances that get connections of a target group.
    fn targets(&self, group: &str) -> Vec<String> {
        let mut found = self.balancing(&format!("DescribeTargetHealth&TargetGroupArn={group}"), "Id");
        found.sort();
        found
    }

    /// The answer about security groups that a filter finds.
    fn groups(&self, filter: &str, value: &str) -> String {
        let body = format!(
            "Action=DescribeSecurityGroups&Version=2016-11-15&Filter.1.Name={filter}&Filter.1.Value.1={value}"
        );
        answer(self.port, "ec2", &body)
    }
}

fn port(protocol: PortProtocol, port: u16, node_port: u16) -> BalancedPort {
    BalancedPort { name: String::new(), protocol, port, node_port: Some(node_port), app_protocol: None }
}

fn web(nodes: &[&NodeTarget]) -> DesiredBalancer {
    let key =
        BalancerKey { cluster: CLUSTER.to_owned(), name: balancer_name(UID), service: "shop/web".to_owned() };
    let service = BalancedService {
        ports: vec![port(PortProtocol::Tcp, 80, 30_080), port(PortProtocol::Tcp, 443, 30_443)],
        source_ranges: "10.0.0.0/8".parse().into_iter().collect(),
        client_affinity: None,
        annotations: BTreeMap::new(),
        health_check_node_port: None,
        address: None,
        ip_families: vec![IpFamily::V4],
    };
    DesiredBalancer { key, service, nodes: nodes.iter().map(|node| (*node).clone()).collect() }
}

fn ids(nodes: &[&NodeTarget]) -> Vec<String> {
    let mut ids: Vec<String> = nodes.iter().map(|node| node.node.clone()).collect();
    ids.sort();
    ids
}

fn name_of(balancer: &LoadBalancer) -> &str {
    match balancer.ingress.as_slice() {
        [ingress] => match &ingress.at {
            IngressPoint::Hostname(name) => name,
            other @ IngressPoint::Ip { .. } => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_gets_a_network_load_balancer_that_follows_it() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let network = Network::create(moto.port());
    let (one, two) = (network.node(), network.node());
    let balancers = cloud.session.load_balancers().unwrap();

    let mut desired = web(&[&one]);
    let made = balancers.ensure(&desired).await.unwrap();
    assert!(name_of(&made).ends_with(".elb.amazonaws.com"), "{made:?}");
    assert_eq!(network.balancing("DescribeLoadBalancers", "Scheme"), ["internet-facing"]);
    assert_eq!(network.balancing("DescribeLoadBalancers", "Type"), ["network"]);
    let arn = network.balancing("DescribeLoadBalancers", "LoadBalancerArn").remove(0);
    let groups = network.balancing("DescribeTargetGroups", "TargetGroupArn");
    assert_eq!(groups.len(), 2);
    for object in [&arn, &groups[0]] {
        let tags = network.balancing(&format!("DescribeTags&ResourceArns.member.1={object}"), "Value");
        assert!(tags.contains(&"shop/web".to_owned()) && tags.contains(&CLUSTER.to_owned()), "{tags:?}");
    }
    assert_eq!(network.targets(&groups[0]), ids(&[&one]));
    // The load balancer has a group of its own, which the nodes let in.
    let own = network.groups("group-name", &format!("k8s-elb-{}", desired.key.name));
    assert!(own.contains("10.0.0.0/8") && own.contains("<toPort>443</toPort>"), "{own}");
    let id = values(&own, "groupId")[0].to_owned();
    assert!(network.groups("group-id", &network.nodes).contains(&id));

    // Ports, health checks and ranges change in place; the name stays.
    desired.service.ports = vec![port(PortProtocol::Tcp, 80, 30_081), port(PortProtocol::Udp, 53, 30_053)];
    desired.service.health_check_node_port = Some(32_000);
    desired.service.source_ranges = "192.0.2.0/24".parse().into_iter().collect();
    desired.nodes.push(two.clone());
    for _ in 0..2 {
        assert_eq!(balancers.ensure(&desired).await.unwrap(), made);
    }
    let listeners = format!("DescribeListeners&LoadBalancerArn={arn}");
    let mut ports = network.balancing(&listeners, "Port");
    ports.sort();
    assert_eq!(ports, ["53", "80"]);
    let groups = network.balancing("DescribeTargetGroups", "TargetGroupArn");
    assert_eq!(groups.len(), 2, "{groups:?}");
    assert_eq!(network.balancing("DescribeTargetGroups", "HealthCheckPort"), ["32000", "32000"]);
    assert_eq!(network.balancing("DescribeTargetGroups", "HealthCheckPath"), ["/healthz", "/healthz"]);
    for group in &groups {
        assert_eq!(network.targets(group), ids(&[&one, &two]));
    }
    let own = network.groups("group-id", &id);
    assert!(own.contains("192.0.2.0/24") && !own.contains("10.0.0.0/8"), "{own}");
    assert!(!own.contains("<toPort>443</toPort>"), "{own}");

    // Nodes change alone.
    let nodes = DesiredBalancer { nodes: vec![two.clone()], ..desired.clone() };
    balancers.update(&nodes).await.unwrap();
    for group in &groups {
        assert_eq!(network.targets(group), ids(&[&two]));
    }
    // A scheme does not: AWS decides it once.
    let internal = "service.beta.kubernetes.io/aws-load-balancer-internal".to_owned();
    desired.service.annotations.insert(internal, "true".to_owned());
    let error = balancers.ensure(&desired).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid, "{error}");

    for _ in 0..2 {
        balancers.delete(&desired.key).await.unwrap();
    }
    assert_eq!(balancers.get(&desired.key).await.unwrap(), None);
    assert_eq!(network.balancing("DescribeLoadBalancers", "LoadBalancerArn"), Vec::<String>::new());
    assert_eq!(network.balancing("DescribeTargetGroups", "TargetGroupArn"), Vec::<String>::new());
    assert!(!network.groups("group-id", &network.nodes).contains(&id));
    assert!(!network.groups("group-name", &format!("k8s-elb-{}", desired.key.name)).contains(&id));
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_balancer_exists_until_its_last_part_is_gone_and_belongs_to_one_cluster() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let network = Network::create(moto.port());
    let balancers = cloud.session.load_balancers().unwrap();
    let desired = web(&[&network.node()]);
    let missing = balancers.update(&desired).await.unwrap_err();
    assert_eq!(missing.class, ErrorClass::NotFound, "{missing}");
    balancers.ensure(&desired).await.unwrap();

    let elsewhere = BalancerKey { cluster: "b.example.com".to_owned(), ..desired.key.clone() };
    assert_eq!(balancers.get(&elsewhere).await.unwrap(), None);
    balancers.delete(&elsewhere).await.unwrap();
    assert_ne!(balancers.get(&desired.key).await.unwrap(), None);

    // Somebody deletes the load balancer: its target groups and its security group still exist.
    let arn = network.balancing("DescribeLoadBalancers", "LoadBalancerArn").remove(0);
    network.balancing(&format!("DeleteLoadBalancer&LoadBalancerArn={arn}"), "RequestId");
    let left = balancers.get(&desired.key).await.unwrap();
    assert_eq!(left, Some(LoadBalancer::default()));
    balancers.delete(&desired.key).await.unwrap();
    assert_eq!(network.balancing("DescribeTargetGroups", "TargetGroupArn"), Vec::<String>::new());
    assert_eq!(balancers.get(&desired.key).await.unwrap(), None);

    // One without a security group was created by another controller. It is neither used nor called absent, and deleted if it has the
    // tag of the cluster.
    let create = format!(
        "CreateLoadBalancer&Type=network&Name={}&Subnets.member.1={}",
        desired.key.name, network.subnet
    );
    let arn = network.balancing(&create, "LoadBalancerArn").remove(0);
    let error = balancers.get(&desired.key).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Conflict, "{error}");
    let error = balancers.delete(&desired.key).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Conflict, "{error}");
    let error = balancers.ensure(&desired).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Conflict, "{error}");
    let tag = format!(
        "AddTags&ResourceArns.member.1={arn}&Tags.member.1.Key=kubernetes.io/cluster/{CLUSTER}&Tags.member.1.Value=owned"
    );
    network.balancing(&tag, "RequestId");
    assert!(balancers.get(&desired.key).await.unwrap().is_some());
    assert_eq!(balancers.ensure(&desired).await.unwrap_err().class, ErrorClass::Conflict);
    balancers.delete(&desired.key).await.unwrap();
    assert_eq!(balancers.get(&desired.key).await.unwrap(), None);
    cloud.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_names_the_load_balancers_of_services_before_its_first_change() {
    let moto = moto();
    let (endpoint, port) = (moto.endpoint(), moto.port());
    let settings = |leaving: bool| {
        Value::map([("endpoint", Value::from(endpoint.as_str())), ("leaving", leaving.into())])
    };
    let leaving = Cloud::open_with(&settings(true)).await;
    let vpc = create(&leaving, "aws_vpc.a", &json!({"cidr_block": "10.0.0.0/16"})).await;
    let subnet =
        json!({"vpc_id": vpc.as_str(), "availability_zone": "us-east-1a", "cidr_block": "10.0.0.0/24"});
    let subnet = create(&leaving, "aws_subnet.a", &subnet).await;
    let delete = |address: &str| PreflightItem {
        address: address.parse().unwrap(),
        action: "delete".to_owned(),
        desired: Value::Null,
    };
    let items = || vec![delete("aws_subnet.a"), delete("aws_vpc.a")];
    assert_eq!(leaving.session.preflight(items()).await.unwrap(), []);

    // AWS creates interfaces of load balancers, with such descriptions; the emulator creates none.
    let name = balancer_name(UID);
    let balancer = format!(
        "Action=CreateLoadBalancer&Version=2015-12-01&Type=network&Name={name}&Subnets.member.1={subnet}\
         &Tags.member.1.Key=kubernetes.io/service-name&Tags.member.1.Value=shop/web"
    );
    let arn = ask(port, "elasticloadbalancing", &balancer, "LoadBalancerArn");
    let path = arn.split_once(":loadbalancer/").unwrap().1;
    for description in [path, "a1d3bf7a39d0f4d3c8a2f8c9f5ce7a1b", "net/api-a-example-com-q1w2e3/1"] {
        let interface = format!(
            "Action=CreateNetworkInterface&Version=2016-11-15&SubnetId={subnet}&Description=ELB%20{description}"
        );
        ask(port, "ec2", &interface, "networkInterfaceId");
    }
    let findings = leaving.session.preflight(items()).await.unwrap();
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    let blockers = vec![format!("{name} of shop/web"), "a1d3bf7a39d0f4d3c8a2f8c9f5ce7a1b".to_owned()];
    assert_eq!(finding.class, ErrorClass::Dependency { blockers });
    assert!(finding.message.contains(&name), "{finding:?}");
    leaving.end().await;

    // A plan that deletes only a part of a cluster is none of their business.
    let staying = Cloud::open_with(&settings(false)).await;
    staying.read("aws_vpc.a", &vpc).await;
    assert_eq!(staying.session.preflight(items()).await.unwrap(), []);
    staying.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deletion_of_a_cluster_finds_what_its_controllers_created() {
    let moto = moto();
    let (endpoint, port) = (moto.endpoint(), moto.port());
    let staying = Cloud::open(&endpoint).await;
    let network = Network::create(port);
    let desired = web(&[&network.node()]);
    staying.session.load_balancers().unwrap().ensure(&desired).await.unwrap();
    let volume = |tags: &[(&str, &str)]| {
        let mut body = "Action=CreateVolume&Version=2016-11-15&AvailabilityZone=us-east-1a&Size=1\
                        &TagSpecification.1.ResourceType=volume"
            .to_owned();
        for (index, (key, value)) in tags.iter().enumerate() {
            let number = index + 1;
            body.push_str(&format!(
                "&TagSpecification.1.Tag.{number}.Key={key}&TagSpecification.1.Tag.{number}.Value={value}"
            ));
        }
        ask(port, "ec2", &body, "volumeId")
    };
    network.is_of_kops();
    let membership = format!("kubernetes.io/cluster/{CLUSTER}");
    let claim = [
        ("kubernetes.io/created-for/pvc/namespace", "shop"),
        ("kubernetes.io/created-for/pvc/name", "data"),
        ("CSIVolumeName", "pvc-1"),
    ];
    let dynamic = volume(&[&claim[..], &[(membership.as_str(), "owned")][..]].concat());
    // Of another cluster, and of a person: these are none of the cluster's controllers.
    volume(&[&claim[..], &[("kubernetes.io/cluster/b.example.com", "owned")][..]].concat());
    volume(&[(membership.as_str(), "owned")]);
    assert!(staying.discover().await.is_empty(), "only a deletion of the whole cluster looks for them");
    staying.end().await;

    let settings = Value::map([("endpoint", Value::from(endpoint.as_str())), ("leaving", true.into())]);
    let leaving = Cloud::open_with(&settings).await;
    let mut found: Vec<_> = leaving
        .discover()
        .await
        .into_iter()
        .map(|found| (found.address.to_string(), found.identity))
        .collect();
    found.sort();
    let own = network.groups("group-name", &format!("k8s-elb-{}", desired.key.name));
    let group = values(&own, "groupId")[0].to_owned();
    let addresses: Vec<&str> = found.iter().map(|(address, _)| address.as_str()).collect();
    let [disk, balancer, one, two, security_group] = addresses.as_slice() else { panic!("{addresses:?}") };
    assert_eq!(*disk, format!("aws_ebs_volume.of-controllers/shop/data/{dynamic}"));
    assert_eq!(*balancer, format!("aws_lb.of-controllers/shop/web/{}", desired.key.name));
    for target_group in [one, two] {
        assert!(target_group.starts_with("aws_lb_target_group.of-controllers/shop/web/k8s-web-"));
    }
    assert_eq!(*security_group, format!("aws_security_group.of-controllers/shop/web/{group}"));

    // A finding about this load balancer would stop the plan that deletes it.
    let subnet = &network.subnet;
    let interface = format!(
        "Action=CreateNetworkInterface&Version=2016-11-15&SubnetId={subnet}&Description=ELB%20net/{}/1",
        desired.key.name
    );
    let interface = ask(port, "ec2", &interface, "networkInterfaceId");
    leaving.read("aws_subnet.a", &Identity::new(subnet.as_str())).await;
    let items = ["aws_subnet.a", *balancer].map(|address| PreflightItem {
        address: address.parse().unwrap(),
        action: "delete".to_owned(),
        desired: Value::Null,
    });
    assert_eq!(leaving.session.preflight(items[..1].to_vec()).await.unwrap().len(), 1);
    assert_eq!(leaving.session.preflight(items.to_vec()).await.unwrap(), []);
    let delete = format!("Action=DeleteNetworkInterface&Version=2016-11-15&NetworkInterfaceId={interface}");
    answer(port, "ec2", &delete);

    // As long as a machine of the cluster runs, its controller would create the load balancer again.
    let machine = format!(
        "Action=RunInstances&Version=2016-11-15&ImageId=ami-12c6146b&MinCount=1&MaxCount=1&InstanceType=t3.micro\
         &SubnetId={subnet}&TagSpecification.1.ResourceType=instance\
         &TagSpecification.1.Tag.1.Key={membership}&TagSpecification.1.Tag.1.Value=owned"
    );
    let machine = ask(port, "ec2", &machine, "instanceId");
    let balancers = || network.balancing("DescribeLoadBalancers", "LoadBalancerArn").len();
    let end_of_machine = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(balancers(), 1);
        answer(port, "ec2", &format!("Action=TerminateInstances&Version=2016-11-15&InstanceId.1={machine}"));
    };
    let (address, identity) = &found[1];
    tokio::join!(leaving.delete(address, identity), end_of_machine);
    assert_eq!(balancers(), 0);
    for (address, identity) in &found {
        leaving.delete(address, identity).await;
    }
    assert!(leaving.discover().await.is_empty());
    assert_eq!(network.balancing("DescribeLoadBalancers", "LoadBalancerArn"), Vec::<String>::new());
    assert_eq!(network.balancing("DescribeTargetGroups", "TargetGroupArn"), Vec::<String>::new());
    assert!(!network.groups("group-id", &network.nodes).contains(&group), "nodes let it in no more");
    leaving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deletion_of_a_cluster_finds_nothing_of_another_cluster_of_the_name() {
    let moto = moto();
    let (endpoint, port) = (moto.endpoint(), moto.port());
    let settings = Value::map([("endpoint", Value::from(endpoint.as_str())), ("leaving", true.into())]);
    let leaving = Cloud::open_with(&settings).await;
    let (network, other) = (Network::create(port), Network::create(port));
    let membership = format!("kubernetes.io/cluster/{CLUSTER}");
    for (name, place) in [("own", &network), ("other", &other)] {
        let create = format!("CreateLoadBalancer&Type=network&Name={name}&Subnets.member.1={}", place.subnet);
        let arn = place.balancing(&create, "LoadBalancerArn").remove(0);
        for (key, value) in [(membership.as_str(), "owned"), ("kubernetes.io/service-name", "shop/web")] {
            let tag = format!(
                "AddTags&ResourceArns.member.1={arn}&Tags.member.1.Key={key}&Tags.member.1.Value={value}"
            );
            place.balancing(&tag, "RequestId");
        }
    }
    let volume = format!(
        "Action=CreateVolume&Version=2016-11-15&AvailabilityZone=us-east-1a&Size=1&TagSpecification.1.ResourceType=volume\
         &TagSpecification.1.Tag.1.Key={membership}&TagSpecification.1.Tag.1.Value=owned\
         &TagSpecification.1.Tag.2.Key=CSIVolumeName&TagSpecification.1.Tag.2.Value=pvc-1"
    );
    let volume = ask(port, "ec2", &volume, "volumeId");
    let found = async || {
        let found = leaving.discover().await.into_iter().map(|found| found.address.to_string());
        let mut found: Vec<String> = found.filter(|address| address.contains(".of-controllers/")).collect();
        found.sort();
        found
    };
    assert_eq!(found().await, Vec::<String>::new(), "nothing tells where the cluster is");

    network.tag(&network.nodes, "slipway.dev/cluster-uid", leaving.uid.as_str());
    let balancer = "aws_lb.of-controllers/shop/web/own".to_owned();
    let volume = format!("aws_ebs_volume.of-controllers/{volume}");
    assert_eq!(found().await, [volume, balancer.clone()]);

    // A machine of the other cluster may use the volume later, and the load balancer does not wait for it.
    let machine = other.node().node;
    other.tag(&machine, &membership, "owned");
    assert_eq!(found().await, std::slice::from_ref(&balancer));
    let arn = network.balancing("DescribeLoadBalancers&Names.member.1=own", "LoadBalancerArn").remove(0);
    leaving.delete(&balancer, &Identity::new(arn)).await;
    assert_eq!(network.balancing("DescribeLoadBalancers", "LoadBalancerArn").len(), 1);
    leaving.end().await;
}
