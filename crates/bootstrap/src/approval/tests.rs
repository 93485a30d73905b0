use super::{Client, Denial, Requester, client, serving};
use crate::{
    configuration::EncryptionAlgorithm,
    pki::{AlternativeNames, PrivateKey, Request, Subject},
    token::group_of_node,
};

fn request(user: &str, groups: &[&str], names: &[&str]) -> Request {
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    let subject = Subject::new(user).with_organizations(groups.iter().copied());
    Request::new(&subject, &AlternativeNames::of(names), &key).unwrap()
}

fn node(names: &[&str]) -> Request {
    request("system:node:w-0", &["system:nodes"], names)
}

fn usages(extended: &str) -> Vec<String> {
    vec!["digital signature".to_owned(), extended.to_owned()]
}

fn groups(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn ask_client(request: &Request, user: &str, of: &[&str]) -> Result<Client, Denial> {
    client(request, &usages("client auth"), Requester { user, groups: &groups(of) })
}

#[test]
fn a_token_gets_a_node_its_certificate_and_the_node_its_successor() {
    let bootstrapper = ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"];
    let first = ask_client(&node(&[]), "system:bootstrap:abcdef", &bootstrapper);
    assert_eq!(first, Ok(Client { node: "w-0".to_owned(), renewal: false }));
    let second = ask_client(&node(&[]), "system:node:w-0", &["system:nodes"]);
    assert_eq!(second, Ok(Client { node: "w-0".to_owned(), renewal: true }));
}

#[test]
fn a_bound_token_gets_one_node_only() {
    let (own, other) = (group_of_node("w-0"), group_of_node("w-1"));
    let ask =
        |group: &str| ask_client(&node(&[]), "system:bootstrap:abcdef", &["system:bootstrappers", group]);
    assert!(ask(&own).is_ok());
    assert!(matches!(ask(&other), Err(Denial::BoundToAnother { bound, .. }) if bound == "w-1"));
}

#[test]
fn forged_client_requests_are_denied() {
    let bootstrapper = ["system:bootstrappers"];
    let ask = |request: &Request| ask_client(request, "system:bootstrap:abcdef", &bootstrapper).unwrap_err();
    assert!(matches!(ask(&request("kubernetes-admin", &["system:masters"], &[])), Denial::NoNode(_)));
    assert!(matches!(
        ask(&request("system:node:w-0", &["system:nodes", "system:masters"], &[])),
        Denial::NoNode(_)
    ));
    assert!(matches!(ask(&request("system:node:", &["system:nodes"], &[])), Denial::NoNode(_)));
    assert_eq!(ask(&node(&["w-0"])), Denial::Names);
    let other = ask_client(&node(&[]), "system:node:w-1", &["system:nodes"]);
    assert!(matches!(other, Err(Denial::Requester { .. })));
    // The name alone does not make a node.
    assert!(ask_client(&node(&[]), "system:node:w-0", &["system:authenticated"]).is_err());
    for given in [
        &["client auth"][..],
        &["digital signature", "client auth", "server auth"],
        &["digital signature", "server auth"],
    ] {
        let groups = groups(&bootstrapper);
        let requester = Requester { user: "system:bootstrap:abcdef", groups: &groups };
        assert!(
            matches!(client(&node(&[]), &self::groups(given), requester), Err(Denial::Usages(_))),
            "{given:?}"
        );
    }
}

#[test]
fn serving_certificates_are_for_what_a_node_is_known_to_be() {
    let known = AlternativeNames::of(["w-0", "w-0.example.test", "10.0.0.12", "fd00::12"]);
    let ask = |request: &Request, user: &str| {
        let groups = groups(&["system:nodes"]);
        serving(request, &usages("server auth"), Requester { user, groups: &groups }, &known)
    };
    assert_eq!(ask(&node(&["w-0", "10.0.0.12"]), "system:node:w-0"), Ok("w-0".to_owned()));
    let denied = ask(&node(&["w-0", "10.0.0.13", "*.example.test"]), "system:node:w-0").unwrap_err();
    assert_eq!(denied.to_string(), "the node \"w-0\" is not known to have *.example.test, 10.0.0.13");
    assert!(matches!(ask(&node(&["w-0"]), "system:node:w-1"), Err(Denial::Requester { .. })));
    assert_eq!(ask(&node(&[]), "system:node:w-0"), Err(Denial::NoNames));
    assert!(matches!(ask(&request("w-0", &["system:nodes"], &["w-0"]), "w-0"), Err(Denial::NoNode(_))));
}
