//! Why there is no client, or no answer.

use slipway_resource::with_causes;

/// An input of a client that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    /// It is wrong.
    #[error("{0}")]
    Invalid(String),
    /// It is a kubeconfig that a spec names, and it names what only the caller may name.
    #[error("{0}")]
    NotAllowed(String),
}

impl Unusable {
    pub(crate) fn of(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::Invalid(with_causes(error))
    }
}

/// A request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// No connection was made: the request had no effect.
    #[error("{0}")]
    Unconnected(String),
    /// The connection was lost: a request that changes something may have had its effect.
    #[error("{0}")]
    Lost(String),
}

impl Failure {
    pub(crate) fn of(error: &(dyn std::error::Error + 'static)) -> Self {
        let text = with_causes(error);
        if is_connect(error) { Self::Unconnected(text) } else { Self::Lost(text) }
    }
}

fn is_connect(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>()
            && io.kind() == std::io::ErrorKind::ConnectionRefused
        {
            return true;
        }
        if error.downcast_ref::<hyper_util::client::legacy::Error>().is_some_and(|error| error.is_connect()) {
            return true;
        }
        cause = error.source();
    }
    false
}
