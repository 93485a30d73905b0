//! Patches that make moto behave like AWS, as far as these tests need it.

/// A module that runs before moto's server.
pub const MENDED: &str = concat!(
    include_str!("mended/wrap.py"),
    include_str!("mended/network.py"),
    include_str!("mended/machines.py"),
    include_str!("mended/groups.py"),
    include_str!("mended/services.py"),
    include_str!("mended/tokens.py"),
);
