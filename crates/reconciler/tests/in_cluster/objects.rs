//! The objects of a controller, from the start to the end of clusters.

use serde_json::{Value as Json, json};
use slipway_reconciler::status::Status;

use crate::cluster::Cluster;
use crate::world::{World, until};

/// The condition of an object, as `STATUS REASON`.
fn condition(object: &Json, kind: &str) -> String {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.and_then(|all| all.iter().find(|condition| condition["type"] == kind));
    let text = |field: &str| found.and_then(|one| one[field].as_str()).unwrap_or_default();
    format!("{} {}", text("status"), text("reason"))
}

/// Waits until an object has a condition.
async fn until_condition(cluster: &Cluster, (kind, name): (&str, &str), wanted: &str) -> Json {
    until(&format!("{kind} {name} that is {wanted}"), async || {
        let object = cluster.get(kind, name).unwrap()?;
        (condition(&object, "Ready") == wanted).then_some(object)
    })
    .await
}

pub async fn are_written_and_served(mut cluster: Cluster) {
    let world = World::new(&cluster);
    world.write("dev", 1);
    world.write("prod", 1);
    let first = world.start("a").await;
    clusters_are_shown(&cluster).await;
    requests_are_served(&cluster, &world).await;
    changes_of_others_are_reverted(&cluster).await;
    sources_are_read(&cluster, &world).await;

    // The API server is away: the loop goes on, and the objects follow later.
    cluster.0.stop_api();
    let generation = |status: &Status| status.applied.as_ref().and_then(|applied| applied.generation);
    let before = generation(&world.status("dev").await.unwrap());
    world.write("dev", 2);
    let applied = until("apply without the API server", async || {
        let status = world.status("dev").await?;
        let is_done = status.ready()?.reason == "InSync" && generation(&status) > before;
        is_done.then(|| generation(&status)).flatten()
    })
    .await;
    cluster.0.start_api(&[]).unwrap();
    until("status of the apply", async || {
        let object = cluster.get("managedcluster", "dev").unwrap()?;
        (object["status"]["applied"]["generation"] == json!(applied)).then_some(())
    })
    .await;

    // The other replica serves requests after the first one has ended, and objects of clusters that are gone are deleted.
    let second = world.start("b").await;
    first.stop().await;
    cluster.request("again", &json!({"cluster": "dev"})).unwrap();
    until_condition(&cluster, ("planrequest", "again"), "True InSync").await;
    world.remove("prod");
    until("ManagedCluster that is deleted", async || {
        cluster.get("managedcluster", "prod").unwrap().is_none().then_some(())
    })
    .await;
    second.stop().await;
}

async fn clusters_are_shown(cluster: &Cluster) {
    let dev = until_condition(cluster, ("managedcluster", "dev"), "True InSync").await;
    assert_eq!(dev["status"]["observedGeneration"], dev["metadata"]["generation"], "{dev}");
    assert_eq!(
        (condition(&dev, "Reconciling"), condition(&dev, "Stalled")),
        ("False InSync".into(), "False InSync".into())
    );
    let expected =
        json!({"controller": "default", "source": "local", "path": "clusters/dev", "apply": "always"});
    assert_eq!(dev["spec"], expected);
    let prod = until_condition(cluster, ("managedcluster", "prod"), "False PlanOnly").await;
    let plan = &prod["status"]["plan"];
    assert!(plan["create"].as_i64() > Some(0), "{plan}");
    let digest = plan["digest"].as_str().unwrap().trim_start_matches("sha256:");
    assert_eq!(plan["link"], format!("state:prod/{digest}"));

    let table = cluster.kubectl(&["-n", "slipway", "get", "managedclusters"]).unwrap();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = table.lines().map(words).collect();
    assert_eq!(rows[0], ["NAME", "READY", "REASON", "VERSION", "DRIFT", "SOURCE", "AGE"]);
    assert_eq!(rows[1][..6], ["dev", "True", "InSync", "1.35.2", "0", "local"]);

    until("event about the cluster", async || {
        let events = cluster.kubectl(&["-n", "slipway", "get", "events", "-o", "json"]).unwrap();
        let events: Json = serde_json::from_str(&events).unwrap();
        let is_told = |event: &&Json| event["reason"] == "InSync" && event["involvedObject"]["name"] == "dev";
        events["items"].as_array().unwrap().iter().find(is_told).map(|_| ())
    })
    .await;
}

