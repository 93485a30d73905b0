//! `slipway-provider-aws-fuzz`: campaigns of mutated replies of AWS. `cargo xtask fuzz aws-replies` runs it.
//!
//! The replies of a recording answer the calls of the AWS SDK, whose own deserializers read them. No byte
//! reaches a network.

mod answers;
mod recording;
mod replies;

use std::process::ExitCode;

use anyhow::Result;
use slipway_fuzz::mutate::Form;
use slipway_fuzz::target::Target;
use slipway_fuzz::{large, program};

/// Every target.
static ALL: &[Target] = &[Target {
    name: "aws-replies",
    form: Form::Xml,
    corpus: replies::recordings,
    large: large::none,
    run: replies::read,
}];

fn main() -> Result<ExitCode> {
    program::run(ALL, &[])
}
