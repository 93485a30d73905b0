//! Sources that are broken, gone or hostile: nothing is applied, nothing is deleted, and nothing is tried in a hot loop.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use slipway_reconciler::configuration::Source;
use slipway_reconciler::status::Status;
use slipway_state_store::MemoryBackend;
use slipway_state_store::faults::{Call, Faulty, Moment, Operation};

use crate::repository::gpg;
use crate::world::{World, on_one_thread};

#[tokio::test]
async fn a_forced_push_counts_and_a_deleted_branch_applies_and_deletes_nothing() {
    on_one_thread(async {
        let world = World::new();
        let first = world.push("dev", 1);
        let controller = world.applying("apply = 'always'").await;
        world.until_reason("dev", "InSync", &first).await;
        world.push("dev", 3);
        world.repository.reset(&first);
        let forced = world.push("dev", 2);
        world.until_reason("dev", "InSync", &forced).await;
        assert_eq!(world.machines("dev"), 3);

        world.repository.delete_branch();
        let gone = world.until_reason("dev", "SourceProblem", "").await;
        assert_eq!(gone.problem.and_then(|problem| problem.code).as_deref(), Some("RECON0005"));
        let before = world.store.count(Operation::Update, "dev/head");
        tokio::time::sleep(Duration::from_millis(800)).await;
        assert_eq!(world.store.count(Operation::Update, "dev/head"), before);
        assert_eq!(world.machines("dev"), 3);
        let back = world.push("dev", 1);
        world.until_reason("dev", "InSync", &back).await;
        controller.stop().await;
    })
    .await;
}

