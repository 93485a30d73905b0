//! The `slipway` executable.

use std::process::ExitCode;

fn main() -> ExitCode {
    slipway::Program::default().run(std::env::args_os())
}
