//! The artifact of an object of Flux as a source: the objects are in a real API server, the artifacts on a small web server.
#![cfg(test)]

mod artifacts;
mod cluster;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use slipway_operations::{Actor, Environment};
use slipway_reconciler::source::{Reader, Revision};
use slipway_reconciler::status::SourceStatus;
use slipway_reconciler::{Configuration, Controller, Error};
use slipway_state_store::{Backend, MemoryBackend, controllers};
use slipway_trust::{Mode, Policy, Settings};
use tokio::task::{JoinHandle, LocalSet, spawn_local};
use tokio_util::sync::CancellationToken;

use artifacts::{Artifacts, archive};
use cluster::Cluster;

const SPEC: &str = "clusters/dev/spec.yaml";

/// A reader of the object `fleet` by a kubeconfig of this name in the folder.
fn reader(folder: &Path, kind: &str, kubeconfig: &str) -> Reader {
    let text = format!(
        "data = 'd'\n[[source]]\nname = 'fleet'\npaths = ['clusters/*']\n[source.flux]\nkind = '{kind}'\n\
         namespace = 'flux-system'\nname = 'fleet'\nkubeconfig = '{kubeconfig}'\nartifact-hosts = ['127.0.0.1']\n"
    );
    let read = Configuration::parse(&text, Path::new("controller.toml"), folder).unwrap();
    Reader::new(&read.sources[0], folder)
}

fn spec(revision: &Revision) -> String {
    std::fs::read_to_string(revision.folder.path().join(SPEC)).unwrap()
}

