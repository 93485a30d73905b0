//! EtcdStorage: a share of one etcd for each aggregated API server.
//!
//! [`proxy`] is the server that a tenant speaks to instead of the shared etcd, the *core*. It shows the tenant its own
//! keys, leases and watches, and nothing else. [`api`] has etcd's messages.

pub mod api;
pub mod proxy;
