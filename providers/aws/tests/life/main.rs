//! The program and the provider as they are built, over moto by HTTP: whole lives of clusters, disturbed and undisturbed.
//!
//! This test is its own program: told so by its environment, it is `slipway`.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, missing_docs, reason = "a test")]

use std::process::ExitCode;

use anyhow::Result;
use libtest_mimic::{Arguments, Trial};

#[path = "../compute/cluster_api.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod cluster_api;

mod adopted;
mod calls;
mod changes;
mod cloud;
mod control_planes;
mod differences;
mod disturbance;
mod faults;
mod foreign;
mod forgetful;
mod forgotten;
mod images;
mod kills;
mod lost;
mod permissions;
mod recorded;
mod several;
mod taken;
mod throttled;
mod ungrouped;
mod upgrade;
mod whole;
mod world;
mod zones;

type Test = fn() -> Result<()>;

const TESTS: &[(&str, Test)] = &[
    ("whole::a_cluster_is_made_changed_rolled_adopted_and_deleted", whole::a_whole_life),
    ("whole::one_that_never_joins_stops_a_roll_and_is_named", whole::one_never_joins),
    ("whole::a_part_of_a_new_cluster_is_applied_without_its_api", whole::a_part_of_a_new_cluster),
    ("adopted::every_case_of_kops", adopted::every_case),
    ("adopted::every_case_of_our_own", adopted::every_case_made),
    ("recorded::nothing_differs", recorded::nothing_differs),
    ("recorded::the_keys_of_kops_are_kept", recorded::the_keys_of_kops_are_kept),
    ("recorded::what_the_spec_asks_for_is_planned", recorded::what_the_spec_asks_for_is_planned),
    (
        "recorded::pools_are_rolled_with_the_user_data_of_kops",
        recorded::pools_are_rolled_with_the_user_data_of_kops,
    ),
    ("recorded::differences_from_kops_are_listed", differences::from_kops_are_listed),
    ("calls::minimal", calls::minimal),
    ("calls::highly_available", calls::highly_available),
    ("control_planes::losses_are_named", control_planes::losses_are_named),
    ("faults::of_every_kind_at_once", faults::of_every_kind_at_once),
    ("faults::of_one_kind_each", faults::of_one_kind_each),
    ("faults::of_what_is_not_known_everywhere_yet", faults::of_what_is_not_known_everywhere_yet),
    ("foreign::a_rule_of_somebody_is_drift", foreign::a_rule_of_somebody_is_drift),
    ("forgotten::nothing_is_created_twice", forgotten::nothing_is_created_twice),
    ("forgetful::what_is_not_shown_is_left", forgetful::what_is_not_shown_is_left),
    ("forgetful::what_left_its_group_is_deleted", forgetful::what_left_its_group_is_deleted),
    ("images::by_parameter", images::by_parameter),
    ("lost::before_and_after_each_call", lost::before_and_after_each_call),
    ("lost::an_object_without_a_name_is_found_late", lost::an_object_without_a_name_is_found_late),
    ("permissions::every_call_was_asked_for", permissions::every_call_was_asked_for),
    ("taken::all_are_named_before_the_first_change", taken::all_are_named_before_the_first_change),
    ("throttled::the_engine_alone_repeats", throttled::the_engine_alone_repeats),
    ("ungrouped::an_instance_is_named_and_deleted", ungrouped::an_instance_is_named_and_deleted),
    ("upgrade::only_the_version_changes", upgrade::only_the_version_changes),
    ("zones::a_zone_without_capacity_is_named_and_left", zones::a_zone_without_capacity_is_named_and_left),
    ("kills::minimal_create", kills::minimal_create),
    ("kills::minimal_delete", kills::minimal_delete),
    ("kills::highly_available", kills::highly_available),
];

fn main() -> ExitCode {
    if std::env::var_os(world::PROGRAM).is_some() {
        return slipway_integration::knife::main();
    }
    let trial = |(name, test): &(&'static str, Test)| {
        let test = *test;
        let needs_cases = name.starts_with("adopted::") || name.starts_with("recorded::");
        Trial::test(*name, move || test().map_err(|error| format!("{error:?}").into()))
            .with_ignored_flag(needs_cases && std::env::var_os(adopted::CASES).is_none())
    };
    let named = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).map_err(anyhow::Error::from);
    let named = named.and_then(|folder| world::Executables::keep(folder.path()).map(|()| folder));
    if let Err(error) = named {
        eprintln!("{error:?}");
        return ExitCode::FAILURE;
    }
    libtest_mimic::run(&Arguments::from_args(), TESTS.iter().map(trial).collect()).exit_code()
}
