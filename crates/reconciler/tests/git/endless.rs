//! Providers that never answer: they hold neither the clusters of other sources nor the end of the controller.

use std::time::Duration;

use slipway_reconciler::Configuration;
use slipway_reconciler::configuration::Source;

use crate::world::{World, on_one_thread};

const ALWAYS: &str = "[[source.cluster]]\nname = '*'\napply = 'always'\n";

/// A configuration with a second source, whose clusters have a provider that answers after hours.
fn with_endless(world: &World, limit: Option<Duration>) -> Configuration {
    let other = world.path().join("other");
    for name in ["endless-1", "endless-2", "endless-3"] {
        let spec = world.spec(name, 1).replace("timeScale: 0", "latency: 100000, timeScale: 1000");
        let folder = other.join("clusters").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("spec.yaml"), spec).unwrap();
    }
    let mut configuration = world.configuration("a", "", ALWAYS);
    configuration.workers = 2;
    let own = configuration.sources[0].clone();
    let second = Source { name: "other".into(), git: None, folder: Some(other), plan_timeout: limit, ..own };
    configuration.sources.push(second);
    configuration
}

#[tokio::test]
async fn endless_plans_hold_neither_other_sources_nor_a_stop() {
    on_one_thread(async {
        let world = World::new();
        world.repository.push_file("clusters/README.md", "none");
        let controller = world.start(with_endless(&world, None)).await;
        tokio::time::sleep(Duration::from_millis(800)).await;
        let commit = world.push("dev", 1);
        world.until_reason("dev", "InSync", &commit).await;
        let stopped = tokio::time::timeout(Duration::from_secs(10), controller.stop()).await;
        assert!(stopped.is_ok(), "the controller goes on");
        assert!(world.status("endless-1").await.is_none(), "nothing was found out about it");
    })
    .await;
}

#[tokio::test]
async fn planning_that_takes_longer_than_its_limit_fails_and_is_repeated() {
    on_one_thread(async {
        let world = World::new();
        world.repository.push_file("clusters/README.md", "none");
        let controller = world.start(with_endless(&world, Some(Duration::from_millis(400)))).await;
        for name in ["endless-1", "endless-2", "endless-3"] {
            let failed = world.until(name, "second failure", |status| status.failures >= 2).await;
            let problem = failed.problem.unwrap();
            assert_eq!(problem.code.as_deref(), Some("RECON0014"), "{}", problem.message);
        }
        controller.stop_at_once().await;
    })
    .await;
}

#[tokio::test]
async fn a_second_signal_abandons_a_run() {
    on_one_thread(async {
        let world = World::new();
        std::fs::create_dir_all(world.cloud("dev")).unwrap();
        let fault = r#"[{ "method": "create", "type": "sim_network", "kind": "latency", "ms": 100000000 }]"#;
        std::fs::write(world.cloud("dev").join("faults.json"), fault).unwrap();
        let spec = world.spec("dev", 1).replace("timeScale: 0", "timeScale: 1");
        world.repository.push_file("clusters/dev/spec.yaml", &spec);
        let controller = world.applying("apply = 'always'").await;
        world.until_reason("dev", "Applying", "").await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let stopped = tokio::time::timeout(Duration::from_secs(25), controller.stop_at_once()).await;
        assert!(stopped.is_ok(), "the controller goes on");
        let status = world.until_reason("dev", "Stopped", "").await;
        assert!(status.applying.is_some(), "the next process goes on with the run");
    })
    .await;
}

/// A registry that takes connections and never answers.
#[tokio::test]
async fn a_source_that_never_answers_does_not_hold_the_end() {
    on_one_thread(async {
        let world = World::new();
        let registry = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let text = format!(
            "listen = '127.0.0.1:0'\ndata = 'data-a'\npoll = '150ms'\n[[source]]\nname = 'slow'\npaths = ['clusters/*']\n\
             [source.oci]\nurl = 'oci://{}/fleet'\ntag = 'main'\n\
             [[source.cluster]]\nname = '*'\napply = 'never'\n",
            registry.local_addr().unwrap()
        );
        let path = world.path().join("controller.toml");
        let controller = world.start(Configuration::parse(&text, &path, world.path()).unwrap()).await;
        tokio::time::sleep(Duration::from_millis(800)).await;
        let stopped = tokio::time::timeout(Duration::from_secs(10), controller.stop()).await;
        assert!(stopped.is_ok(), "the controller goes on");
    })
    .await;
}
