//! EtcdStorage: a share of one etcd for each aggregated API server.
//!
//! [`proxy`] is the server that a tenant speaks to instead of the shared etcd, the *core*. It shows the tenant its own
//! keys, leases and watches, and nothing else. [`api`] has etcd's messages.
//!
//! [`controller`] runs proxies for the [`storage::EtcdStorage`] objects of a cluster, and [`manifest`] installs it.

pub mod api;
pub mod controller;
pub mod manifest;
pub mod proxy;
pub mod storage;
