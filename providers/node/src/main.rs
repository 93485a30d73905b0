//! The provider for the inside of a node as an executable.

fn main() {}
