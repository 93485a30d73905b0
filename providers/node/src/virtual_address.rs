//! The virtual address of the API: one control plane at a time has it on its interface.
//!
//! The control planes elect the holder by a Lease of the cluster, each through its own API server. The holder adds the address with
//! a lifetime of one second and extends it whenever it renews the Lease, so that the kernel removes the address from a machine whose
//! process is stuck or gone. Others take the Lease only after the address is gone.

mod api;
mod election;
mod frame;
mod lease;
mod link;
mod netlink;
mod serve;
mod settings;

pub use serve::serve_virtual_address;

pub(crate) use settings::Settings;
