//! Reviews on pull requests: what a merge would do, shown where people review it.
//!
//! A [`Forge`] is one repository on GitHub, GitLab, Gitea or Forgejo. [`comment`] renders a plan as a comment,
//! [`sticky`] keeps one comment for each cluster up to date, [`approvals`] decides which reviews and comments approve a
//! plan, by a [`Policy`] of the operator. [`webhook`] receives events. The library reads no file and no environment
//! variable, and runs no process: tokens and policies are values of the caller.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod address;
pub mod approvals;
mod client;
pub mod comment;
mod error;
mod forge;
mod gitlab;
mod marker;
mod model;
mod policy;
pub mod report;
mod repository;
mod rest;
pub mod sticky;
mod token;
pub mod webhook;
mod wire;

pub use address::Address;
pub use error::Error;
pub use forge::{Connection, Forge, Kind, connect};
pub use marker::{MarkedPart, Marker};
pub use model::{Comment, CommentId, Posted, PullRequest, Review, Revision, Status, StatusState, Verdict};
pub use policy::{ApprovalPolicy, ForkPolicy, Forks, Policy, Treatment};
pub use repository::Repository;
pub use token::Token;
