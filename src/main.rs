//! The `slipway` executable.

fn main() {}
