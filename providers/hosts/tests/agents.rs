//! Claims, agents and the inside of hosts, with agents on unix sockets that work below folders of the test.

#![allow(missing_docs, reason = "a test")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails in a test ends it")]

use std::path::Path;
use std::sync::Arc;

use slipway_provider_hosts::{Hosts, disclosed};
use slipway_resource::provider::{
    Action, Applied, ApplyRequest, CatalogRequest, DiscoverRequest, EventSink, ReadRequest, SessionRequest,
};
use slipway_resource::{
    Address, ClusterUid, ErrorClass, Observation, Ownership, Provider, ProviderError, Session, Token, Value,
};
use slipway_spec::source::SourceFile;
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

#[path = "support/agent.rs"]
mod agent;

/// Ends an agent when it is dropped; the second value waits for its end.
type Agent = (oneshot::Sender<()>, JoinHandle<anyhow::Result<()>>);

/// Two hosts with agents, and an inventory.
struct Lab {
    folder: TempDir,
    agents: Vec<Agent>,
}

impl Lab {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let agents = ["a", "b"].map(|name| serve(folder.path(), name));
        Self { folder, agents: agents.into() }
    }

    fn socket(&self, name: &str) -> String {
        self.folder.path().join(format!("{name}.sock")).display().to_string()
    }

    async fn session(&self) -> Arc<dyn Session> {
        self.session_without("").await
    }

    /// A session in which one host is lost.
    async fn session_without(&self, lost: &str) -> Arc<dyn Session> {
        let host = |name: &str, address: &str| {
            serde_json::json!({
                "name": name, "labels": {}, "inventory": "rack", "addresses": [{"address": address}],
                "agent": {"socket": self.socket(name)}, "lost": name == lost,
            })
        };
        let config = serde_json::json!({
            "hosts": [host("a", "10.0.0.1"), host("b", "10.0.0.2")],
            "state": self.folder.path().join("state").display().to_string(),
        });
        let request = SessionRequest { config: Value::from_json(&config), region: None, offline: false };
        Hosts::new().open_session(request).await.unwrap()
    }

    /// Stops an agent.
    async fn stop(&mut self, index: usize) {
        let (end, task) = self.agents.remove(index);
        drop(end);
        task.await.unwrap().unwrap();
    }
}

fn serve(folder: &Path, name: &str) -> Agent {
    let root = folder.join(name);
    std::fs::create_dir_all(&root).unwrap();
    let listener = UnixListener::bind(folder.join(format!("{name}.sock"))).unwrap();
    let (end, ended) = oneshot::channel::<()>();
    let stop = async {
        // The sender is only ever dropped.
        let _ = ended.await;
    };
    let task = agent::serve(listener, &root, stop);
    (end, task)
}

fn request(uid: &str, address: &str, token: &str, action: Action) -> ApplyRequest {
    let address: Address = address.parse().unwrap();
    let ownership = Ownership { uid: ClusterUid::new(uid), cluster: format!("cluster-{uid}"), address };
    ApplyRequest { token: Token::new(token), ownership, action, timeout_ms: 10_000 }
}

async fn make(
    session: &Arc<dyn Session>,
    uid: &str,
    address: &str,
    desired: Value,
) -> Result<Applied, ProviderError> {
    let request = request(uid, address, &format!("{uid}-{address}"), Action::Create { desired });
    session.apply(request, EventSink::discard()).await
}

fn claim(host: &str) -> Value {
    Value::map([("host", host), ("inventory", "rack")])
}

fn file(host: &str, content: &str) -> Value {
    Value::map([("host", host), ("path", "/etc/greeting"), ("content", content), ("mode", "0600")])
}

async fn set_up(session: &Arc<dyn Session>, uid: &str, host: &str) {
    make(session, uid, &format!("host_claim.{host}"), claim(host)).await.unwrap();
    make(session, uid, &format!("host_agent.{host}"), Value::map([("host", host)])).await.unwrap();
}

