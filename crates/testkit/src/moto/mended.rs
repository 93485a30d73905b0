//! Modules that make moto behave as AWS does, as far as a cluster's infrastructure meets the difference.

/// A module for [`Moto::start_mended`](super::Moto::start_mended): that of the AWS provider's tests.
pub const MENDED: &str = concat!(
    include_str!("../../../../providers/aws/tests/support/mended/wrap.py"),
    include_str!("../../../../providers/aws/tests/support/mended/network.py"),
    include_str!("../../../../providers/aws/tests/support/mended/machines.py"),
    include_str!("../../../../providers/aws/tests/support/mended/groups.py"),
    include_str!("../../../../providers/aws/tests/support/mended/services.py"),
    include_str!("../../../../providers/aws/tests/support/mended/tokens.py"),
);
