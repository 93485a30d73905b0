//! Members of a real etcd: announced one after the other, promoted, removed, taken up again.

mod volumes;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use slipway_provider_node::{Config, InitSystem, Node, etcd_data};
use slipway_resource::provider::{Action, Applied};
use slipway_resource::{ErrorClass, Identity, Observation, ProviderError, Value};
use slipway_testkit::process::Process;
use slipway_testkit::{kubernetes, port};
use tokio::task::JoinHandle;

use super::bench::{Bench, value};

pub(crate) const PKI: &str = "/etc/kubernetes/pki/etcd";
/// The folder of a member's data.
const DATA: &str = "/var/lib/etcd";

/// A node with the certificates that etcd needs, and its ports.
pub(crate) struct Host {
    pub(crate) bench: Arc<Bench>,
    pub(crate) name: &'static str,
    client: u16,
    peer: u16,
}

impl Host {
    pub(crate) async fn new(name: &'static str, authority: Option<&Host>) -> Self {
        let bench = Bench::new().await;
        let [client, peer] = port::free().unwrap();
        if let Some(authority) = authority {
            for file in ["ca.crt", "ca.key"] {
                let path = format!("{PKI}/{file}");
                bench.put(&path, &authority.bench.text(&path));
            }
        }
        let ca = json!({
            "path": format!("{PKI}/ca.crt"), "key_path": format!("{PKI}/ca.key"), "common_name": "etcd-ca",
            "is_ca": true, "key_algorithm": "ECDSA-P256",
        });
        bench.create("certificate.etcd-ca", value(ca)).await.unwrap();
        for (file, usages) in [("server", &["server", "client"][..]), ("healthcheck-client", &["client"])] {
            bench.create(&format!("certificate.etcd-{file}"), leaf(name, file, usages)).await.unwrap();
        }
        Self { bench: Arc::new(bench), name, client, peer }
    }