#[tokio::test]
async fn what_is_inside_goes_to_its_host_and_is_found_there() {
    let mut lab = Lab::new();
    let session = lab.session().await;
    for host in ["a", "b"] {
        set_up(&session, "u1", host).await;
        let made = make(&session, "u1", &format!("file.{host}/greeting"), file(host, host)).await.unwrap();
        assert_eq!(made.identity.unwrap().as_str(), format!("{host}:/etc/greeting"));
        assert_eq!(made.attributes.get("host").and_then(Value::as_str), Some(host));
        let written = std::fs::read_to_string(lab.folder.path().join(host).join("etc/greeting")).unwrap();
        assert_eq!(written, host);
    }
    let discover = DiscoverRequest {
        uid: Some(ClusterUid::new("u1")),
        cluster: "cluster-u1".to_owned(),
        types: Vec::new(),
    };
    let found = session.discover(discover.clone()).await.unwrap();
    let addresses: Vec<String> = found.observed.iter().map(|one| one.address.to_string()).collect();
    let expected = [
        "file.a/greeting",
        "file.b/greeting",
        "host_agent.a",
        "host_agent.b",
        "host_claim.a",
        "host_claim.b",
    ];
    assert_eq!(addresses, expected);
    assert!(found.unlisted.is_empty());

    // Without a state, the inventory tells the cluster of the hosts.
    let lost = session.discover(DiscoverRequest { uid: None, ..discover.clone() }).await.unwrap();
    assert_eq!(lost.uid, Some(ClusterUid::new("u1")));
    assert_eq!(lost.observed, found.observed);

    // A host that does not answer is unreadable, and the others are unchanged.
    lab.stop(1).await;
    let session = lab.session().await;
    let found = session.discover(discover).await.unwrap();
    assert!(found.observed.iter().any(|one| one.address.to_string() == "file.a/greeting"));
    assert!(found.unlisted.iter().any(|unlisted| unlisted.kind == "file"));
    let identity = slipway_resource::Identity::new("b:/etc/greeting");
    let address = "file.b/greeting".parse().unwrap();
    let read = session.read(vec![ReadRequest { address, identity }]).await.unwrap();
    assert!(matches!(read[0].observation, Observation::Unreadable(_)), "{read:?}");
}

#[tokio::test]
async fn a_host_has_one_cluster() {
    let lab = Lab::new();
    let session = lab.session().await;
    set_up(&session, "u1", "a").await;
    let refused = make(&session, "u2", "host_claim.a", claim("a")).await.unwrap_err();
    assert_eq!(refused.class, ErrorClass::Conflict);
    assert!(refused.message.contains("belongs to cluster cluster-u1 (u1)"), "{refused}");
    let refused = make(&session, "u2", "host_agent.a", Value::map([("host", "a")])).await.unwrap_err();
    assert!(refused.message.contains("is not claimed by this cluster"), "{refused}");

    // The agent refuses it too, independently of the inventory: it has an owner since its first object.
    make(&session, "u1", "file.a/greeting", file("a", "hello")).await.unwrap();
    let mut other = file("a", "x");
    other.set(&slipway_resource::Path::key("path"), "/etc/other".into());
    let refused = make(&session, "u2", "file.a/other", other).await.unwrap_err();
    assert!(refused.message.contains("this node belongs to cluster cluster-u1"), "{refused}");

    // A released host is free.
    for (address, identity) in [("file.a/greeting", "a:/etc/greeting"), ("host_claim.a", "rack/a")] {
        let identity = slipway_resource::Identity::new(identity);
        let delete = request("u1", address, &format!("d-{address}"), Action::Delete { identity });
        session.apply(delete, EventSink::discard()).await.unwrap();
    }
    set_up(&session, "u2", "a").await;
    make(&session, "u2", "file.a/greeting", file("a", "hello")).await.unwrap();
}

#[tokio::test]
async fn a_host_that_is_lost_is_given_up() {
    let mut lab = Lab::new();
    let session = lab.session().await;
    for host in ["a", "b"] {
        set_up(&session, "u1", host).await;
        make(&session, "u1", &format!("file.{host}/greeting"), file(host, host)).await.unwrap();
    }
    lab.stop(1).await;
    let session = lab.session_without("b").await;
    // The objects of the lost host are gone, and no other object becomes unknown.
    let discover = DiscoverRequest {
        uid: Some(ClusterUid::new("u1")),
        cluster: "cluster-u1".to_owned(),
        types: Vec::new(),
    };
    let found = session.discover(discover).await.unwrap();
    assert!(found.unlisted.is_empty());
    let read = |address: &str, identity: &str| ReadRequest {
        address: address.parse().unwrap(),
        identity: slipway_resource::Identity::new(identity),
    };
    let requests = vec![
        read("file.b/greeting", "b:/etc/greeting"),
        read("host_agent.b", "b"),
        read("etcd_member.b/etcd", "b:b"),
        read("host_claim.b", "rack/b"),
    ];
    let seen: Vec<bool> = session
        .read(requests)
        .await
        .unwrap()
        .iter()
        .map(|one| matches!(one.observation, Observation::Present(_)))
        .collect();
    assert_eq!(seen, [false, false, true, true], "its member of etcd and its claim have to go");
    // These deletions need no connection to the host.
    for (address, identity) in
        [("etcd_member.b/etcd", "b:b"), ("host_agent.b", "b"), ("host_claim.b", "rack/b")]
    {
        let identity = slipway_resource::Identity::new(identity);
        let delete = request("u1", address, &format!("d-{address}"), Action::Delete { identity });
        session.apply(delete, EventSink::discard()).await.unwrap();
    }
    let claim = session.read(vec![read("host_claim.b", "rack/b")]).await.unwrap();
    assert_eq!(claim[0].observation, Observation::Absent);
    let refused = make(&session, "u1", "file.b/greeting", file("b", "x")).await.unwrap_err();
    assert!(refused.message.contains("b is lost"), "{refused}");
}

