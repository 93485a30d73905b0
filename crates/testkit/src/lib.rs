//! Real components for tests, started on loopback ports and ended with the test.
//!
//! Each is a value: the component runs until the value is dropped, and at most as long as its process, also
//! when the process is killed. Missing programs are installed once into the user's cache folder ([`cache`]);
//! `cargo xtask setup` does that ahead.

pub mod age;
pub mod audit;
pub mod azurite;
pub mod cache;
pub mod chromium;
pub mod cloud_controller;
pub mod cluster_api;
pub mod control_plane;
pub mod etcd_tests;
pub mod fake_gcs;
pub mod flannel;
pub mod gitea;
pub mod go;
pub mod hosts;
pub mod http;
pub mod image;
pub mod kube_bench;
pub mod kubeadm;
pub mod kubernetes;
pub mod lab;
pub mod machine;
pub mod moto;
pub mod network;
pub mod packages;
pub mod port;
pub mod process;
pub mod promtool;
pub mod proxy;
pub mod python_provider;
pub mod said;
pub mod scratch;
pub mod server;
pub mod share;
pub mod simulated;
pub mod suite;
pub mod wait;

pub use azurite::Azurite;
pub use chromium::Chromium;
pub use control_plane::ControlPlane;
pub use fake_gcs::FakeGcs;
pub use gitea::Gitea;
pub use hosts::Hosts;
pub use lab::Lab;
pub use machine::{Machine, MachineOptions};
pub use moto::Moto;
pub use network::Network;
pub use proxy::Proxy;
pub use said::Said;
pub use server::Server;