/// The error of a read that gives nothing to apply.
async fn refused(reader: &mut Reader, last: Option<&Revision>) -> Error {
    reader.read(last).await.expect_err("nothing is read")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_artifact_of_an_object_of_flux_is_read_when_it_changes() {
    let cluster = Cluster::start().unwrap();
    let artifacts = Artifacts::start();
    let folder = tempfile::tempdir().unwrap();
    cluster.write_kubeconfigs(folder.path()).unwrap();

    // The cluster has no Flux, then no such object, then one that source-controller has not seen.
    let mut fleet = reader(folder.path(), "GitRepository", "admin.conf");
    let error = refused(&mut fleet, None).await;
    assert!(error.to_string().contains("no such kind"), "{error}");
    cluster.install_kinds().unwrap();
    assert_eq!(refused(&mut fleet, None).await.code(), "RECON0005");
    cluster
        .create("GitRepository", &json!({ "interval": "1m", "url": "https://git.example.com/fleet" }))
        .unwrap();
    assert_eq!(refused(&mut fleet, None).await.code(), "RECON0016");

    // The controller needs no other right than that of the example.
    let mut pod = reader(folder.path(), "GitRepository", "pod.conf");
    let error = refused(&mut pod, None).await;
    assert_eq!(error.code(), "RECON0015");
    assert!(error.to_string().contains("403 Forbidden: gitrepositories"), "{error}");
    cluster.grant(include_str!("../../examples/flux-role.yaml")).unwrap();

    let one = artifacts.serve("one.tar.gz", archive(&[(SPEC, "dev 1"), ("README.md", "x")]));
    cluster.set_artifact("GitRepository", "main@sha1:1111", &one).unwrap();
    let first = pod.read(None).await.unwrap();
    assert!(first.id.starts_with("main@sha1:1111 (sha256:"), "{}", first.id);
    assert_eq!(first.units.keys().collect::<Vec<_>>(), ["clusters/dev"]);
    assert_eq!(spec(&first), "dev 1");
    assert!(!first.folder.path().join("README.md").exists());
    assert_eq!(artifacts.requests(), ["/one.tar.gz"]);
    assert_eq!(pod.read(Some(&first)).await.unwrap().id, first.id);
    assert_eq!(artifacts.requests(), Vec::<String>::new(), "nothing changed");

    let two = artifacts.serve("two.tar.gz", archive(&[(SPEC, "dev 2")]));
    cluster.set_artifact("GitRepository", "main@sha1:2222", &two).unwrap();
    let second = fleet.read(Some(&first)).await.unwrap();
    assert_ne!((&second.id, &second.units), (&first.id, &first.units));
    assert_eq!((spec(&second).as_str(), spec(&first).as_str()), ("dev 2", "dev 1"));

    // Other kinds with an artifact.
    for kind in ["OCIRepository", "ExternalArtifact"] {
        cluster.create(kind, &json!({})).unwrap();
        cluster.set_artifact(kind, "latest@sha256:3333", &two).unwrap();
        let read = reader(folder.path(), kind, "admin.conf").read(None).await.unwrap();
        assert_eq!(read.units, second.units, "{kind}");
    }

    let controllers = async {
        a_change_is_noticed(&cluster, &artifacts, folder.path()).await;
        a_plan_that_waits_is_offered(folder.path()).await;
    };
    LocalSet::new().run_until(controllers).await;
    refuses_what_may_not_be_used(&cluster, &artifacts, (&mut fleet, &second)).await;
}

/// A controller with the rights of the example reads an artifact when the object changes, long before its interval.
async fn a_change_is_noticed(cluster: &Cluster, artifacts: &Artifacts, folder: &Path) {
    let text = "data = 'controller'\nlisten = '127.0.0.1:0'\npoll = '150ms'\n[[source]]\nname = 'fleet'\n\
                paths = ['clusters/*']\ninterval = '1h'\n[source.flux]\nkind = 'GitRepository'\n\
                namespace = 'flux-system'\nname = 'fleet'\nkubeconfig = 'pod.conf'\nartifact-hosts = ['127.0.0.1']\n";
    let configuration = Configuration::parse(text, Path::new("controller.toml"), folder).unwrap();
    let store: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let controller = Running::start(configuration, &store).await;
    for number in ["7777", "8888"] {
        let content = archive(&[(SPEC, number)]);
        let described = artifacts.serve(&format!("{number}.tar.gz"), content);
        let revision = format!("main@sha1:{number}");
        cluster.set_artifact("GitRepository", &revision, &described).unwrap();
        let begun = Instant::now();
        loop {
            let key = controllers::source("fleet").unwrap();
            let status: Option<SourceStatus> = controllers::read(&*store, &key).await.unwrap();
            if status.as_ref().is_some_and(|status| status.revision.starts_with(&revision)) {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "no {revision}: {status:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    controller.stop().await;
}

/// The plan of a cluster that waits is an artifact, which others read as that of any object of Flux.
async fn a_plan_that_waits_is_offered(folder: &Path) {
    let specs = folder.join("specs/clusters/prod");
    std::fs::create_dir_all(&specs).unwrap();
    std::fs::write(
        specs.join("spec.yaml"),
        slipway_testkit::simulated::spec("prod", &folder.join("clouds/prod"), 0.0, 0),
    )
    .unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = format!(
        "data = 'offers'\nlisten = '127.0.0.1:0'\npoll = '150ms'\nretry = {{ first = '300ms', longest = '1s' }}\n\
         [kubernetes]\nnamespace = 'flux-system'\nkubeconfig = 'admin.conf'\n\
         plans = {{ listen = '{free}', url = 'http://{free}' }}\n[[source]]\nname = 'local'\nfolder = 'specs'\n\
         paths = ['clusters/*']\ninterval = '200ms'\ntrust = {{ file-roots = ['clouds'] }}\n\
         [[source.cluster]]\nname = '*'\napply = 'never'\n"
    );
    let configuration = Configuration::parse(&text, Path::new("controller.toml"), folder).unwrap();
    let store: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let controller = Running::start(configuration, &store).await;
    let text = "data = 'd'\n[[source]]\nname = 'plan'\npaths = ['plan.json', 'plan.md']\n[source.flux]\n\
                kind = 'ExternalArtifact'\nnamespace = 'flux-system'\nname = 'prod'\nkubeconfig = 'admin.conf'\n\
                artifact-hosts = ['127.0.0.1']\n";
    let read = Configuration::parse(text, Path::new("reader.toml"), folder).unwrap();
    let mut reader = Reader::new(&read.sources[0], folder);
    let begun = Instant::now();
    let plan = loop {
        match reader.read(None).await {
            Ok(revision) => break revision,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(30), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert!(plan.id.starts_with("generation-0@sha256:"), "{}", plan.id);
    let file = |name: &str| std::fs::read_to_string(plan.folder.path().join(name)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&file("plan.json")).unwrap();
    assert!(json["resource_changes"].as_array().is_some_and(|changes| !changes.is_empty()), "{json}");
    assert!(!file("plan.md").is_empty());

    // Without the plan there is no artifact.
    std::fs::remove_dir_all(&specs).unwrap();
    let begun = Instant::now();
    while reader.read(None).await.err().is_none_or(|error| error.code() != "RECON0005") {
        assert!(begun.elapsed() < Duration::from_secs(30), "the artifact stays");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    controller.stop().await;
}

/// A controller that runs.
struct Running {
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    async fn start(configuration: Configuration, store: &Arc<dyn Backend>) -> Self {
        let actor = Actor::new("controller", "laptop").unwrap();
        let policy = Policy::new(Settings::default(), Mode::Own);
        let environment = Environment::new(actor, policy).with_store(store.clone(), "memory");
        let controller = Controller::new(configuration, environment).await.unwrap();
        let (stop, never) = (CancellationToken::new(), CancellationToken::new());
        let ending = stop.clone();
        let task = spawn_local(async move { controller.run(ending, never).await.unwrap() });
        Self { stop, task }
    }

    /// Stops it gracefully.
    async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

/// Artifacts that are not used: each has a status of its own, and whether the revision before stays valid.
async fn refuses_what_may_not_be_used(
    cluster: &Cluster,
    artifacts: &Artifacts,
    (fleet, last): (&mut Reader, &Revision),
) {
    const KIND: &str = "GitRepository";
    let good = archive(&[(SPEC, "dev 3")]);
    let mut other = artifacts.serve("digest.tar.gz", good.clone());
    artifacts.serve("digest.tar.gz", archive(&[(SPEC, "evil")]));
    cluster.set_artifact(KIND, "main@sha1:4444", &other).unwrap();
    let error = refused(fleet, Some(last)).await;
    assert!(error.code() == "RECON0015" && error.may_pass(), "{error}");
    assert!(error.to_string().contains("another digest"), "{error}");

    // A host that is not allowed is not called.
    artifacts.requests();
    other.url = other.url.replace("127.0.0.1", "localhost");
    cluster.set_artifact(KIND, "main@sha1:4444", &other).unwrap();
    let error = refused(fleet, Some(last)).await;
    assert!(error.code() == "RECON0015" && error.to_string().contains("artifact-hosts"), "{error}");
    assert_eq!(artifacts.requests(), Vec::<String>::new());

    // A redirect is not followed.
    let moved = artifacts.redirect("moved.tar.gz", "/one.tar.gz", &good);
    cluster.set_artifact(KIND, "main@sha1:5555", &moved).unwrap();
    let error = refused(fleet, Some(last)).await;
    assert!(error.to_string().contains("answers 307"), "{error}");
    assert_eq!(artifacts.requests(), ["/moved.tar.gz"]);

    let large = archive(&[(SPEC, &"x".repeat((16 << 20) + 1))]);
    let large = artifacts.serve("large.tar.gz", large);
    let outside = artifacts.serve("outside.tar.gz", archive(&[("clusters/../../evil", "x")]));
    let link = artifacts.serve("link.tar.gz", artifacts::link("clusters/dev/spec.yaml", "/etc/passwd"));
    let mut declared = artifacts.serve("declared.tar.gz", good.clone());
    declared.size = 1 << 40;
    for (number, refused_one) in [large, outside, link, declared].iter().enumerate() {
        cluster.set_artifact(KIND, &format!("main@sha1:{number}"), refused_one).unwrap();
        let error = refused(fleet, Some(last)).await;
        assert!(error.code() == "RECON0007" && !error.may_pass(), "{}: {error}", refused_one.url);
    }

    // Not ready: a failure of Flux, and a spec that Flux has not seen.
    let three = artifacts.serve("three.tar.gz", good);
    cluster.set_artifact(KIND, "main@sha1:6666", &three).unwrap();
    cluster.set_ready(KIND, "False", "GitOperationFailed", "failed to checkout").unwrap();
    let error = refused(fleet, Some(last)).await;
    assert!(error.code() == "RECON0016" && error.may_pass(), "{error}");
    assert!(error.to_string().contains("GitOperationFailed: failed to checkout"), "{error}");
    cluster.set_ready(KIND, "True", "Succeeded", "stored artifact").unwrap();
    cluster.set_spec(KIND, &json!({ "interval": "2m" })).unwrap();
    assert_eq!(refused(fleet, Some(last)).await.code(), "RECON0016");
    cluster.set_artifact(KIND, "main@sha1:6666", &three).unwrap();
    assert_eq!(spec(&fleet.read(Some(last)).await.unwrap()), "dev 3");

    cluster.set_spec(KIND, &json!({ "suspend": true })).unwrap();
    let error = refused(fleet, Some(last)).await;
    assert!(error.code() == "RECON0016" && !error.may_pass(), "{error}");
    cluster.delete(KIND).unwrap();
    let error = refused(fleet, Some(last)).await;
    assert!(error.code() == "RECON0005" && !error.may_pass(), "{error}");
}
