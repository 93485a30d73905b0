//! Lists of what all clusters of a store have.

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::Place;

use crate::state::{json, larger, run_as};
use crate::{PROGRAM, SMALL};

/// A store with the clusters `line` and `other`.
fn place() -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    std::fs::create_dir_all(place.path().join("specs"))?;
    for name in ["line", "other"] {
        place.write(&format!("specs/{name}.yaml"), &spec(SMALL, name))?;
        place.expect(0, &["apply", "-f", "specs", "--cluster", name, "--yes"])?;
    }
    Ok(place)
}

/// A spec of a cluster that can be in one folder with others.
fn spec(text: &str, name: &str) -> String {
    let text = text.replace("name: line", &format!("name: {name}"));
    text.replace("role: controlPlane", &format!("cluster: {name}, role: controlPlane"))
}

#[test]
fn the_values_of_a_cluster_are_shown_for_scripts() -> Result<()> {
    let place = place()?;
    let values = json(&place, &["output", "line"])?;
    ensure!(values["provider"] == "sim" && values["pools"].as_array().is_some_and(|pools| !pools.is_empty()));
    let network = place
        .inventory()?
        .at(&"sim_network.main".parse()?)
        .iter()
        .map(|found| found.id.clone())
        .collect::<Vec<_>>();
    let named = values["objects"]["sim_network.main"].as_str().context("the network")?.to_owned();
    ensure!(network.contains(&named), "{named} is none of {network:?}");
    // By spec, one value alone, without quotes.
    let by_spec = ["output", "-f", "specs", "--cluster", "line", "--only", "uid"];
    let uid = place.expect(0, &by_spec)?.out;
    ensure!(values["uid"] == uid.trim_end(), "{uid}");
    let text = place.expect(0, &["output", "line"])?.out;
    ensure!(text.contains("cluster = line\n") && text.contains("generation = 1\n"), "{text}");
    // Machines of the simulated cloud run no API.
    let refused = place.expect(1, &["output", "line", "--only", "endpoint"])?.err;
    ensure!(refused.contains("CLI0041"), "{refused}");
    let unknown = place.expect(1, &["output", "lime"])?.err;
    ensure!(unknown.contains("lime"), "{unknown}");
    Ok(())
}

#[test]
fn pools_of_all_clusters_are_listed() -> Result<()> {
    let place = place()?;
    let listed = place.expect(0, &["get", "pools"])?.out;
    let rows: Vec<&str> = listed.lines().collect();
    ensure!(rows.len() == 3 && rows[0].starts_with("CLUSTER  POOL"), "{listed}");
    for (row, cluster) in rows[1..].iter().zip(["line", "other"]) {
        let words: Vec<&str> = row.split_whitespace().collect();
        ensure!(
            words == [cluster, "control-plane", "controlPlane", "1", "sim.medium", "1.35.2", "sim-1a"],
            "{row}"
        );
    }
    let one = json(&place, &["get", "pools", "other"])?;
    let pools = one["pools"].as_array().context("pools")?;
    ensure!(pools.len() == 1 && pools[0]["cluster"] == "other" && pools[0]["min"] == 1, "{one}");
    // Machines of the simulated cloud run no Kubernetes: each cluster is named, and no list says that there are no nodes.
    let nodes = place.expect(1, &["get", "nodes"])?;
    ensure!(nodes.err.contains("CLI0041") && nodes.out.is_empty(), "{}{}", nodes.out, nodes.err);
    let unknown = place.expect(1, &["get", "pools", "nowhere"])?;
    ensure!(unknown.err.contains("nowhere"), "{unknown:?}");
    // What was deleted has no pools.
    place.expect(0, &["delete", "other", "--yes", "--confirm", "other"])?;
    let listed = place.expect(0, &["get", "pools"])?.out;
    ensure!(listed.contains("line") && !listed.contains("other"), "{listed}");
    Ok(())
}

