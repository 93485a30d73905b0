//! The add-ons that Slipway knows by itself: their API objects.
//!
//! [`install`] turns a cluster and the [`Facts`] of its cloud into the objects of every add-on that the cluster has. It is
//! pure: the same input gives the same objects. Names, arguments and images are those of kOps, so that a cluster that kOps
//! made has the same objects already.
//!
//! [`cloud_controller_manifest`] installs Slipway's own cloud controller, in any cluster.
//!
//! An add-on that cannot be installed is a [`Missing`] with the reason: nothing is left out silently.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod cloud_controller;
mod cloud_controller_manifest;
mod cluster_autoscaler;
mod core_dns;
mod ebs_csi;
mod facts;
mod flannel;
mod identity;
mod images;
mod install;
mod metrics_server;
mod missing;
mod object;
mod settings;
mod storage_classes;
mod termination_handler;

pub use cloud_controller_manifest::{CloudControllerManifest, cloud_controller_manifest};
pub use facts::{Facts, NodeGroup};
pub use install::{Addon, Addons, Remark, address_name, install};
pub use missing::Missing;

#[cfg(test)]
mod tests;
