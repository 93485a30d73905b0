//! A cluster on AWS whose instances are machines: the program creates it, and its control plane boots by its user data.
//!
//! The test program has two roles: under the name `slipway` it is `slipway`, also on the machines.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, missing_docs, reason = "a test")]

use std::process::ExitCode;

use anyhow::Result;
use libtest_mimic::{Arguments, Trial};
use slipway_testkit::share;

mod control_plane;
mod life;
mod settings;

type Test = fn() -> Result<()>;

/// The longest test, which is in one share only.
const LONGEST: &str = "control_plane::three_are_replaced_one_after_the_other";

const TESTS: &[(&str, Test)] = &[
    ("life::a_cluster_boots_by_its_user_data", life::a_cluster_boots_by_its_user_data),
    (LONGEST, control_plane::three_are_replaced_one_after_the_other),
];

fn main() -> ExitCode {
    let name = std::env::args_os().next().map(std::path::PathBuf::from);
    if name.is_some_and(|name| name.file_name().is_some_and(|name| name == life::PROGRAM)) {
        return slipway_integration::knife::main();
    }
    // The tests need root and namespaces.
    let trial = |(name, test): &(&'static str, Test)| {
        let test = *test;
        let run = move || test().map_err(|error| format!("{error:?}").into());
        Trial::test(*name, run).with_ignored_flag(true)
    };
    let is_tried = |(name, _): &&(&'static str, Test)| *name != LONGEST || share::has(name);
    libtest_mimic::run(&Arguments::from_args(), TESTS.iter().filter(is_tried).map(trial).collect())
        .exit_code()
}
