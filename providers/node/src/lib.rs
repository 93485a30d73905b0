//! The provider for the objects inside one node: files, certificates, static pods, services, members of etcd.
//!
//! It works below one root folder: `/` on a running machine, another one for an image. A ledger on the node
//! names the objects that are ours, and is written before the object. An object that is not in the ledger is
//! never deleted.

mod api_balancer;
mod api_server;
mod attributes;
mod config;
pub mod cri;
mod disk;
mod error;
mod etcd;
mod etcd_backup;
pub mod etcd_data;
mod folders;
mod host;
mod http;
mod kind;
mod ledger;
pub mod machine_facts;
mod mounts;
mod own_program;
mod owner;
mod planning;
mod previous;
mod process;
mod program;
mod provider;
mod purge;
mod ready;
mod replaced;
mod root;
mod self_hosted;
mod session;
mod steady;
mod supervise;
mod virtual_address;

pub use api_balancer::serve_api_balancer;
pub use config::{Config, InitSystem};
pub use disk::Checkpoint;
pub use etcd_backup::{fetch_etcd_snapshot, serve_etcd_backups};
pub use folders::remove_empty_folders;
pub use kind::{DISCLOSE, ETCD_MEMBER, ETCD_VOTER, FILE, KUBECONFIG, SEALED, STATIC_POD, images_of_pod};
pub use owner::Owner;
pub use provider::Node;
pub use self_hosted::serve_control_plane_recovery;
pub use virtual_address::serve_virtual_address;
