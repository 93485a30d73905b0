//! The output of each renderer for a plan with everything.

use insta::assert_snapshot;
use slipway_plan::render::{self, TextOptions};
use slipway_plan::{Ignored, Mode, Plan, StepId};
use slipway_resource::Path;

use crate::fixture;

fn text(plan: &Plan) -> String {
    render::text(plan, &TextOptions::default())
}

#[test]
fn text_of_everything() {
    assert_snapshot!(text(&fixture::rich()));
}

#[test]
fn text_of_everything_verbose() {
    let options = TextOptions { verbose: true, ..TextOptions::default() };
    assert_snapshot!(render::text(&fixture::rich(), &options));
}

#[test]
fn text_in_colour() {
    let mut plan = fixture::rich();
    plan.changes.retain(|change| change.address.kind() != "sim_subnet");
    plan.changes.truncate(5);
    let options = TextOptions { color: true, ..TextOptions::default() };
    let escaped = render::text(&plan, &options).replace('\u{1b}', "␛");
    assert_snapshot!(escaped);
}

#[test]
fn text_of_a_long_roll() {
    let mut plan = fixture::empty();
    fixture::roll(&mut plan, "sim_machine_pool.workers", 40, &[]);
    assert_snapshot!(text(&plan));
}

#[test]
fn a_roll_names_the_whole_roll_before_it_and_no_nodes_where_nothing_is_drained() {
    let mut plan = fixture::empty();
    fixture::roll(&mut plan, "sim_machine_pool.control-plane", 2, &[]);
    let ids: Vec<StepId> = plan.steps.iter().map(|step| step.id).collect();
    let (last, before) = (ids[ids.len() - 1], ids[ids.len() - 2]);
    fixture::roll(&mut plan, "sim_machine_pool.workers", 2, &[]);
    let surge =
        plan.steps.iter().position(|step| step.address.name() == "workers" && step.action.verb() == "surge");
    let surge = surge.unwrap();
    plan.steps[surge].depends_on = vec![before];
    let part = text(&plan);
    assert!(
        part.contains("first drain sim_machine_pool.control-plane") && !part.contains("first roll"),
        "{part}"
    );
    plan.steps[surge].depends_on = vec![before, last];
    for shown in [text(&plan), render::html(&plan)] {
        assert_eq!(shown.matches("first roll sim_machine_pool.control-plane").count(), 1, "{shown}");
        assert!(!shown.contains("first drain") && !shown.contains("first remove"), "{shown}");
    }
    assert!(!text(&plan).contains("without a drain"), "nodes are drained");
    for step in &mut plan.steps {
        if matches!(step.action.verb(), "cordon" | "drain") {
            step.action = fixture::gate("console", "member", "machine-1");
        }
    }
    let shown = text(&plan);
    assert_eq!(
        shown.matches("machines are replaced one after the other, without a drain").count(),
        2,
        "{shown}"
    );
}

#[test]
fn text_of_plans_that_do_nothing() {
    let mut plan = fixture::empty();
    assert_eq!(text(&plan), "No changes. main is as its spec says.\n");
    let address = "sim_machine_pool.workers".parse().unwrap();
    plan.ignored = vec![Ignored { address, attributes: vec![Path::key("image"), Path::key("size")] }];
    let sentence = "has 2 differences from its spec that ignoreChanges leaves alone.";
    for shown in [text(&plan), render::markdown(&plan, 60_000), render::html(&plan)] {
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains(sentence) && !shown.contains("is as its spec says"), "{shown}");
        assert!(shown.contains("sim_machine_pool.workers: image, size"), "{shown}");
    }
    assert_eq!(render::json(&plan)["ignored"][0]["attributes"], serde_json::json!(["image", "size"]));
    plan.ignored = Vec::new();
    plan.mode = Mode::Delete;
    assert_eq!(text(&plan), "No changes. Nothing of main is left to delete.\n");
    plan.mode = Mode::Drift;
    assert_eq!(text(&plan), "No drift. Nothing of main was changed outside Slipway.\n");
    plan.drift = fixture::rich().drift;
    plan.changes = fixture::rich().changes;
    assert_snapshot!(text(&plan));
}

#[test]
fn json_of_everything() {
    let json = render::json(&fixture::rich());
    assert_snapshot!(serde_json::to_string_pretty(&json).unwrap());
}

#[test]
fn markdown_of_everything() {
    assert_snapshot!(render::markdown(&fixture::rich(), render::COMMENT_LIMIT));
}

#[test]
fn markdown_of_nothing() {
    assert_snapshot!(render::markdown(&fixture::empty(), render::COMMENT_LIMIT));
}

#[test]
fn markdown_of_ten_thousand_changes() {
    let markdown = render::markdown(&fixture::large(2_500), render::COMMENT_LIMIT);
    assert!(markdown.len() <= render::COMMENT_LIMIT);
    assert_snapshot!(markdown);
}

#[test]
fn dot_of_everything() {
    assert_snapshot!(render::dot(&fixture::rich()));
}
