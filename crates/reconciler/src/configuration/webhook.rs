//! Webhooks: where they are received, and who sends those of a source.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

/// Where webhooks are received.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Webhooks {
    /// The address, which serves nothing else.
    pub listen: SocketAddr,
}

/// The sender of the webhooks of a source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Webhook {
    /// The kind of the sender.
    pub kind: WebhookKind,
    /// The file with the secret that the sender and the controller share.
    pub secret_file: PathBuf,
}

/// Kinds of senders, which prove in different ways that they know the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WebhookKind {
    /// GitHub.
    GitHub,
    /// GitLab.
    GitLab,
    /// Gitea and Forgejo.
    Gitea,
    /// Any other: it signs the body as GitHub does, and nothing of the body is read.
    Generic,
}
