//! The tenant proxy: etcd's API for one tenant, in front of an etcd that many tenants share.
//!
//! One process serves one tenant. Its memory, its connections and its credentials belong to that tenant alone, so what
//! one tenant sends cannot exhaust the proxy of another.
//!
//! | module | what it does |
//! | --- | --- |
//! | `keys` | maps the tenant's keys and ranges to keys of the core, and back |
//! | `translate` | maps whole requests and answers; pure |
//! | `mask`, `leases` | map lease ids, and know which leases are the tenant's |
//! | `usage`, `pace` | quotas of keys, bytes and requests |
//! | `methods` | the methods that exist for a tenant |
//! | `refusal` | the error texts that a tenant may see |
//! | `core`, `listener`, `files` | connections on both sides, and certificates that change |
//! | `records` | what the proxy itself keeps in the core |
//! | `erase` | deletes everything of a tenant from the core |

mod core;
mod erase;
mod error;
mod files;
mod keys;
mod leases;
mod listener;
mod mask;
mod methods;
mod pace;
mod records;
mod refusal;
mod serve;
mod services;
mod settings;
mod tenant;
mod translate;
mod usage;

pub use self::core::check_endpoint;
pub use erase::{ErasedFrom, erase};
pub use error::Error;
pub(crate) use error::SYSTEM;
pub use serve::serve;
pub use settings::{CoreSettings, Limits, Settings, TlsFiles};
pub use tenant::{InvalidTenant, Tenant};
