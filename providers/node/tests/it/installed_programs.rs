//! Programs of fetched files in their folders, without a service.

use serde_json::json;
use slipway_resource::{Digest, Observation, Path, Value};

use super::bench::{Bench, value};

const ADDRESS: &str = "installed_programs.crictl";
const PLACE: &str = "/usr/local/bin/crictl";

/// A fetched file that prints a version; the attributes with which it is installed.
fn fetched(bench: &Bench, version: &str) -> Value {
    let text = format!("#!/bin/sh\necho crictl version v{version}\n");
    let source = format!("/var/lib/slipway/fetched/crictl-{version}");
    bench.put(&source, &text);
    let sha256 = Digest::of_bytes(text.as_bytes()).hex().to_owned();
    value(json!({
        "name": "crictl", "folder": "/usr/local/bin", "source": source, "sha256": sha256, "program": "crictl",
    }))
}

fn with_version(mut desired: Value, version: &str) -> Value {
    desired.set(&Path::key("version"), version.into());
    desired
}

#[tokio::test]
async fn programs_are_replaced_and_those_of_the_host_come_back() {
    let bench = Bench::new().await;
    bench.put(PLACE, "of the host");
    let wanted = fetched(&bench, "1.33.0");
    bench.create(ADDRESS, wanted.clone()).await.unwrap();
    assert!(bench.text(PLACE).contains("v1.33.0"));
    let found = bench.attributes(ADDRESS, "crictl").await;
    assert_eq!(found.get("version"), Some(&Value::from("1.33.0")));
    assert_eq!(bench.changes(ADDRESS, "crictl", &wanted).await, [""; 0]);

    // The plan names both versions.
    let newer = with_version(fetched(&bench, "1.34.0"), "1.34.0");
    let reasons = bench.reasons(ADDRESS, "crictl", &newer).await;
    assert_eq!(reasons, ["crictl changes from 1.33.0 to 1.34.0 on this host"]);
    bench.update(ADDRESS, "crictl", newer.clone()).await.unwrap();
    assert!(bench.text(PLACE).contains("v1.34.0"));
    assert_eq!(bench.changes(ADDRESS, "crictl", &newer).await, [""; 0]);

    // A file that is changed by hand is a difference.
    bench.put(PLACE, "#!/bin/sh\necho crictl version v1.34.0 of somebody\n");
    assert!(!bench.changes(ADDRESS, "crictl", &newer).await.is_empty());
    bench.update(ADDRESS, "crictl", newer).await.unwrap();
    bench.delete(ADDRESS, "crictl").await.unwrap();
    assert_eq!(bench.text(PLACE), "of the host");
    assert_eq!(bench.read(ADDRESS, "crictl").await, Observation::Absent);
    let left = std::fs::read_dir(bench.path("/usr/local/bin")).unwrap().count();
    assert_eq!(left, 1, "nothing else is left there");
}

#[tokio::test]
async fn a_file_with_another_version_or_digest_changes_nothing() {
    let bench = Bench::new().await;
    let wanted = fetched(&bench, "1.33.0");
    bench.create(ADDRESS, wanted.clone()).await.unwrap();
    let other = with_version(fetched(&bench, "1.34.0"), "1.35.0");
    let refused = bench.update(ADDRESS, "crictl", other).await.unwrap_err();
    assert!(refused.message.contains("it has the version 1.34.0 instead of 1.35.0"), "{}", refused.message);
    let changed = fetched(&bench, "1.34.0");
    bench.put("/var/lib/slipway/fetched/crictl-1.34.0", "#!/bin/sh\n");
    let refused = bench.update(ADDRESS, "crictl", changed).await.unwrap_err();
    assert!(refused.message.contains("it was changed since it was fetched"), "{}", refused.message);
    assert!(bench.text(PLACE).contains("v1.33.0"));
    assert_eq!(bench.changes(ADDRESS, "crictl", &wanted).await, [""; 0]);
}
