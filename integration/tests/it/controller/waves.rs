//! Three clusters in three waves: a canary that fails holds the others, and after its correction all are applied in order.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::Place;
use slipway_provider_sim::inspect::Inventory;

use super::{CONFIGURATION, Running, commit, git};
use crate::{PROGRAM, SMALL};

/// The clusters by their waves.
const NAMES: [&str; 3] = ["canary", "stage", "prod"];

const RULES: &str = r#"[[source.cluster]]
name = "canary"
apply = "always"
[[source.cluster]]
name = "stage"
apply = "always"
wave = 1
[[source.cluster]]"#;

/// Writes the spec of a cluster that has a cloud of its own with these faults.
fn write(place: &Place, name: &str, faults: &str) -> Result<()> {
    let directory = place.path().join(".slipway").join(name);
    let provider = format!(
        "provider: {{ name: sim, config: {{ directory: {}, faults: {faults} }} }}",
        directory.display()
    );
    let spec =
        SMALL.replace("name: line", &format!("name: {name}")).replace("provider: { name: sim }", &provider);
    ensure!(spec.contains(&provider) && spec.contains(name), "{spec}");
    place.write(&format!("work/clusters/{name}/spec.yaml"), &spec)?;
    Ok(())
}

fn fleet() -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    write(&place, "canary", "[{ method: create, type: sim_network, kind: fail-before, class: permanent }]")?;
    write(&place, "stage", "[]")?;
    write(&place, "prod", "[]")?;
    git(&place, &["init", "--quiet", "--initial-branch=main", "."])?;
    commit(&place)?;
    let repository = place.path().join("work").display().to_string();
    let configuration = CONFIGURATION
        .replace("REPOSITORY", &repository)
        .replace("APPLY", "always")
        .replace("[[source.cluster]]", RULES);
    place.write("controller.toml", &format!("{configuration}wave = 2\n"))?;
    Ok(place)
}

/// Waits until the statuses of all clusters are as expected. Returns them in the order of the waves.
fn until(place: &Place, holds: impl Fn(&[Json]) -> bool) -> Result<Vec<Json>> {
    let begun = Instant::now();
    loop {
        let shown = place.run(&["controller", "show", "-o", "json"])?;
        let report: Json = serde_json::from_str(&shown.out).unwrap_or_default();
        let clusters = report["clusters"].as_array().cloned().unwrap_or_default();
        let status = |name: &&str| {
            clusters
                .iter()
                .map(|cluster| cluster["status"].clone())
                .find(|status| status["cluster"] == **name)
        };
        let statuses: Vec<Json> = NAMES.iter().filter_map(status).collect();
        if statuses.len() == NAMES.len() && holds(&statuses) {
            return Ok(statuses);
        }
        ensure!(begun.elapsed() < Duration::from_secs(40), "{}", shown.out);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Reason and message of the condition `Ready`.
fn ready(status: &Json) -> (&str, &str) {
    let conditions = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
    let text = |field: &str| ready.and_then(|ready| ready[field].as_str()).unwrap_or_default();
    (text("reason"), text("message"))
}

#[test]
fn a_canary_that_fails_holds_the_other_waves_until_it_is_corrected() -> Result<()> {
    let place = fleet()?;
    let _running = Running::start(&place, &[])?;
    let waits = |status: &Json| {
        let (reason, message) = ready(status);
        reason == "WaitsFor"
            && message.starts_with("canary: the last attempt failed: the run is not complete")
    };
    let held = until(&place, |statuses| statuses.iter().skip(1).all(waits))?;
    for (wave, status) in held.iter().enumerate() {
        ensure!(status["rollout"]["wave"] == wave, "{status}");
    }
    for status in held.iter().skip(1) {
        ensure!(status["plan"]["facts"]["create"].as_u64() > Some(0), "its plan is shown: {status}");
        ensure!(status["rollout"]["waits_for"] == "canary", "{status}");
    }
    for name in ["stage", "prod"] {
        let inventory = Inventory::open(place.path().join(".slipway").join(name))?;
        ensure!(inventory.objects.is_empty(), "{name} was applied before the canary");
    }
    let shown = place.expect(0, &["controller", "show", "--waves", "fleet"])?;
    for part in ["wave 0: 0 of 1 clusters in line\n", "wave 2: 0 of 1 clusters in line; waits for canary: "] {
        ensure!(shown.out.contains(part), "no `{part}` in {}", shown.out);
    }
    let unknown = place.expect(1, &["controller", "show", "--waves", "flet"])?;
    ensure!(unknown.err.contains("RECON0030"), "{}", unknown.err);

    write(&place, "canary", "[]")?;
    commit(&place)?;
    let done = until(&place, |statuses| statuses.iter().all(|status| ready(status).0 == "InSync"))?;
    // Without the last letter, moments with more and fewer digits are sorted as texts.
    let times: Vec<&str> = done
        .iter()
        .filter_map(|status| status["applied"]["when"].as_str())
        .map(|time| time.trim_end_matches('Z'))
        .collect();
    ensure!(times.len() == NAMES.len() && times.is_sorted(), "{times:?}");
    Ok(())
}
