//! The `slipway` program with a knife in its back ([`slipway_integration::knife`]).

use std::process::ExitCode;

fn main() -> ExitCode {
    slipway_integration::knife::main()
}
