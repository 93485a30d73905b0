//! The desired content of a node of a Kubernetes cluster, as values and resources: a pure library without
//! I/O.
//!
//! [`configuration::Configuration`] describes a node and its cluster; [`kubeadm`] reads and writes it as
//! kubeadm's documents. [`pki`], [`kubeconfig`], [`token`], [`discovery`] and [`certificate_upload`] make and
//! check the credentials of clusters. The forms are kubeadm's, so that a cluster of either tool can be
//! managed by the other.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod addon;
pub mod admission;
pub mod api_access;
pub mod approval;
pub mod audit;
pub mod boot;
pub mod certificate_upload;
pub mod configuration;
pub mod container_runtime;
pub mod discovery;
pub mod encryption;
pub mod expand;
pub mod from_cluster;
pub mod hardened;
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
