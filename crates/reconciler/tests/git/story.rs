//! Three environments: push, plan, policy, apply, drift by hand, report, revert.

use slipway_reconciler::status::Status;

use crate::world::{World, on_one_thread};

const POLICIES: &str = "
[[source.cluster]]
name = 'dev'
apply = 'always'
drift = 'revert'
drift-interval = '500ms'
[[source.cluster]]
name = 'stage'
apply = 'safe'
drift-interval = '500ms'
[[source.cluster]]
name = 'prod'
apply = 'approved'
approvals = 2
approvers = ['ada', 'grace']
";

#[tokio::test]
async fn a_push_is_applied_by_the_policy_of_each_cluster() {
    on_one_thread(async {
        let world = World::new();
        for name in ["dev", "stage", "other"] {
            world.push(name, 1);
        }
        let commit = world.push("prod", 1);
        let controller = world.start(world.configuration("a", "", POLICIES)).await;

        for name in ["dev", "stage"] {
            let status = world.until_reason(name, "InSync", &commit).await;
            assert!(status.applied.is_some_and(|applied| applied.revision == commit));
            assert_eq!(world.machines(name), 2);
        }
        // Nobody has named the fourth cluster.
        let other = world.until_reason("other", "PlanOnly", &commit).await;
        assert!(other.plan.is_some_and(|plan| plan.facts.create > 0));
        let waits = world.until_reason("prod", "ApprovalNeeded", &commit).await;
        let plan = waits.plan.unwrap();
        for person in ["controller", "slipway-controller", "mallory", "ada@laptop", "ada", "ada@ci"] {
            world.approve("prod", person).await;
        }
        let counts = |status: &Status| status.plan.as_ref().is_some_and(|plan| plan.approvals == 1);
        let status = world.until("prod", "approval that counts", counts).await;
        let ready = status.ready().unwrap();
        assert_eq!(ready.reason, "ApprovalNeeded", "{status:#?}");
        assert!(ready.message.starts_with("1 of 2 approvals"), "{}", ready.message);
        assert_eq!(
            world.machines("prod") + world.machines("other"),
            0,
            "nothing is applied that is not approved"
        );
        world.approve("prod", "grace").await;
        let status = world.until_reason("prod", "InSync", &commit).await;
        assert_eq!(status.applied.map(|applied| applied.digest), Some(plan.digest), "the approved plan");

        // An approval is of one plan: a further change needs its own.
        let commit = world.push("prod", 2);
        world.until_reason("prod", "ApprovalNeeded", &commit).await;
        assert_eq!(world.machines("prod"), 2);
        controller.stop().await;
    })
    .await;
}

/// An environment with the cluster of the base under this name, in a cloud of its own.
fn environment(world: &World, name: &str) -> String {
    format!(
        "apiVersion: slipway.dev/v1alpha1
kind: Environment
metadata: {{name: {name}}}
spec:
  bases: [../../base]
  patches:
  - target: {{kind: Cluster, name: base}}
    merge:
      metadata: {{name: {name}}}
      spec: {{provider: {{config: {{directory: {}}}}}}}
",
        world.cloud(name).display()
    )
}

