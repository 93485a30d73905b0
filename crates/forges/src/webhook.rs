//! Receives webhooks of GitHub, GitLab, Gitea and Forgejo, and of anything else that can sign a body.
//!
//! [`receiver`] gives a handler, which any HTTP server can pass its requests to, and a channel with the events.
//!
//! An event only says where to look. A caller reads the pull request, its reviews and its comments from the forge again,
//! and never decides by the contents of a webhook.

mod event;
mod handler;
mod payload;
mod seen;
mod signature;

pub use event::{Delivery, Event};
pub use handler::{Handler, Settings, receiver};
pub use signature::{Secret, Sender};