async fn requests_are_served(cluster: &Cluster, world: &World) {
    cluster.request("prod-now", &json!({"cluster": "prod"})).unwrap();
    cluster.request("nobody", &json!({"cluster": "nobody"})).unwrap();
    cluster.request("short", &json!({"cluster": "dev", "ttlSecondsAfterFinished": 0})).unwrap();
    let done = until_condition(cluster, ("planrequest", "prod-now"), "True PlanOnly").await;
    assert_eq!(done["spec"]["ttlSecondsAfterFinished"], 86_400);
    assert_eq!(done["status"]["outcome"], "PlanOnly");
    assert!(done["status"]["plan"]["create"].as_i64() > Some(0), "{done}");
    let unknown = until_condition(cluster, ("planrequest", "nobody"), "False UnknownCluster").await;
    assert_eq!(condition(&unknown, "Stalled"), "True UnknownCluster");
    // Another controller of the state store has this cluster, and no objects in this namespace.
    let theirs = Status { cluster: "theirs".to_owned(), controller: "other".to_owned(), ..Status::default() };
    world.report(&theirs).await;
    cluster.request("theirs", &json!({"cluster": "theirs"})).unwrap();
    until_condition(cluster, ("planrequest", "theirs"), "False UnknownCluster").await;
    until("request that is deleted after its end", async || {
        cluster.get("planrequest", "short").unwrap().is_none().then_some(())
    })
    .await;
    let table = cluster.kubectl(&["-n", "slipway", "get", "planrequests"]).unwrap();
    let headings: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
    let expected = ["NAME", "CLUSTER", "READY", "OUTCOME", "CREATE", "UPDATE", "REPLACE", "DELETE", "AGE"];
    assert_eq!(headings, expected);
}

/// A source whose place is an object reads what the object names, if the configuration allows that.
async fn sources_are_read(cluster: &Cluster, world: &World) {
    let commit = world.repository.push_file("spec.yaml", &world.text("team", 1));
    let elsewhere = json!({"git": {"url": "https://git.example.com/a.git"}});
    cluster.object("Source", "team", &elsewhere).unwrap();
    let source = ("sources.gitops.slipway.dev", "team");
    let refused = until_condition(cluster, source, "False RECON0019").await;
    assert_eq!(condition(&refused, "Stalled"), "True RECON0019");
    assert!(refused["status"]["problems"][0]["message"].as_str().unwrap().contains("does not allow"));

    let allowed = json!({"git": {"url": world.repository.url()}});
    cluster.object("Source", "team", &allowed).unwrap();
    let read = until_condition(cluster, source, "True Read").await;
    assert_eq!(read["status"]["revision"], commit.as_str());
    assert_eq!(read["status"]["clusters"], 1);
    assert_eq!(read["status"]["observedGeneration"], read["metadata"]["generation"]);
    let team = until_condition(cluster, ("managedcluster", "team"), "True InSync").await;
    assert_eq!(team["spec"]["source"], "team");

    // The source is read once an hour: what changes is watched.
    let suspended = json!({"git": {"url": world.repository.url()}, "suspend": true});
    cluster.object("Source", "team", &suspended).unwrap();
    until_condition(cluster, source, "False RECON0019").await;
    until_condition(cluster, ("managedcluster", "team"), "False SourceProblem").await;
}

/// What others write into the spec has no effect, and is reverted with the next status.
async fn changes_of_others_are_reverted(cluster: &Cluster) {
    let patch = r#"{"spec":{"apply":"never"}}"#;
    cluster
        .kubectl(&["-n", "slipway", "patch", "managedcluster", "dev", "--type=merge", "-p", patch])
        .unwrap();
    cluster.request("after-patch", &json!({"cluster": "dev"})).unwrap();
    until("spec that is as before", async || {
        let dev = cluster.get("managedcluster", "dev").unwrap()?;
        let is_observed = dev["status"]["observedGeneration"] == dev["metadata"]["generation"];
        (dev["spec"]["apply"] == "always" && is_observed).then_some(())
    })
    .await;
}
