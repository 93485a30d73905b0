//! Reviews of pull requests: what a merge would do to clusters, shown on the pull request by the adapters of
//! `slipway-forges`.
//!
//! `slipway review` and the controller use the same steps:
//!
//! | step | module |
//! | --- | --- |
//! | read what a merge would make of the repository, without a checkout | [`checkout`] |
//! | plan the affected clusters before and after the merge | [`clusters`] |
//! | write comments and statuses, store approvals | [`posting`] |
//! | mark comments as out of date | [`stale`] |
//!
//! [`review`] does all of them for one pull request. [`plan`] and [`show`] are its halves: a controller makes plans and renders
//! comments ([`Draft`]) on another thread.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod checkout;
pub mod clusters;
mod draft;
mod error;
mod material;
pub mod posting;
mod review;
pub mod stale;

pub use checkout::{Checkout, Interrupt, Merge};
pub use clusters::{Finding, Paths};
pub use draft::{Draft, Rendered};
pub use error::{Error, REPOSITORY};
pub use material::{Material, prepare};
pub use posting::Review;
pub use review::{Reviewed, plan, review, show};
