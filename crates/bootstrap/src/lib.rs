//! What a node of a Kubernetes cluster must look like, as values and resources: a pure library without I/O.
//!
//! [`configuration::Configuration`] says everything about a node and its cluster; [`kubeadm`] reads and writes it as
//! kubeadm's documents. [`pki`], [`kubeconfig`], [`token`], [`discovery`] and [`certificate_upload`] make and check
//! what clusters trust by. The forms are kubeadm's, so that a cluster made by one can be managed by the other.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod addon;
pub mod api_access;
pub mod approval;
pub mod audit;
pub mod boot;
pub mod certificate_upload;
pub mod configuration;
pub mod discovery;
pub mod encryption;
pub mod expand;
pub mod from_cluster;
pub mod kube_vip;
pub mod kubeadm;
pub mod kubeconfig;
pub mod kubelet;
pub mod material;
pub mod objects;
pub mod patch;
pub mod phase;
pub mod pki;
pub mod preflight;
mod shape;
pub mod static_pod;
pub mod token;
pub mod version;
pub mod yaml;
