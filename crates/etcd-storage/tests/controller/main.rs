//! The controller with a real API server, a real etcd as the core, and proxies that run as the Deployments say.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "what fails in a test ends it"
)]

#[path = "../proxy/client.rs"]
#[allow(dead_code, reason = "these tests need less of it than those of the proxy")]
mod client;
mod deletion;
mod destinations;
mod example;
mod existing;
mod install;
mod lab;
mod pod;
mod rights;
mod rotation;
mod sample;
mod spec;
mod until;

use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::LocalBoxFuture;
use libtest_mimic::{Arguments, Trial};

use lab::Lab;

type Test = for<'a> fn(&'a Lab) -> LocalBoxFuture<'a, ()>;

fn main() -> ExitCode {
    let tests: [(&str, Test); 9] = [
        ("certificates_rotate_without_a_failed_write", |lab| Box::pin(rotation::under_load(lab))),
        ("an_api_server_works_through_the_example", |lab| Box::pin(example::works(lab))),
        ("the_manifest_can_be_applied_again", |lab| Box::pin(install::applied_again(lab))),
        ("a_wrong_etcdstorage_is_refused", |lab| Box::pin(install::refused(lab))),
        ("missing_certificates_of_the_core_are_reported", |lab| Box::pin(install::core_was_reported(lab))),
        ("destinations_are_reported_and_heal", |lab| Box::pin(destinations::heal(lab))),
        ("a_changed_spec_is_followed", |lab| Box::pin(spec::followed(lab))),
        ("existing_objects_are_respected", |lab| Box::pin(existing::are_respected(lab))),
        ("keys_are_deleted_only_on_request", |lab| Box::pin(deletion::on_request(lab))),
    ];
    let shared = Arc::new(Mutex::new(None::<Arc<Lab>>));
    let trial = |(name, test): (&'static str, Test)| {
        let shared = Arc::clone(&shared);
        Trial::test(name, move || {
            // The first test starts the lab, and all run beside each other.
            let lab = {
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                match &*shared {
                    Some(lab) => Arc::clone(lab),
                    None => Arc::clone(
                        shared.insert(Arc::new(Lab::start().map_err(|error| format!("{error:#}"))?)),
                    ),
                }
            };
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
            tokio::task::LocalSet::new().block_on(&runtime, test(&lab));
            Ok(())
        })
    };
    let mut arguments = Arguments::from_args();
    // They wait most of the time, and the longest decides how long all take.
    arguments.test_threads = Some(arguments.test_threads.unwrap_or(tests.len()));
    let conclusion = libtest_mimic::run(&arguments, tests.map(trial).into());
    if conclusion.has_failed() {
        let shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        for number in 0..2 {
            println!("{}", shared.as_ref().map(|lab| lab.controller_log(number)).unwrap_or_default());
        }
    }
    let is_whole = !arguments.list && arguments.filter.is_none() && arguments.skip.is_empty();
    if is_whole && !conclusion.has_failed() {
        let shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        rights::are_needed_and_enough(shared.as_ref().unwrap());
    }
    // All processes end here.
    drop(shared);
    conclusion.exit_code()
}