#[tokio::test]
async fn a_change_of_a_base_reaches_its_environments() {
    on_one_thread(async {
        let world = World::new();
        for name in ["dev", "prod"] {
            let path = format!("clusters/{name}/environment.yaml");
            world.repository.write(&path, Some(&environment(&world, name)));
        }
        let mut configuration =
            world.configuration("a", "", "[[source.cluster]]\nname = '*'\napply = 'always'\n");
        configuration.sources[0].bases = vec!["base".to_owned()];
        let commit = world.repository.push_file("base/spec.yaml", &world.spec("base", 1));
        let controller = world.start(configuration).await;
        for name in ["dev", "prod"] {
            world.until_reason(name, "InSync", &commit).await;
            assert_eq!(world.machines(name), 2, "{name}");
        }
        let commit = world.repository.push_file("base/spec.yaml", &world.spec("base", 2));
        for name in ["dev", "prod"] {
            world.until_reason(name, "InSync", &commit).await;
            assert_eq!(world.machines(name), 3, "{name}");
        }
        assert!(world.status("base").await.is_none(), "the base is no cluster");
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn an_approved_run_that_goes_on_is_of_its_own_revision() {
    on_one_thread(async {
        let world = World::new();
        let faults = world.cloud("prod").join("faults.json");
        std::fs::create_dir_all(world.cloud("prod")).unwrap();
        std::fs::write(
            &faults,
            r#"[{ "method": "create", "type": "sim_load_balancer", "kind": "fail-before", "class": "permanent" }]"#,
        )
        .unwrap();
        let first = world.push("prod", 1);
        let controller = world.applying("apply = 'approved'").await;
        world.until_reason("prod", "ApprovalNeeded", &first).await;
        world.approve("prod", "ada").await;
        world.until_reason("prod", "Failed", &first).await;

        // The run goes on after another commit. What that commit wants needs its own approval.
        let second = world.push("prod", 3);
        world.until_reason("prod", "Failed", &second).await;
        std::fs::remove_file(&faults).unwrap();
        let status = world.until_reason("prod", "ApprovalNeeded", &second).await;
        assert_eq!(status.applied.map(|applied| applied.revision), Some(first));
        assert_eq!(world.machines("prod"), 2);
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_protection_that_is_lifted_is_not_safe() {
    on_one_thread(async {
        let world = World::new();
        let push = |backups: &str| {
            let etcd = format!(
                "  etcd: [{{ name: main, members: [{{ name: a, pool: control-plane }}], backups: {{ {backups} }} }}]\n"
            );
            let spec = world.spec("stage", 1).replacen("  zones: [sim-1a]\n", &format!("  zones: [sim-1a]\n{etcd}"), 1);
            assert!(spec.contains(backups));
            world.repository.push_file("clusters/stage/spec.yaml", &spec)
        };
        let commit = push("enabled: true, keepOnDelete: true");
        let controller = world.applying("apply = 'safe'").await;
        world.until_reason("stage", "InSync", &commit).await;
        let kept = ["change the protection of sim_", "delete backups of etcd main with the cluster"];
        for (backups, reasons) in [
            ("enabled: true, keepOnDelete: false", &kept[..]),
            ("enabled: false", &["make no backups of etcd main"]),
        ] {
            let commit = push(backups);
            let status = world.until_reason("stage", "NotSafe", &commit).await;
            let message = &status.ready().unwrap().message;
            assert!(reasons.iter().all(|reason| message.contains(reason)), "{message}");
        }
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn drift_is_told_apart_from_a_change_and_reverted_by_the_policy() {
    on_one_thread(async {
        let world = World::new();
        world.push("dev", 1);
        let commit = world.push("stage", 1);
        let controller = world.start(world.configuration("a", "", POLICIES)).await;
        for name in ["dev", "stage"] {
            world.until_reason(name, "InSync", &commit).await;
        }
        for name in ["dev", "stage"] {
            let inventory = world.inventory(name);
            let network = inventory.of_type("sim_network").next().expect("a network").id.clone();
            world.tamper(name).set(&network, &"tags.by".parse().unwrap(), "hand".into()).unwrap();
        }
        let drifted = world.until_reason("stage", "Drifted", &commit).await;
        let facts = drifted.plan.unwrap().facts;
        assert!(facts.drift == 1 && facts.from_spec == 0, "{facts:?}");
        let reverted = |status: &Status| {
            let again = status.applied.as_ref().is_some_and(|applied| applied.generation > Some(1));
            again && status.ready().is_some_and(|ready| ready.reason == "InSync")
        };
        world.until("dev", "revert", reverted).await;

        // A change of the spec reverts the drift too.
        let commit = world.push("stage", 2);
        world.until_reason("stage", "InSync", &commit).await;
        assert_eq!(world.machines("stage"), 3);
        // A change that removes machines is not a safe one.
        let commit = world.push("stage", 0);
        let status = world.until_reason("stage", "NotSafe", &commit).await;
        assert!(!status.plan.unwrap().facts.unsafe_because.is_empty());
        assert_eq!(world.machines("stage"), 3);
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn drift_that_is_reported_only_is_not_reverted_by_approvals() {
    on_one_thread(async {
        let world = World::new();
        let commit = world.push("prod", 1);
        let controller = world.start(world.configuration("a", "", POLICIES)).await;
        world.until_reason("prod", "ApprovalNeeded", &commit).await;
        for person in ["ada", "grace"] {
            world.approve("prod", person).await;
        }
        let before = world.until_reason("prod", "InSync", &commit).await;

        let inventory = world.inventory("prod");
        let network = inventory.of_type("sim_network").next().expect("a network").id.clone();
        world.tamper("prod").set(&network, &"tags.by".parse().unwrap(), "hand".into()).unwrap();
        let drifted = world.request("prod").await;
        assert_eq!(drifted.ready().unwrap().reason, "Drifted", "{drifted:#?}");
        for person in ["ada", "grace"] {
            world.approve("prod", person).await;
        }
        let after = world.request("prod").await;
        assert_eq!(after.ready().unwrap().reason, "Drifted", "{after:#?}");
        assert_eq!(after.applied, before.applied, "somebody has approved the plan");
        // A person can apply it.
        world.apply("prod", "ada").await;
        world.until_reason("prod", "InSync", &commit).await;
        controller.stop().await;
    })
    .await;
}
