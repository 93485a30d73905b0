//! The objects inside a cluster as a provider: any API object by server-side apply, and its nodes.
//!
//! A program that links this provider gives it a kubeconfig for the API:
//!
//! ```
//! use std::sync::Arc;
//! use slipway_provider_kubernetes::{Access, Kubernetes, SecretKubeconfig};
//! use slipway_resource::ProviderError;
//!
//! struct Admin(SecretKubeconfig);
//!
//! #[async_trait::async_trait]
//! impl Access for Admin {
//!     async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError> {
//!         Ok(Some(self.0.clone()))
//!     }
//! }
//!
//! let provider = Kubernetes::new(Arc::new(Admin(SecretKubeconfig::new("apiVersion: v1"))));
//! ```

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![allow(
    clippy::result_large_err,
    reason = "the error is that of the provider trait; one is made for a request to an API at most"
)]

#[allow(clippy::disallowed_methods, reason = "the kubeconfig that the caller has granted")]
mod access;
mod api;
mod applyset;
mod endpoint;
pub mod fields;
pub mod files;
mod gates;
mod manifest;
mod marks;
mod node;
pub mod object;
mod order;
mod path;
#[allow(clippy::disallowed_methods, reason = "KUBECONFIG is said by the caller")]
mod provider;
mod reader;
pub mod readiness;
mod restarter;
mod schema;
mod session;
mod view;

pub use access::{Access, FileAccess, NotYet, SecretKubeconfig, TokenAccess};
pub use applyset::ApplySet;
pub use endpoint::ApiEndpoint;
pub use gates::leaves;
pub use marks::MANAGER;
pub use order::order;
pub use provider::Kubernetes;
pub use reader::Reader;
pub use restarter::Restarter;
pub use schema::{API, APPROVE_SERVING, NODE, OBJECT};
