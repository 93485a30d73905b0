//! Receives webhooks of GitHub, GitLab, Gitea and Forgejo, and of anything else that can sign a body.
//!
//! A [`Handler`] takes the requests of any HTTP server, and passes genuine events to a function; those of [`receiver`] to a
//! channel.
//!
//! An event only says where to look. A caller reads the pull request, its reviews and its comments from the forge again,
//! and never decides by the contents of a webhook.

mod event;
mod handler;
mod payload;
mod seen;
mod signature;

pub use event::{Delivery, Event};
pub use handler::{Bodies, Handler, Settings, Taken, receiver};
pub use signature::{Secret, Sender};