#[test]
fn stored_plans_are_listed_with_their_approvals() -> Result<()> {
    let place = place()?;
    ensure!(place.expect(0, &["get", "plans"])?.out.starts_with("No stored plans"));
    for name in ["line", "other"] {
        place.write(&format!("specs/{name}.yaml"), &spec(&larger(), name))?;
    }
    // Each plan is stored beside its cluster.
    let stored = place.expect(2, &["plan", "-f", "specs", "--out", "state:"])?;
    ensure!(stored.out.matches("The plan is stored as state:").count() == 2, "{stored:?}");
    let list = json(&place, &["get", "plans"])?;
    let plans = list["plans"].as_array().context("plans")?;
    ensure!(plans.len() == 2 && plans.iter().all(|plan| plan["fits"] == true), "{list}");
    ensure!(plans[0]["cluster"] == "line" && plans[1]["cluster"] == "other", "{list}");
    let digest = plans[1]["plan"].as_str().context("a digest")?.trim_start_matches("sha256:").to_owned();
    let plan = format!("state:other/{digest}");
    // The name of the plan is a result, also with `--quiet` and in JSON.
    let store = ["plan", "-f", "specs", "--cluster", "other", "--out", "state:"];
    let quiet = place.expect(2, &[store.as_slice(), &["-q"]].concat())?;
    ensure!(quiet.out.contains(&format!("The plan is stored as {plan}")), "{quiet:?}");
    let shown = place.expect(2, &[store.as_slice(), &["-o", "json"]].concat())?.out;
    let shown: serde_json::Value = serde_json::from_str(&shown)?;
    ensure!(shown["stored"] == plan.as_str(), "{shown}");
    let refused = place.expect(1, &["show", &format!("sha256:{digest}")])?;
    ensure!(refused.err.contains(&format!("`state:{digest}`")), "{refused:?}");
    run_as(&place, "eve", &["approve", &plan, "--yes"])?.wanted(0, "approve")?;
    let listed = place.expect(0, &["get", "plans", "other"])?.out;
    ensure!(listed.contains("state:other/") && listed.contains("eve@") && listed.contains("yes"), "{listed}");
    ensure!(!listed.contains("state:line/"), "{listed}");
    place.expect(0, &["apply", &plan, "--yes"])?;
    let list = json(&place, &["get", "plans", "other"])?;
    ensure!(list["plans"].as_array().context("plans")?.iter().all(|plan| plan["fits"] == false), "{list}");
    // A file has one plan.
    let refused = place.expect(1, &["plan", "-f", "specs", "--out", "both.plan"])?;
    ensure!(refused.err.contains("CLI0005") && refused.err.contains("`--out state:`"), "{refused:?}");
    Ok(())
}

#[test]
fn drift_of_all_clusters_is_shown() -> Result<()> {
    let place = place()?;
    let none = place.expect(0, &["drift", "--all"])?.out;
    for name in ["line", "other"] {
        ensure!(none.contains(&format!("Nothing of {name} was changed")), "{none}");
    }
    place.expect(0, &["drift", "-f", "specs"])?;
    let both = place.expect(1, &["drift", "--all", "line"])?;
    ensure!(both.err.contains("cannot be used with"), "{both:?}");
    let one = place.expect(1, &["drift", "--all", "--cluster", "line"])?;
    ensure!(one.err.contains("cannot be used with"), "{one:?}");
    let json = place.expect(0, &["drift", "--all", "-o", "json"])?.out;
    let plans = json.lines().map(serde_json::from_str).collect::<Result<Vec<serde_json::Value>, _>>()?;
    let clusters: Vec<_> = plans.iter().filter_map(|plan| plan["cluster"].as_str()).collect();
    ensure!(clusters == ["line", "other"], "{json}");
    let markdown = place.expect(1, &["drift", "--all", "-o", "markdown"])?;
    ensure!(markdown.err.contains("CLI0005"), "{markdown:?}");
    Ok(())
}
