//! Common parts of the project's controllers.
//!
//! A controller is an executable that watches a cluster and writes to it. Several replicas run, and one of them leads:
//!
//! - [`connect`] makes the client, from a kubeconfig or from the service account of the pod.
//! - [`Election`] holds a Lease. [`Fence`] refuses every write of a process that no longer holds it.
//! - [`Events`] publishes events, [`set_condition`] keeps conditions of a status.
//! - [`Health`] and [`Metrics`] are served by [`serve`] at `/healthz`, `/readyz` and `/metrics`; other requests by [`listen`].
//!   [`serve_secure`] serves them over TLS, for those who have the right in the cluster.
//! - [`stop_on_signals`] ends everything at `SIGTERM` and `SIGINT`.
//!
//! [`kube`], [`runtime`] and [`k8s_openapi`] are the versions that this crate was built with.

mod access;
mod certificate;
mod clock;
mod conditions;
mod connect;
mod election;
mod events;
mod fence;
mod health;
mod identity;
mod lease;
mod listener;
mod metrics;
mod serve;
mod signals;
mod time_span;
mod watching;

pub use certificate::{CertificateError, ServingCertificate};
pub use conditions::set_condition;
pub use connect::{ConnectError, connect};
pub use election::{Election, ElectionError, Leader, Terms, TermsError};
pub use events::{EventType, Events};
pub use fence::{Fence, Fenced};
pub use health::Health;
pub use identity::process_identity;
pub use k8s_openapi;
pub use kube;
pub use kube_runtime as runtime;
pub use listener::{Clients, Served, listen};
pub use metrics::Metrics;
pub use prometheus_client;
pub use serve::{SecureEndpoints, serve, serve_secure};
pub use signals::{stop_on_signals, stop_on_two_signals};
pub use time_span::time_span;
pub use watching::{Watched, watch, watch_during};
