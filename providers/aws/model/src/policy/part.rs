//! The permissions of each component of a cluster.

mod autoscaler;
mod cert_manager;
mod cloud_controller;
mod core;
mod dns;
mod ebs_csi;
mod karpenter;
mod keys;
mod load_balancer_controller;
mod mirrors;
mod networking;
mod registry;
mod termination_handler;
mod warm_pool;

pub(crate) use autoscaler::autoscaler;
pub(crate) use cert_manager::cert_manager;
pub(crate) use cloud_controller::cloud_controller;
pub(crate) use core::{Place, Store, api_server, core};
pub(crate) use dns::dns;
pub(crate) use ebs_csi::{ebs_csi, snapshots};
pub(crate) use karpenter::{karpenter, karpenter_keys};
pub(crate) use load_balancer_controller::{Protection, load_balancer_controller};
pub(crate) use mirrors::mirrors;
pub(crate) use networking::{Networking, networking};
pub(crate) use registry::registry;
pub(crate) use termination_handler::termination_handler;
pub(crate) use warm_pool::warm_pool;
