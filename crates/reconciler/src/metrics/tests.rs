//! The alerts and the dashboard name what exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::status::Reason;

const RULES: &str = "prometheus-rules.yaml";
const DASHBOARD: &str = "grafana-dashboard.json";

fn recipes() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recipes")
}

fn recipe(name: &str) -> String {
    std::fs::read_to_string(recipes().join(name)).unwrap()
}

/// The names of samples in a text.
fn samples(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
    words.filter(|word| word.starts_with("slipway_controller_")).collect()
}

/// What is scraped from a controller in which everything has happened.
fn scraped() -> String {
    let registry = slipway_controller::Metrics::default();
    let metrics = Metrics::new(&registry);
    for family in [&metrics.reads, &metrics.reviews, &metrics.plans, &metrics.applies, &metrics.failures] {
        family.get_or_create(&outcome("ok")).inc();
    }
    for family in [&metrics.webhooks, &metrics.notifications, &metrics.calls] {
        family.get_or_create(&[("name", String::new()), ("outcome", String::new())]).inc();
    }
    metrics.clusters.get_or_create(&[("reason", String::new())]).set(1);
    let text = registry.text().unwrap();
    text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

#[test]
fn alerts_and_dashboard_name_metrics_that_exist() {
    let scraped = scraped();
    let known = samples(&scraped);
    for name in [RULES, "prometheus-rules-test.yaml", DASHBOARD] {
        let text = recipe(name);
        let unknown: Vec<&str> = samples(&text).difference(&known).copied().collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?} are not in {known:?}");
    }
}

#[test]
fn alerts_name_reasons_that_exist() {
    let rules = recipe(RULES);
    let known = Reason::ALL.map(Reason::word);
    let lists = rules.split("reason=~\"").skip(1).filter_map(|rest| rest.split('"').next());
    let named: Vec<&str> = lists.flat_map(|list| list.split('|')).collect();
    assert!(named.len() > 5, "{named:?}");
    assert!(named.iter().all(|name| known.contains(name)), "{named:?}");
}

#[test]
fn each_panel_of_the_dashboard_says_what_it_shows() {
    let dashboard: serde_json::Value = serde_json::from_str(&recipe(DASHBOARD)).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let numbers: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(numbers.len(), panels.len());
    for panel in panels {
        let is_named = |field: &str| panel[field].as_str().is_some_and(|text| !text.is_empty());
        assert!(is_named("title") && is_named("description"), "{panel}");
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{panel}");
        let targets = panel["targets"].as_array().unwrap();
        let is_sound = |target: &serde_json::Value| {
            target["expr"].as_str().is_some_and(|query| query.contains("{job=~\"$job\""))
        };
        assert!(!targets.is_empty() && targets.iter().all(is_sound), "{panel}");
    }
}

#[test]
fn promtool_accepts_the_alerts() {
    let promtool = slipway_testkit::promtool::install().unwrap();
    for arguments in [["check", "rules", RULES], ["test", "rules", "prometheus-rules-test.yaml"]] {
        let ended = Command::new(&promtool).args(arguments).current_dir(recipes()).output().unwrap();
        let said = [ended.stdout, ended.stderr].concat();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&said));
    }
}