    /// One of its certificates.
    pub(crate) fn leaf(&self, file: &str, usages: &[&str]) -> Value {
        leaf(self.name, file, usages)
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.client)
    }

    pub(crate) fn peer_url(&self) -> String {
        format!("https://127.0.0.1:{}", self.peer)
    }

    fn wanted(&self, endpoints: &[String], joins: bool) -> Value {
        value(json!({
            "name": self.name,
            "peer_urls": [self.peer_url()],
            "client_urls": [self.url()],
            "endpoints": endpoints,
            "ca_path": format!("{PKI}/ca.crt"),
            "cert_path": format!("{PKI}/healthcheck-client.crt"),
            "key_path": format!("{PKI}/healthcheck-client.key"),
            "learner_first": joins,
            "timeout_seconds": 60,
        }))
    }

    /// The same for a member whose data is on a volume.
    fn on_volume(&self, endpoints: &[String], joins: bool) -> Value {
        let mut wanted = self.wanted(endpoints, joins);
        wanted.set(&slipway_resource::Path::key("data_dir"), DATA.into());
        wanted
    }

    /// Another machine with the volume of this one, if that is not lost.
    async fn next(&self, authority: &Host, is_lost: bool) -> Host {
        let next = Host::new(self.name, Some(authority)).await;
        std::fs::create_dir_all(next.bench.path(DATA)).unwrap();
        if !is_lost {
            std::fs::remove_dir(next.bench.path(DATA)).unwrap();
            std::fs::rename(self.bench.path(DATA), next.bench.path(DATA)).unwrap();
        }
        next
    }

    /// Waits until its data has so many members with a vote: etcd writes its database some time after its log.
    async fn knows_voters(&self, count: usize) {
        for _ in 0..600 {
            if etcd_data::voters(&self.bench.path(DATA)) == Ok(count) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{}: {:?} members vote", self.name, etcd_data::voters(&self.bench.path(DATA)));
    }

    pub(crate) fn voter(&self, endpoints: &[String]) -> Value {
        let mut wanted = self.wanted(endpoints, true);
        wanted.set(&slipway_resource::Path::key("learner_first"), Value::Null);
        wanted
    }

    /// Starts its etcd, as its static pod would.
    pub(crate) fn start(&self, initial_cluster: &str, state: &str) -> Process {
        let etcd = kubernetes::install_etcd().unwrap().join("etcd");
        let root = self.bench.root.display();
        let (client, peer) = (self.url(), self.peer_url());
        let mut command = Command::new(etcd);
        command.args([
            format!("--name={}", self.name),
            format!("--data-dir={root}/var/lib/etcd"),
            "--unsafe-no-fsync".to_owned(),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster={initial_cluster}"),
            format!("--initial-cluster-state={state}"),
            "--client-cert-auth".to_owned(),
            "--peer-client-cert-auth".to_owned(),
        ]);
        for prefix in ["", "peer-"] {
            command.args([
                format!("--{prefix}trusted-ca-file={root}{PKI}/ca.crt"),
                format!("--{prefix}cert-file={root}{PKI}/server.crt"),
                format!("--{prefix}key-file={root}{PKI}/server.key"),
            ]);
        }
        Process::start(&command, &self.log()).unwrap()
    }

    /// Has etcd raise an alarm of a member, whose id has hexadecimal digits.
    fn raise_an_alarm(&self, member_id: &str) {
        let id = u64::from_str_radix(member_id, 16).unwrap();
        let alarm = json!({"action": "ACTIVATE", "memberID": id.to_string(), "alarm": "NOSPACE"});
        let root = self.bench.root.display();
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--fail", "--output", "/dev/null", "--data"]);
        command.arg(alarm.to_string());
        for (option, file) in
            [("cacert", "ca.crt"), ("cert", "healthcheck-client.crt"), ("key", "healthcheck-client.key")]
        {
            command.arg(format!("--{option}")).arg(format!("{root}{PKI}/{file}"));
        }
        command.arg(format!("{}/v3/maintenance/alarm", self.url()));
        assert!(command.status().unwrap().success());
    }

    fn log(&self) -> std::path::PathBuf {
        self.bench.root.join("etcd.log")
    }

    pub(crate) fn announce(&self, endpoints: &[String]) -> JoinHandle<Result<Applied, ProviderError>> {
        let (bench, wanted) = (Arc::clone(&self.bench), self.wanted(endpoints, true));
        tokio::spawn(async move { bench.create("etcd_member.etcd", wanted).await })
    }

    async fn told(&self, text: &str) {
        for _ in 0..600 {
            if self.bench.told.lock().unwrap().iter().any(|told| told.contains(text)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{}: `{text}` is not told, but {:?}", self.name, self.bench.told.lock().unwrap());
    }
}

fn leaf(name: &str, file: &str, usages: &[&str]) -> Value {
    value(json!({
        "path": format!("{PKI}/{file}.crt"), "key_path": format!("{PKI}/{file}.key"),
        "ca_path": format!("{PKI}/ca.crt"), "ca_key_path": format!("{PKI}/ca.key"),
        "common_name": name, "dns_names": ["localhost"], "ip_addresses": ["127.0.0.1"],
        "usages": usages, "key_algorithm": "ECDSA-P256",
    }))
}

/// The action by which one member removes another.
fn expel(identity: &str, other: &str) -> Action {
    let arguments = value(json!({"name": other}));
    Action::Operation { identity: Identity::new(identity), name: "expel".to_owned(), arguments }
}

/// An output of an action.
pub(crate) fn output(applied: &Applied, name: &str) -> String {
    applied.attributes.get(name).and_then(Value::as_str).unwrap().to_owned()
}

/// The first member of an etcd cluster, with its etcd.
pub(crate) async fn first() -> (Host, Process) {
    let one = Host::new("one", None).await;
    let wanted = one.wanted(&[one.url()], false);
    let planned = one.bench.planned("etcd_member.etcd", wanted.clone()).await.unwrap();
    let initial = planned.get("initial_cluster").and_then(Value::as_str).unwrap().to_owned();
    assert_eq!(initial, format!("one=https://127.0.0.1:{}", one.peer), "known before it is there");
    // The action waits for the member: the pod may start a moment later.
    let creating = {
        let (bench, wanted) = (Arc::clone(&one.bench), wanted.clone());
        tokio::spawn(async move { bench.create("etcd_member.etcd", wanted).await })
    };
    one.told("waits for etcd").await;
    let process = one.start(&initial, "new");
    let made = creating.await.unwrap().unwrap();
    assert_eq!(output(&made, "initial_cluster"), initial);
    assert_eq!(one.bench.changes("etcd_member.etcd", "one", &wanted).await, [""; 0]);
    (one, process)
}

#[tokio::test(flavor = "multi_thread")]
async fn members_join_one_after_the_other_and_leave() {
    let (one, _one) = first().await;
    let endpoints = vec![one.url()];
    let (two, three) = (Host::new("two", Some(&one)).await, Host::new("three", Some(&one)).await);

    let joined = two.announce(&endpoints).await.unwrap().unwrap();
    let waiting = three.announce(&endpoints);
    three.told("waits in the queue").await;
    assert!(!waiting.is_finished(), "there is room for one learner only");

    let initial = output(&joined, "initial_cluster");
    assert!(initial.contains("one=https://") && initial.contains("two=https://"), "{initial}");
    let _two = two.start(&initial, "existing");
    two.bench.create("etcd_voter.etcd", two.voter(&endpoints)).await.unwrap();
    let found = two.bench.attributes("etcd_member.etcd", "two").await;
    assert_eq!(found.get("is_learner"), Some(&Value::Bool(false)));

    let joined = waiting.await.unwrap().unwrap();
    let _three = three.start(&output(&joined, "initial_cluster"), "existing");
    three.bench.create("etcd_voter.etcd", three.voter(&endpoints)).await.unwrap();
    for host in [&two, &three] {
        let wanted = host.wanted(&endpoints, true);
        assert_eq!(host.bench.changes("etcd_member.etcd", host.name, &wanted).await, [""; 0]);
        let wanted = host.voter(&endpoints);
        assert_eq!(host.bench.changes("etcd_voter.etcd", host.name, &wanted).await, [""; 0]);
    }
    let again = two.bench.attributes("etcd_member.etcd", "two").await;
    assert_eq!(
        again.get("initial_cluster"),
        Some(&Value::from(initial)),
        "a manifest does not change with others"
    );

    // A machine that has lost its disks joins again in place of its own member.
    drop(_three);
    for folder in ["/var/lib/slipway", "/var/lib/etcd"] {
        std::fs::remove_dir_all(three.bench.path(folder)).unwrap();
    }
    let rejoined = three.announce(&endpoints).await.unwrap().unwrap();
    three.told("whose data this machine has lost").await;
    assert_ne!(output(&rejoined, "member_id"), output(&joined, "member_id"));
    let _three = three.start(&output(&rejoined, "initial_cluster"), "existing");
    three.bench.create("etcd_voter.etcd", three.voter(&endpoints)).await.unwrap();

    three.bench.delete("etcd_voter.etcd", "three").await.unwrap();
    // The member has left etcd while it still runs, so that the others do not miss its vote.
    assert_eq!(three.bench.read("etcd_member.etcd", "three").await, Observation::Absent);
    three.bench.delete("etcd_member.etcd", "three").await.unwrap();
    assert_eq!(three.bench.read("etcd_member.etcd", "three").await, Observation::Absent);
    assert!(matches!(two.bench.read("etcd_member.etcd", "two").await, Observation::Present(_)));
    // Its machine is gone: another member throws it out.
    drop(_two);
    let refused = one.bench.apply(one.bench.request("etcd_member.etcd", expel("one", "two"))).await;
    // Of two members one is no majority; etcd says so, and nothing is lost.
    assert!(refused.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn alarms_of_etcd_are_read_with_its_members() {
    let (one, _one) = first().await;
    let found = one.bench.attributes("etcd_member.etcd", "one").await;
    assert_eq!(found.get("alarms"), Some(&Value::list(Vec::<String>::new())));
    assert_eq!(found.get("version"), Some(&Value::from(kubernetes::ETCD_VERSION)));
    let id = found.get("member_id").and_then(Value::as_str).unwrap().to_owned();
    one.raise_an_alarm(&id);
    let found = one.bench.attributes("etcd_member.etcd", "one").await;
    assert_eq!(found.get("alarms"), Some(&Value::list([format!("NOSPACE of member {id}")])));

    // A defragmentation makes room, and clears the alarm.
    let defragment = || Action::Operation {
        identity: Identity::new("one"),
        name: "defragment".to_owned(),
        arguments: Value::Null,
    };
    let done = one.bench.apply(one.bench.request("etcd_member.etcd", defragment())).await.unwrap();
    let size = |name: &str| done.attributes.get(name).and_then(Value::as_integer).unwrap();
    assert!(size("before") > 0 && size("after") > 0, "{:?}", done.attributes);
    assert_eq!(done.attributes.get("cleared"), Some(&Value::Bool(true)));
    let found = one.bench.attributes("etcd_member.etcd", "one").await;
    assert_eq!(found.get("alarms"), Some(&Value::list(Vec::<String>::new())));
    let again = one.bench.apply(one.bench.request("etcd_member.etcd", defragment())).await.unwrap();
    assert_eq!(again.attributes.get("cleared"), Some(&Value::Bool(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_hands_over_before_it_leaves() {
    let (one, _one) = first().await;
    let endpoints = vec![one.url()];
    let two = Host::new("two", Some(&one)).await;
    let joined = two.announce(&endpoints).await.unwrap().unwrap();
    let _two = two.start(&output(&joined, "initial_cluster"), "existing");
    two.bench.create("etcd_voter.etcd", two.voter(&endpoints)).await.unwrap();
    one.bench.delete("etcd_member.etcd", "one").await.unwrap();
    one.told("two leads etcd now, because one leaves").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_one_goes_although_its_pod_went_before_it() {
    let (one, _one) = first().await;
    let endpoints = vec![one.url()];
    let two = Host::new("two", Some(&one)).await;
    let joined = two.announce(&endpoints).await.unwrap().unwrap();
    let process = two.start(&output(&joined, "initial_cluster"), "existing");
    two.bench.create("etcd_voter.etcd", two.voter(&endpoints)).await.unwrap();
    // The first member leaves, and the other is the last one.
    two.bench.apply(two.bench.request("etcd_member.etcd", expel("two", "one"))).await.unwrap();
    // Until the member is the leader, the action fails with a retryable error.
    while let Err(error) = two.bench.delete("etcd_voter.etcd", "two").await {
        assert!(error.class.is_retryable(), "{error}");
    }
    assert!(matches!(two.bench.read("etcd_member.etcd", "two").await, Observation::Present(_)));
    drop(process);
    assert_eq!(two.bench.read("etcd_member.etcd", "two").await, Observation::Absent);
    two.bench.delete("etcd_member.etcd", "two").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_without_a_majority_goes_only_when_nobody_stays() {
    let (one, process) = first().await;
    let endpoints = vec![one.url()];
    let two = Host::new("two", Some(&one)).await;
    let joined = two.announce(&endpoints).await.unwrap().unwrap();
    let _two = two.start(&output(&joined, "initial_cluster"), "existing");
    two.bench.create("etcd_voter.etcd", two.voter(&endpoints)).await.unwrap();
    drop(process);
    let found = two.bench.read("etcd_member.etcd", "two").await;
    assert!(matches!(found, Observation::Unreadable(_)), "{found:?}");
    assert!(two.bench.delete("etcd_voter.etcd", "two").await.is_err());

    let config = Config {
        root: two.bench.root.display().to_string(),
        init_system: InitSystem::None,
        leaving: true,
        ..Config::default()
    };
    let leaving = Bench::open(Node::new(), config).await;
    for (address, attributes) in [("etcd_voter.etcd", 2), ("etcd_member.etcd", 6)] {
        let remembered = leaving.attributes(address, "two").await;
        assert_eq!(remembered.get("member_id"), joined.attributes.get("member_id"));
        assert_eq!(
            remembered.as_map().map(slipway_resource::Entries::len),
            Some(attributes),
            "{remembered:?}"
        );
    }
    leaving.delete("etcd_voter.etcd", "two").await.unwrap();
    assert_eq!(leaving.read("etcd_member.etcd", "two").await, Observation::Absent);
    leaving.delete("etcd_member.etcd", "two").await.unwrap();
    assert!(leaving.told.lock().unwrap().iter().any(|told| told.contains("without leaving etcd")));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_announced_and_never_came_is_taken_up_again() {
    let (one, _one) = first().await;
    let endpoints = vec![one.url()];
    let two = Host::new("two", Some(&one)).await;
    let before = two.announce(&endpoints).await.unwrap().unwrap();
    // The node is set up again.
    std::fs::remove_dir_all(two.bench.path("/var/lib/slipway")).unwrap();
    let again = two.announce(&endpoints).await.unwrap().unwrap();
    assert_eq!(output(&before, "member_id"), output(&again, "member_id"));
    // The new member leaves again.
    two.bench.delete("etcd_member.etcd", "two").await.unwrap();
    assert_eq!(two.bench.read("etcd_member.etcd", "two").await, Observation::Absent);
    assert!(matches!(one.bench.read("etcd_member.etcd", "one").await, Observation::Present(_)));
    // The last member cannot leave; its data is deleted with its folder.
    one.bench.delete("etcd_member.etcd", "one").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_runs_and_is_not_ours_is_left_alone() {
    let (one, _one) = first().await;
    let endpoints = vec![one.url()];
    let two = Host::new("two", Some(&one)).await;
    let joined = two.announce(&endpoints).await.unwrap().unwrap();
    let _two = two.start(&output(&joined, "initial_cluster"), "existing");
    two.bench.create("etcd_voter.etcd", two.voter(&endpoints)).await.unwrap();
    std::fs::remove_dir_all(two.bench.path("/var/lib/slipway")).unwrap();
    let refused = two.announce(&endpoints).await.unwrap().unwrap_err();
    assert_eq!(refused.class, ErrorClass::Conflict, "{refused}");
    two.bench.delete("etcd_member.etcd", "two").await.unwrap();
    assert!(matches!(one.bench.read("etcd_member.etcd", "one").await, Observation::Present(_)));
    assert!(Path::new(&two.log()).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_etcd_that_does_not_answer_is_unreadable_and_not_absent() {
    let (one, process) = first().await;
    drop(process);
    let found = one.bench.read("etcd_member.etcd", "one").await;
    assert!(matches!(found, Observation::Unreadable(_)), "{found:?}");
}
