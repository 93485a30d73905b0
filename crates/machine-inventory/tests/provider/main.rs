//! The provider with a real API server. The tests do what Cluster API's own controllers do.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "what fails in a test ends it"
)]

mod agents;
mod claims;
mod clusters;
mod lab;
mod leading;
mod machines;
mod manifest;
mod moving;
mod objects;
mod processes;
mod registering;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Trial};

use lab::Lab;

type Test = fn(&Lab);

fn main() -> ExitCode {
    let tests: [(&str, Test); 18] = [
        ("the_manifest_can_be_applied_again", manifest::applied),
        ("the_template_of_clusterctl_is_accepted", manifest::templated),
        ("objects_that_make_no_sense_are_refused", manifest::validated),
        ("an_endpoint_of_the_user_is_never_changed", clusters::given),
        ("a_blank_endpoint_is_elected_and_its_host_reserved", clusters::elected),
        ("a_paused_or_foreign_cluster_is_left_alone", clusters::left_alone),
        ("a_deleted_cluster_gives_its_reservation_back", clusters::deleted),
        ("a_machine_goes_from_host_to_provider_id", machines::provisioned),
        ("a_machine_waits_for_what_it_needs", machines::waiting),
        ("a_lost_host_is_replaced_or_ends_the_machine", machines::host_lost),
        ("a_deleted_machine_never_hangs", machines::deleted),
        ("a_host_is_claimed_by_one_machine", claims::exactly_once),
        ("an_endpoint_moves_with_everything_that_can_follow", moving::moved),
        ("hosts_register_with_a_token_and_their_own_key", registering::tokens),
        ("a_host_cannot_change_more_than_its_own_state", registering::limits),
        ("a_control_plane_gets_kube_vip_for_its_virtual_address", registering::virtual_address),
        ("an_agent_registers_bootstraps_and_resets_its_host", agents::life),
        ("a_replica_takes_over_from_a_killed_one", leading::taken_over),
    ];
    // One API server for all of them, one after the other; it starts with the first test.
    let plane = Arc::new(Mutex::new(None));
    let trial = |(name, test): (&'static str, Test)| {
        let plane = Arc::clone(&plane);
        Trial::test(name, move || {
            let mut plane = plane.lock().unwrap_or_else(PoisonError::into_inner);
            let lab = match plane.take() {
                Some(lab) => lab,
                None => Lab::start().map_err(|error| format!("{error:#}"))?,
            };
            let lab: &Lab = plane.insert(lab);
            test(lab);
            Ok(())
        })
    };
    let arguments = Arguments::from_args();
    let conclusion = libtest_mimic::run(&arguments, tests.map(trial).into());
    let is_whole = !arguments.list && arguments.filter.is_none() && arguments.skip.is_empty();
    if is_whole && !conclusion.has_failed() {
        let plane = plane.lock().unwrap_or_else(PoisonError::into_inner);
        plane.as_ref().unwrap().rights_are_needed_and_enough();
    }
    // The processes of the API server end here.
    drop(plane);
    conclusion.exit_code()
}
