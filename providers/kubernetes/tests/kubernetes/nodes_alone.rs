//! The nodes of a cluster that Slipway did not make: listed and emptied by a server, a certificate and a token, with the rights
//! that the guide names and no others.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use serde_json::json;
use slipway_provider_kubernetes::{Kubernetes, NODE, NotYet, TokenAccess};
use slipway_resource::provider::{
    Action, ApplyRequest, DiscoverRequest, EventSink, Provider as _, ReadRequest, SessionRequest, operation,
};
use slipway_resource::{
    Address, ClusterUid, ErrorClass, Identity, Observation, Ownership, ProviderError, Session, Token, Value,
};

use crate::lab::Api;
use crate::nodes::{register, run_pod};

/// The table of permissions in `docs/guide/aws.md`.
const RIGHTS: [(&str, &str, &str); 4] = [
    ("", "nodes", "get,list,patch"),
    ("", "pods", "list,delete"),
    ("", "pods/eviction", "create"),
    ("policy", "poddisruptionbudgets", "list"),
];

/// A service account with these rights, and its token.
fn account(api: &Api) -> Result<String> {
    let rules: Vec<_> = RIGHTS
        .iter()
        .map(|(group, resource, verbs)| {
            json!({"apiGroups": [group], "resources": [resource], "verbs": verbs.split(',').collect::<Vec<_>>()})
        })
        .collect();
    let subject = json!({"kind": "ServiceAccount", "name": "rolls", "namespace": "default"});
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "rolls"});
    let rbac = "rbac.authorization.k8s.io/v1";
    let all = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "rolls", "namespace": "default"}},
        {"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": "rolls"}, "rules": rules},
        {"apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": {"name": "rolls"}, "roleRef": role, "subjects": [subject]}]});
    api.kubectl_with(&["create", "-f", "-"], &all.to_string())?;
    api.kubectl(&["create", "token", "rolls"])
}

async fn gate(session: &dyn Session, name: &str, arguments: Value) -> Result<(), ProviderError> {
    let address = Address::new(NODE, "node-a");
    let ownership = Ownership { uid: ClusterUid::new("u"), cluster: "demo".to_owned(), address };
    let action =
        Action::Operation { identity: Identity::new("Node//node-a"), name: name.to_owned(), arguments };
    let token = Token::new(format!("t-{name}"));
    let request = ApplyRequest { token, ownership, action, timeout_ms: 20_000 };
    session.apply(request, EventSink::discard()).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_for_nodes_alone_is_enough_for_a_roll() -> Result<()> {
    let api = Api::start(true)?;
    let folder = tempfile::tempdir()?;
    let token_file = folder.path().join("token");
    let token = account(&api)?;
    std::fs::write(&token_file, "expired")?;
    let (endpoint, ca) = api.server();
    let access = TokenAccess {
        setting: "provider.config.clusterApi".to_owned(),
        endpoint,
        ca_file: Some(ca),
        token_file: Some(token_file.clone()),
        networks: Some(Vec::new()),
    };
    let provider = Kubernetes::new(Arc::new(NotYet)).with_nodes_by(Arc::new(access));
    let request = SessionRequest { config: Value::Null, region: None, offline: false };
    let session = provider.open_session(request).await?;
    register(&api, "node-a")?;
    run_pod(&api, "web-0", "node-a")?;

    let refused = session.nodes().await.unwrap_err();
    assert_eq!(refused.class, ErrorClass::Unauthenticated, "{refused}");
    assert!(refused.hint.context("a hint")?.contains(&token_file.display().to_string()));
    // The next step reads the token again.
    std::fs::write(&token_file, token)?;
    let nodes = session.nodes().await?;
    assert_eq!(nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["node-a"]);

    gate(&*session, operation::VERIFY, Value::Null).await?;
    gate(&*session, operation::CORDON, Value::Null).await?;
    assert_eq!(api.get(&["node", "node-a"])?["spec"]["unschedulable"], true);
    let force = [("timeout_ms", Value::from(1_500_i64)), ("on_blocked", "skip".into())];
    gate(&*session, operation::DRAIN, Value::map(force)).await?;
    assert!(api.get(&["pod", "web-0"])?["metadata"].get("deletionTimestamp").is_some(), "it was evicted");
    let ignore = [
        ("timeout_ms", Value::from(1_500_i64)),
        ("ignore_budgets", true.into()),
        ("on_blocked", "skip".into()),
    ];
    run_pod(&api, "web-1", "node-a")?;
    gate(&*session, operation::DRAIN, Value::map(ignore)).await?;
    assert!(api.get(&["pod", "web-1"])?["metadata"].get("deletionTimestamp").is_some(), "it was deleted");

    // Nothing else of the cluster is seen or changed by that way.
    let everything = DiscoverRequest { uid: None, cluster: "demo".to_owned(), types: Vec::new() };
    let found = session.discover(everything).await?;
    assert!(found.observed.is_empty() && found.unlisted.is_empty(), "{found:?}");
    let address = Address::new(NODE, "node-a");
    let read = ReadRequest { address: address.clone(), identity: Identity::new("Node//node-a") };
    let read = session.read(vec![read]).await?;
    assert!(matches!(read[0].observation, Observation::Absent), "{read:?}");
    let ownership = Ownership { uid: ClusterUid::new("u"), cluster: "demo".to_owned(), address };
    let action = Action::Delete { identity: Identity::new("Node//node-a") };
    let request = ApplyRequest { token: Token::new("t"), ownership, action, timeout_ms: 1_000 };
    let error = session.apply(request, EventSink::discard()).await.unwrap_err();
    assert!(error.message.contains("does not exist yet"), "{error}");
    assert!(api.get(&["node", "node-a"]).is_ok());
    Ok(())
}
