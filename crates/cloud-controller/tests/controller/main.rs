//! The cloud controller with a real API server and the simulated cloud behind gRPC.
//!
//! This executable is both sides: started by the controller, it serves the provider; started otherwise, it
//! runs the tests.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "what fails in a test ends it"
)]

mod lab;
mod leading;
mod lifecycle;
mod manifest;
mod nodes;
mod routes;
mod secure;
mod services;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Trial};
use slipway_protocol::handshake::NONCE;
use slipway_provider_sdk::{ServeOptions, serve};
use slipway_provider_sim::Sim;

use lab::Lab;

type Test = fn(&Lab);

fn main() -> ExitCode {
    if std::env::var_os(NONCE).is_some() {
        return serve_cloud();
    }
    let tests: [(&str, Test); 15] = [
        ("the_manifest_can_be_applied_again_and_its_flags_are_understood", manifest::applied),
        ("a_node_gets_what_its_instance_has", nodes::initialised),
        ("a_node_without_instance_or_with_a_foreign_address_stays_tainted", nodes::stays_tainted),
        ("addresses_follow_the_cloud", nodes::refreshed),
        ("the_node_of_a_lost_instance_is_deleted", lifecycle::deleted),
        ("a_node_stays_while_the_cloud_cannot_be_read", lifecycle::kept),
        ("a_stopped_instance_taints_its_node", lifecycle::shut_down),
        ("a_service_gets_a_load_balancer_that_follows_it", services::balanced),
        ("a_load_balancer_has_the_nodes_of_the_cluster", services::follows_nodes),
        ("a_failure_of_the_cloud_is_told_and_tried_again", services::tried_again),
        ("no_service_loses_its_finalizer_before_its_load_balancer", services::cleaned_after_a_restart),
        ("nodes_get_ranges_and_routes", routes::routed),
        ("routes_stay_while_the_cloud_cannot_be_read", routes::kept),
        ("the_secure_port_asks_the_api_server_for_rights", secure::delegated),
        ("a_replica_takes_over_and_one_that_lost_the_lease_ends", leading::taken_over),
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
            lab.clean();
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

#[tokio::main(flavor = "current_thread")]
async fn serve_cloud() -> ExitCode {
    let options = ServeOptions::from_environment().unwrap();
    serve(Arc::new(Sim), options).await.unwrap();
    ExitCode::SUCCESS
}
