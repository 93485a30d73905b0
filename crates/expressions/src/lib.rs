//! Conditions in CEL, the Common Expression Language: expressions over JSON values that are true or false.
//!
//! Gates of a cluster and policies over plans are such conditions. They come from files that people share, so each one has limits:
//! for the length of its text, for the depth of its brackets, for the steps of its loops, and for its time.
//!
//! ```
//! use serde_json::json;
//! use slipway_expressions::Condition;
//!
//! let condition = Condition::parse("objects.all(o, o.ready)", &["objects"])?;
//! let objects = json!([{ "ready": true }, { "ready": false }]);
//! assert!(!condition.holds(&[("objects", &objects)])?);
//! # Ok::<(), slipway_expressions::Error>(())
//! ```
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod condition;
mod error;
mod steps;
mod value;

pub use condition::Condition;
pub use error::Error;
