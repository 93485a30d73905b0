//! The pictures of the graph: well formed, and small enough to look at.

use slipway_plan::render;

use crate::fixture;

fn boxes(svg: &str) -> usize {
    svg.matches("<rect").count()
}

/// Writes the pictures where `SLIPWAY_PICTURES` says, to look at them.
pub fn show(name: &str, picture: impl AsRef<[u8]>) {
    if let Some(folder) = std::env::var_os("SLIPWAY_PICTURES") {
        std::fs::write(std::path::Path::new(&folder).join(name), picture).unwrap();
    }
}

#[test]
fn every_step_has_a_box() {
    let mut plan = fixture::rich();
    plan.steps.retain(|step| !matches!(step.action, slipway_plan::StepAction::Operation { .. }));
    let svg = render::svg(&plan);
    show("rich.svg", &svg);
    assert_eq!(boxes(&svg), plan.steps.len());
}

#[test]
fn a_short_roll_has_boxes_for_its_machines() {
    let mut plan = fixture::empty();
    fixture::roll(&mut plan, "sim_machine_pool.workers", 4, &[]);
    let svg = render::svg(&plan);
    show("machines.svg", &svg);
    assert_eq!(boxes(&svg), 2 + 2 * 4);
    assert!(svg.contains("cordon, drain, remove"));
}

#[test]
fn a_long_roll_is_one_box() {
    let mut plan = fixture::empty();
    for pool in ["a", "b", "c"] {
        fixture::roll(&mut plan, &format!("sim_machine_pool.{pool}"), 60, &[]);
    }
    let svg = render::svg(&plan);
    show("roll.svg", &svg);
    assert_eq!(boxes(&svg), 3 + 3 + 1);
    assert!(svg.contains("300 steps"));
}

#[test]
fn ten_thousand_steps_are_gathered_by_type() {
    let plan = fixture::large(2_500);
    let svg = render::svg(&plan);
    show("large.svg", &svg);
    assert!(boxes(&svg) <= 400);
    assert!(svg.contains("sim_subnet"));
}

#[test]
fn a_wide_graph_stays_one() {
    let mut plan = fixture::large(60);
    plan.changes.truncate(200);
    let svg = render::svg(&plan);
    show("wide.svg", &svg);
    assert_eq!(boxes(&svg), plan.steps.len());
}

#[test]
fn a_plan_without_steps_has_an_empty_picture() {
    let svg = render::svg(&fixture::empty());
    assert_eq!(boxes(&svg), 0);
    assert!(svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"));
}
