//! Cases of `TestReconcile` and `TestIsResponsibleForRoute` of `k8s.io/cloud-provider`.

use slipway_resource::provider::NodeReference;

use super::*;

fn node(name: &str, ranges: &[&str]) -> RoutedNode {
    RoutedNode {
        target: NodeTarget {
            node: name.to_owned(),
            provider_id: Some(format!("sim:///{name}")),
            addresses: Vec::new(),
        },
        uid: format!("uid-{name}"),
        ranges: ranges.iter().map(|range| range.parse().unwrap()).collect(),
    }
}

fn route(name: &str, destination: &str) -> Route {
    Route {
        name: format!("{name}-{destination}"),
        destination: destination.parse().unwrap(),
        target: Some(NodeReference::ProviderId(format!("sim:///{name}"))),
        blackhole: false,
    }
}

fn planned(nodes: &[RoutedNode], routes: &[Route]) -> (Vec<String>, Vec<String>) {
    let plan = plan(nodes, routes, &["10.120.0.0/16".parse().unwrap(), "a00:100::/24".parse().unwrap()]);
    let create = plan.create.iter().map(|(at, range)| format!("{}-{range}", nodes[*at].target.node));
    (create.collect(), plan.delete.into_iter().map(|route| route.name).collect())
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn each_range_of_a_node_gets_a_route() {
    let two = [node("a", &["10.120.0.0/24"]), node("b", &["10.120.1.0/24"])];
    let (a, b) = (route("a", "10.120.0.0/24"), route("b", "10.120.1.0/24"));
    assert_eq!(planned(&two, &[a.clone(), b.clone()]), (vec![], vec![]));
    assert_eq!(planned(&two, &[]), (names(&["a-10.120.0.0/24", "b-10.120.1.0/24"]), vec![]));
    assert_eq!(planned(&two, std::slice::from_ref(&a)), (names(&["b-10.120.1.0/24"]), vec![]));
    // By its name too, in a cloud that does not know provider ids.
    let named = Route { target: Some(NodeReference::Name("b".to_owned())), ..b };
    assert_eq!(planned(&two, &[a, named]), (vec![], vec![]));
    let dual = [node("a", &["10.120.0.0/24", "a00:100::/64"])];
    assert_eq!(planned(&dual, &[route("a", "10.120.0.0/24")]), (names(&["a-a00:100::/64"]), vec![]));
    assert_eq!(planned(&[node("a", &[])], &[]), (vec![], vec![]));
}

#[test]
fn routes_that_no_node_has_are_deleted() {
    let one = [node("a", &["10.120.0.0/24"])];
    let a = route("a", "10.120.0.0/24");
    let gone = route("b", "10.120.1.0/24");
    assert_eq!(planned(&one, &[a.clone(), gone.clone()]), (vec![], names(&["b-10.120.1.0/24"])));
    // The range has become that of another node.
    assert_eq!(
        planned(&one, &[route("b", "10.120.0.0/24")]),
        (names(&["a-10.120.0.0/24"]), names(&["b-10.120.0.0/24"]))
    );
    // A black hole takes packets that another route could deliver.
    let blackhole = Route { blackhole: true, target: None, ..a.clone() };
    assert_eq!(planned(&one, &[blackhole]), (names(&["a-10.120.0.0/24"]), names(&["a-10.120.0.0/24"])));
    // Routes outside the cluster are those of others.
    let foreign = [a, route("b", "10.121.0.0/24"), route("b", "0.0.0.0/0"), route("b", "a00:200::/64")];
    assert_eq!(planned(&one, &foreign), (vec![], vec![]));
}

#[test]
fn a_node_whose_instance_is_not_known_yet_keeps_its_routes() {
    let mut waiting = node("a", &["10.120.0.0/24"]);
    waiting.target.provider_id = None;
    // The cloud tells targets by provider id: this may be the node or not.
    let route = route("a", "10.120.0.0/24");
    assert_eq!(planned(&[waiting.clone()], std::slice::from_ref(&route)), (vec![], vec![]));
    assert_eq!(planned(&[waiting.clone()], &[]), (vec![], vec![]));
    let blackhole = Route { blackhole: true, target: None, ..route };
    assert_eq!(planned(&[waiting], &[blackhole]), (vec![], names(&["a-10.120.0.0/24"])));
}

#[test]
fn a_range_of_two_nodes_has_no_route_to_both() {
    let nodes = [node("a", &["10.120.0.0/24"]), node("b", &["10.120.1.0/24"]), node("c", &["10.120.1.0/24"])];
    assert_eq!(doubled(&nodes), [1, 2]);
    assert_eq!(doubled(&nodes[..2]), Vec::<usize>::new());
}