/// A sign of life takes longer than four polls here.
#[tokio::test]
async fn a_slow_store_does_not_stop_a_controller_whose_polls_are_short() {
    on_one_thread(async {
        let slow = |moment: Moment, call: Call| -> BoxFuture<'static, ()> {
            let is_slow = moment == Moment::Before && call.key.as_str().contains("members");
            let wait = Duration::from_millis(if is_slow { 700 } else { 0 });
            Box::pin(tokio::time::sleep(wait))
        };
        let mut world = World::new();
        world.store = Arc::new(Faulty::new(Arc::new(MemoryBackend::new())).hook(slow));
        let first = world.push("dev", 1);
        let controller = world.applying("apply = 'always'").await;
        world.until_reason("dev", "InSync", &first).await;
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_hint_lets_a_source_be_read_before_its_interval() {
    on_one_thread(async {
        let world = World::new();
        let first = world.push("dev", 1);
        let mut configuration =
            world.configuration("a", "", "[[source.cluster]]\nname = '*'\napply = 'always'");
        configuration.sources[0].interval = Duration::from_secs(600);
        let controller = world.start(configuration).await;
        world.until_reason("dev", "InSync", &first).await;
        let second = world.push("dev", 2);
        controller.handle.changed("another");
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(world.status("dev").await.unwrap().revision, first);
        controller.handle.changed("fleet");
        world.until_reason("dev", "InSync", &second).await;
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_broken_or_missing_spec_stops_its_cluster_only() {
    on_one_thread(async {
        let world = World::new();
        world.push("dev", 1);
        let commit = world.push("prod", 1);
        let controller = world.applying("apply = 'always'").await;
        world.until_reason("dev", "InSync", &commit).await;
        world.until_reason("prod", "InSync", &commit).await;

        world.repository.write("clusters/prod/spec.yaml", Some("kind: [unclosed\n"));
        let commit = world.push("dev", 2);
        world.until_reason("dev", "InSync", &commit).await;
        let status = world.until_reason("prod", "SpecInvalid", "").await;
        let problem = status.problem.unwrap();
        assert!(problem.message.contains("clusters/prod/spec.yaml:"), "{}", problem.message);
        assert!(!problem.message.contains("checkouts"), "no path of this machine: {}", problem.message);

        world.repository.write("clusters/prod/spec.yaml", None);
        world.repository.push(&[]);
        world.until_reason("prod", "SpecVanished", "").await;
        assert_eq!((world.machines("dev"), world.machines("prod")), (3, 2), "nothing is deleted");

        // The same cluster in two folders is neither.
        world.repository.write("clusters/a/spec.yaml", Some(&world.spec("prod", 1)));
        world.repository.write("clusters/b/spec.yaml", Some(&world.spec("prod", 3)));
        world.repository.push(&[]);
        world.until_reason("prod", "Duplicate", "").await;
        assert_eq!(world.machines("prod"), 2);
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_spec_that_comes_back_as_it_was_is_planned_again() {
    on_one_thread(async {
        let world = World::new();
        world.push("stays", 1);
        let commit = world.push("dev", 1);
        let controller = world.applying("apply = 'always'").await;
        world.until_reason("dev", "InSync", &commit).await;
        world.repository.write("clusters/dev/spec.yaml", None);
        world.repository.push(&[]);
        world.until_reason("dev", "SpecVanished", "").await;
        let commit = world.push("dev", 1);
        world.until_reason("dev", "InSync", &commit).await;
        assert_eq!(world.machines("dev"), 2);
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_cluster_stays_with_its_source() {
    on_one_thread(async {
        let world = World::new();
        let fleet = "[[source.cluster]]\nname = 'prod'\napply = 'always'";
        let other = world.path().join("other");
        std::fs::create_dir_all(other.join("clusters/prod")).unwrap();
        std::fs::write(other.join("clusters/prod/spec.yaml"), world.spec("prod", 5)).unwrap();
        // In the other source everything of this name is applied.
        let both = |name: &str| {
            let mut both = world.configuration("a", "", fleet);
            let policy = toml::from_str(&format!("name = '{name}'\napply = 'always'")).unwrap();
            let own = both.sources[0].clone();
            let second = Source {
                name: "other".into(),
                git: None,
                folder: Some(other.clone()),
                clusters: vec![policy],
                ..own
            };
            both.sources.push(second);
            both
        };
        let commit = world.push("prod", 1);
        let controller = world.start(world.configuration("a", "", fleet)).await;
        world.until_reason("prod", "InSync", &commit).await;
        controller.stop().await;

        let controller = world.start(both("*")).await;
        let commit = world.push("prod", 2);
        world.until_reason("prod", "InSync", &commit).await;
        assert_eq!(world.machines("prod"), 3);
        controller.stop().await;

        // Its own source cannot be read, and then it has lost the spec.
        world.repository.delete_branch();
        let controller = world.start(both("*")).await;
        world.until_reason("prod", "SourceProblem", "").await;
        world.repository.write("clusters/prod/spec.yaml", None);
        world.repository.push_file("clusters/README.md", "none");
        let status = world.until_reason("prod", "SourceChanged", "").await;
        assert_eq!((status.source.as_str(), world.machines("prod")), ("fleet", 3));
        controller.stop().await;

        let controller = world.start(both("prod")).await;
        world.until("prod", "new source", |status| status.source == "other").await;
        world.until_reason("prod", "InSync", "").await;
        assert_eq!(world.machines("prod"), 6);
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_source_that_cannot_be_read_holds_no_cluster_that_is_named_for_another_one() {
    on_one_thread(async {
        let world = World::new();
        let other = world.path().join("other");
        std::fs::create_dir_all(other.join("clusters")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", other.join("clusters/z.yaml")).unwrap();
        let policies = "[[source.cluster]]\nname = 'dev'\napply = 'always'\n[[source.cluster]]\nname = '*'\napply = 'always'";
        let mut configuration = world.configuration("a", "", policies);
        let all = toml::from_str("name = '*'\napply = 'always'").unwrap();
        let own = configuration.sources[0].clone();
        let refused =
            Source { name: "other".into(), git: None, folder: Some(other), clusters: vec![all], ..own };
        configuration.sources.push(refused);
        world.push("new", 1);
        let commit = world.push("dev", 1);
        let controller = world.start(configuration).await;
        world.until_reason("dev", "InSync", &commit).await;
        // Both sources may get this one, by a pattern.
        let held = world.until_reason("new", "SourceProblem", "").await;
        let problem = held.problem.unwrap();
        assert!(problem.message.contains("the source other may have this spec too"), "{problem:?}");
        let is_way_out = |hint: &String| hint.contains("name = \"new\"") && hint.contains("source fleet");
        assert!(problem.hints.iter().any(is_way_out), "{problem:?}");
        assert_eq!(held.source, "", "no source has it");
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn only_commits_with_an_accepted_signature_are_used() {
    on_one_thread(async {
        let world = World::new();
        let key = world.repository.sign("good");
        std::fs::write(world.path().join("signers"), format!("tester@example.com {key}")).unwrap();
        let signed = world.push("dev", 1);
        let configuration = world.configuration(
            "a",
            "signatures = { allowed-signers = 'signers' }",
            "[[source.cluster]]\nname = '*'\napply = 'always'",
        );
        let controller = world.start(configuration).await;
        world.until_reason("dev", "InSync", &signed).await;

        world.repository.write("clusters/dev/spec.yaml", Some(&world.spec("dev", 2)));
        world.repository.push(&["--no-gpg-sign"]);
        let refused = world.until_reason("dev", "SourceProblem", "").await;
        assert_eq!(refused.problem.and_then(|problem| problem.code).as_deref(), Some("RECON0006"));
        world.repository.sign("bad");
        world.repository.push(&[]);
        tokio::time::sleep(Duration::from_millis(600)).await;
        assert_eq!(world.machines("dev"), 2, "the key is not an accepted one");
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn only_commits_with_an_accepted_signature_of_gpg_are_used() {
    on_one_thread(async {
        let world = World::new();
        let key = world.path().join("good.gpg");
        std::fs::write(&key, world.repository.sign_by_gpg("good")).unwrap();
        let accepted = world.path().join("accepted");
        gpg(&accepted, &["--no-autostart", "--import", key.to_str().unwrap()]);
        let signed = world.push("dev", 1);
        let configuration = world.configuration(
            "a",
            "signatures = { gpg-home = 'accepted' }",
            "[[source.cluster]]\nname = '*'\napply = 'always'",
        );
        let controller = world.start(configuration).await;
        world.until_reason("dev", "InSync", &signed).await;

        world.repository.sign_by_gpg("bad");
        world.push("dev", 2);
        let refused = world.until_reason("dev", "SourceProblem", "").await;
        assert_eq!(refused.problem.and_then(|problem| problem.code).as_deref(), Some("RECON0006"));
        assert_eq!(world.machines("dev"), 2, "the key is not in the keyring");
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn only_tags_with_an_accepted_signature_under_their_own_name_are_used() {
    on_one_thread(async {
        let world = World::new();
        let key = world.repository.sign("good");
        std::fs::write(world.path().join("signers"), format!("tester@example.com {key}")).unwrap();
        let push = |workers| {
            world.repository.write("clusters/dev/spec.yaml", Some(&world.spec("dev", workers)));
            world.repository.push(&["--no-gpg-sign"])
        };
        let first = push(1);
        world.repository.tag("release", &["--sign", "-m", "first"]);
        let configuration = world.configuration(
            "a",
            "tag = 'release'\nsignatures = { allowed-signers = 'signers', on = 'tag' }",
            "[[source.cluster]]\nname = '*'\napply = 'always'",
        );
        let controller = world.start(configuration).await;
        world.until_reason("dev", "InSync", &first).await;

        let second = push(2);
        world.repository.tag("release", &["--annotate", "--no-sign", "-m", "second"]);
        let refused = world.until_reason("dev", "SourceProblem", "").await;
        assert_eq!(refused.problem.and_then(|problem| problem.code).as_deref(), Some("RECON0006"));
        world.repository.tag("release", &[]);
        tokio::time::sleep(Duration::from_millis(600)).await;
        world.repository.tag("candidate", &["--sign", "-m", "not yet"]);
        world.repository.push_tag("candidate", "release");
        let said = |status: &Status| {
            let problem = status.problem.as_ref().map(|problem| problem.message.as_str());
            problem.is_some_and(|message| message.contains("signed as candidate"))
        };
        world.until("dev", "refusal of the name", said).await;
        assert_eq!(world.machines("dev"), 2);

        world.repository.tag("release", &["--sign", "-m", "second"]);
        world.until_reason("dev", "InSync", &second).await;
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_link_in_the_paths_is_refused_and_one_elsewhere_is_not() {
    on_one_thread(async {
        let world = World::new();
        world.repository.link("elsewhere", "/etc/passwd");
        let commit = world.push("dev", 1);
        let controller = world.applying("apply = 'always'").await;
        world.until_reason("dev", "InSync", &commit).await;
        world.repository.link("clusters/dev/more.yaml", "/etc/passwd");
        world.push("dev", 2);
        let refused = world.until_reason("dev", "SourceProblem", "").await;
        assert_eq!(refused.problem.and_then(|problem| problem.code).as_deref(), Some("RECON0007"));
        assert_eq!(world.machines("dev"), 2);
        controller.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_missing_provider_is_looked_for_with_growing_waits() {
    on_one_thread(async {
        let world = World::new();
        let spec = world.spec("dev", 1);
        let begin = spec.find("{name: sim").unwrap();
        let end = begin + spec[begin..].find("}}").unwrap() + 2;
        let spec = format!("{}{{name: absent}}{}", &spec[..begin], &spec[end..]);
        world.repository.push_file("clusters/dev/spec.yaml", &spec);
        let controller = world.applying("apply = 'always'").await;
        let failed = world.until("dev", "failure", |status| status.failures >= 1).await;
        let code = failed.problem.clone().and_then(|problem| problem.code).unwrap_or_default();
        assert!(code.starts_with("PROVIDER"), "{failed:#?}");
        let begun = std::time::Instant::now();
        tokio::time::sleep(Duration::from_millis(3_000)).await;
        let attempts = world.status("dev").await.unwrap().failures - failed.failures;
        // Waits of 0.3, 0.6 and 1 s, each shorter by a fifth at most: 0.24 + 0.48 + 0.8 + 0.8 + 0.8.
        assert!((1..=6).contains(&attempts), "{attempts} attempts in {:?}", begun.elapsed());
        controller.stop().await;
    })
    .await;
}
