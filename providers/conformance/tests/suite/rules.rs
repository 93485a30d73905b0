//! For every mandatory rule there is a provider that breaks it and no other.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use slipway_provider_conformance::{Limits, RULES, Report, Scenario, Suite, Verdict};

pub fn reference() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_slipway-provider-reference"))
}

pub fn scenario() -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("reference/conformance.json");
    Scenario::read(&file).unwrap()
}

/// With the value `all`, every defect is tried with every rule instead of a sample.
const DEFECTS: &str = "SLIPWAY_DEFECTS";

/// A defect is tried with its own rule and one in so many of the others. Each rule meets other defects than its neighbours.
const SAMPLE: usize = 6;

/// How often a defect is tried: on a loaded machine an action may end before it is cancelled, and a quick one after a slow one.
const ATTEMPTS: usize = 3;

/// The rules that the provider with the defect of a rule is held against.
fn tried(defect: usize) -> Vec<String> {
    let all = std::env::var(DEFECTS).is_ok_and(|tried| tried == "all");
    let is_tried = |rule: usize| all || rule == defect || (rule + defect).is_multiple_of(SAMPLE);
    let ids = RULES.iter().enumerate().filter(|(rule, _)| is_tried(*rule));
    ids.map(|(_, rule)| rule.id.to_owned()).collect()
}

async fn report(defect: Option<&str>, rules: &[String]) -> Report {
    let arguments = defect.map(|rule| vec!["--defect".into(), rule.into()]);
    let limits = Limits { end: Duration::from_secs(3), parallel: 6, ..Limits::default() };
    Suite::new("reference", reference(), scenario())
        .with_arguments(arguments.unwrap_or_default())
        .with_limits(limits)
        .run(rules)
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_provider_keeps_every_rule() {
    let report = report(None, &[]).await;
    assert!(report.conforms(), "{}", report.to_text());
    assert_eq!(report.with(&Verdict::Pass).len(), RULES.len(), "{}", report.to_text());
}

/// Whether the provider with the defect of a rule breaks this one, and no other of some rules.
async fn breaks_exactly(broken: &str, rules: &[String]) -> Result<(), String> {
    let report = report(Some(broken), rules).await;
    // Without a process nothing else can be proved; everything else must be.
    let skipped = if broken == "handshake" { rules.len() - 1 } else { 0 };
    if report.with(&Verdict::Fail) == [broken]
        && report.with(&Verdict::Skip).len() == skipped
        && !report.conforms()
    {
        return Ok(());
    }
    let shown = report.to_text();
    let shown: Vec<&str> = shown.lines().filter(|line| !line.starts_with("pass")).collect();
    Err(format!("with {broken} broken:\n{}", shown.join("\n")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_provider_breaks_exactly_its_rule() {
    let mandatory = RULES.iter().enumerate().filter(|(_, rule)| rule.mandatory);
    let complaints: Vec<String> = stream::iter(mandatory)
        .map(|(index, rule)| async move {
            let mut complaint = None;
            for _ in 0..ATTEMPTS {
                complaint = breaks_exactly(rule.id, &tried(index)).await.err();
                if complaint.is_none() {
                    break;
                }
            }
            complaint
        })
        .buffer_unordered(3)
        .filter_map(|complaint| async { complaint })
        .collect()
        .await;
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
