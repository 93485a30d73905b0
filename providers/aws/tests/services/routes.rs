//! Routes to the pods of nodes.

use slipway_resource::ErrorClass;
use slipway_resource::provider::{NewRoute, NodeReference, NodeTarget};

use crate::identity::ask;
use crate::instances::start;
use crate::support::{Cloud, moto};

const CLUSTER: &str = "a.example.com";

const PODS: &str = "10.244.1.0/24";

/// Creates a route table of the cluster in the default VPC; returns its id.
fn table(port: u16) -> String {
    let vpc = ask(port, "ec2", "Action=DescribeVpcs&Version=2016-11-15", "vpcId");
    let create = format!(
        "Action=CreateRouteTable&Version=2016-11-15&VpcId={vpc}&TagSpecification.1.ResourceType=route-table\
         &TagSpecification.1.Tag.1.Key=kubernetes.io/cluster/{CLUSTER}&TagSpecification.1.Tag.1.Value=owned"
    );
    ask(port, "ec2", &create, "routeTableId")
}

fn route(instance: &str) -> NewRoute {
    let provider_id = Some(format!("aws:///us-east-1a/{instance}"));
    let target = NodeTarget { node: "any".to_owned(), provider_id, addresses: Vec::new() };
    NewRoute { name_hint: "uid".to_owned(), destination: PODS.parse().unwrap(), target }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_route_is_one_in_all_tables_of_the_cluster() {
    let moto = moto();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let port = moto.port();
    let ((one, _), (two, _)) = (start(port, CLUSTER), start(port, CLUSTER));
    let routes = cloud.session.routes().unwrap();
    let error = routes.list(CLUSTER).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::NotFound, "{error}");
    let (_, second) = (table(port), table(port));

    assert_eq!(routes.list(CLUSTER).await.unwrap(), []);
    routes.create(CLUSTER, &route(&one)).await.unwrap();
    routes.create(CLUSTER, &route(&one)).await.unwrap();
    let error = routes.create(CLUSTER, &route(&two)).await.unwrap_err();
    assert_eq!(error.class, ErrorClass::Conflict, "{error}");
    let listed = routes.list(CLUSTER).await.unwrap();
    let [whole] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!(whole.destination.to_string(), PODS);
    let Some(NodeReference::ProviderId(id)) = &whole.target else { panic!("{whole:?}") };
    assert!(id.ends_with(&one) && !whole.blackhole, "{whole:?}");

    // A table that has lost the route gets it again, once the others have lost it too.
    let lose =
        format!("Action=DeleteRoute&Version=2016-11-15&RouteTableId={second}&DestinationCidrBlock={PODS}");
    ask(port, "ec2", &lose, "requestId");
    let listed = routes.list(CLUSTER).await.unwrap();
    let [part] = listed.as_slice() else { panic!("{listed:?}") };
    assert_eq!(part.target, None);
    routes.delete(CLUSTER, part).await.unwrap();
    routes.delete(CLUSTER, part).await.unwrap();
    assert_eq!(routes.list(CLUSTER).await.unwrap(), []);
    let missing = routes.create(CLUSTER, &route("i-0123456789abcdef0")).await.unwrap_err();
    assert_eq!(missing.class, ErrorClass::NotFound, "{missing}");
    cloud.end().await;
}
