//! Developer tasks.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod codegen;
mod conformance;
mod crash;
mod deny;
mod disk;
mod dist;
mod error_pages;
mod fuzz;
mod kops_fields;
mod lab;
mod leftovers;
mod lengths;
mod links;
mod machines;
mod nodes;
mod output;
mod parity;
mod rustdoc;
mod schemas;
mod setup;
mod test;
mod test_programs;
mod test_queue;
mod workspace;

/// Developer tasks of Slipway.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Test(test::Test),
    Bench(bench::Bench),
    Crash(crash::Crash),
    Conformance(conformance::Conformance),
    Measure(bench::Measure),
    Codegen(codegen::Codegen),
    Schemas(schemas::Schemas),
    Fuzz(fuzz::Fuzz),
    Setup(setup::Setup),
    Machines(machines::Machines),
    Lab(lab::Lab),
    KopsFields(kops_fields::KopsFields),
    Lengths(lengths::Lengths),
    ErrorPages(error_pages::ErrorPages),
    Links(links::Links),
    Parity(parity::Parity),
    Deny(deny::Deny),
    Dist(dist::Dist),
}

fn main() -> ExitCode {
    if let Some(rustdoc) = rustdoc::Rustdoc::asked_for() {
        return rustdoc.run();
    }
    let done = match Arguments::parse().task {
        Task::Test(test) => test.run(),
        Task::Bench(bench) => bench.run(),
        Task::Crash(crash) => crash.run(),
        Task::Conformance(conformance) => conformance.run(),
        Task::Measure(measure) => measure.run(),
        Task::Codegen(codegen) => codegen.run(),
        Task::Schemas(schemas) => schemas.run(),
        Task::Fuzz(fuzz) => fuzz.run(),
        Task::Setup(setup) => setup.run(),
        Task::Machines(machines) => machines.run(),
        Task::Lab(lab) => lab.run(),
        Task::KopsFields(kops_fields) => kops_fields.run(),
        Task::Lengths(lengths) => lengths.run(),
        Task::ErrorPages(error_pages) => error_pages.run(),
        Task::Links(links) => links.run(),
        Task::Parity(parity) => parity.run(),
        Task::Deny(deny) => deny.run(),
        Task::Dist(dist) => dist.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
