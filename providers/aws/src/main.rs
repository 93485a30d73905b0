//! The executable of the AWS provider.

fn main() {}