#[tokio::test]
async fn an_agent_gives_files_of_kubeadm_away_for_a_cluster_that_is_taken_over() {
    let lab = Lab::new();
    let session = lab.session().await;
    let uid = ClusterUid::new("u1");
    let folder = lab.folder.path().join("a/etc/kubernetes/pki");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("ca.key"), "a key\n").unwrap();
    let ask = async |uid: &ClusterUid, path: &str| disclosed(&*session, (uid, "one"), "a", path).await;
    let read = ask(&uid, "/etc/kubernetes/pki/ca.key").await.unwrap().unwrap();
    assert_eq!(read.expose(), "a key\n");
    assert!(ask(&uid, "/etc/kubernetes/pki/sa.key").await.unwrap().is_none());
    for path in ["/etc/shadow", "/etc/kubernetes/../shadow"] {
        let refused = ask(&uid, path).await.unwrap_err();
        assert_eq!(refused.class, ErrorClass::Invalid, "{path}: {refused}");
    }
    // A node of one cluster is not a node of another one.
    set_up(&session, "u1", "a").await;
    make(&session, "u1", "file.a/greeting", file("a", "hello")).await.unwrap();
    assert!(ask(&uid, "/etc/kubernetes/pki/ca.key").await.unwrap().is_some());
    let refused = ask(&ClusterUid::new("u2"), "/etc/kubernetes/pki/ca.key").await.unwrap_err();
    assert_eq!(refused.class, ErrorClass::Conflict, "{refused}");
}

#[tokio::test]
async fn a_host_with_an_agent_tells_about_itself() {
    let folder = TempDir::new().unwrap();
    let listener = UnixListener::bind(folder.path().join("a.sock")).unwrap();
    let (end, ended) = oneshot::channel::<()>();
    let stop = async {
        let _ = ended.await;
    };
    // An agent for the machine on which the test runs. The agent only reads.
    let task = agent::serve(listener, Path::new("/"), stop);
    let text = format!(
        "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: one}}\nspec:\n  provider: {{name: hosts}}\n  \
         kubernetesVersion: 1.34.4\n---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{name: control-plane}}\n\
         spec:\n  role: controlPlane\n  hosts: {{inventory: rack, matchLabels: {{}}}}\n---\n\
         apiVersion: slipway.dev/v1alpha1\nkind: Host\nmetadata: {{name: a}}\nspec:\n  inventory: rack\n  \
         addresses: [{{address: 10.0.0.1}}]\n  agent: {{socket: {}}}\n",
        folder.path().join("a.sock").display()
    );
    let loaded = slipway_spec::load::load_files(vec![SourceFile::new("cluster.yaml", text)], &[]);
    let cluster = loaded.clusters.first().unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics));
    let config = Value::from_json(&serde_json::json!({ "hosts": cluster.hosts }));
    let request = SessionRequest { config, region: None, offline: false };
    let session = Hosts::new().open_session(request).await.unwrap();
    let request = CatalogRequest { cluster: cluster.to_provider().unwrap(), pinned: None };
    let catalog = session.catalog_for(request).await.unwrap();
    let facts = &catalog.data["placement"]["machines"][0]["facts"];
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_lowercase();
    assert_eq!(facts["hostname"], name, "{facts}");
    drop(session);
    drop(end);
    task.await.unwrap().unwrap();
}

/// Two hosts with exchanged documents: each would be changed into the other one.
#[tokio::test]
async fn exchanged_hosts_are_refused_before_anything_is_planned() {
    let mut lab = Lab::new();
    let session = lab.session().await;
    for host in ["a", "b"] {
        set_up(&session, "u1", host).await;
        make(&session, "u1", &format!("file.{host}/greeting"), file(host, host)).await.unwrap();
    }
    for _ in 0..2 {
        lab.stop(0).await;
    }
    let at = |name: &str| lab.folder.path().join(name);
    for (from, to) in [("a", "c"), ("b", "a"), ("c", "b")] {
        std::fs::rename(at(from), at(to)).unwrap();
    }
    for name in ["a", "b"] {
        std::fs::remove_file(at(&format!("{name}.sock"))).unwrap();
    }
    lab.agents = ["a", "b"].map(|name| serve(lab.folder.path(), name)).into();
    for uid in [Some(ClusterUid::new("u1")), None] {
        let discover = DiscoverRequest { uid, cluster: "cluster-u1".to_owned(), types: Vec::new() };
        let refused = lab.session().await.discover(discover).await.unwrap_err();
        assert_eq!(refused.class, ErrorClass::Conflict);
        assert!(refused.message.contains("the host a names is the node b of this cluster"), "{refused}");
        assert!(refused.hint.unwrap().contains("Host documents a and b"));
    }
}
