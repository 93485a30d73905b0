//! Errors of a provider, by the possible reactions of the engine.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Address, Identity};

/// The class of a provider's failure: it alone decides whether the engine retries, stops or asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ErrorClass {
    /// The request itself is wrong; it will never succeed.
    Invalid,
    /// The object does not exist.
    NotFound,
    /// Another object has the name or the range.
    Conflict,
    /// The object is not as the request expected it.
    PreconditionFailed,
    /// The provider's pace was exceeded.
    Throttled {
        /// The rate class that is exhausted.
        rate_class: String,
        /// When to try again, in milliseconds, where the provider said so.
        retry_after_ms: Option<u64>,
    },
    /// A limit of the account is reached.
    Quota {
        /// Name of the limit.
        name: String,
        /// The limit.
        limit: u64,
        /// How much is in use.
        used: u64,
    },
    /// The caller may not do this.
    Permission {
        /// The action that was refused.
        action: String,
    },
    /// The caller is not known (any more); pauses the run.
    Unauthenticated,
    /// A passing fault; the call had no effect.
    Transient,
    /// It will not get better by itself.
    Permanent,
    /// The call was cancelled before it had an effect.
    Cancelled,
    /// Other objects block the operation.
    Dependency {
        /// The objects, as the provider calls them.
        blockers: Vec<String>,
    },
    /// The call may or may not have had its effect; resolved by reading.
    OutcomeUnknown,
}

impl ErrorClass {
    /// Whether the same call may be sent again without looking first.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Throttled { .. } | Self::Transient)
    }

    /// The name of the class as the contract has it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::NotFound => "not-found",
            Self::Conflict => "conflict",
            Self::PreconditionFailed => "precondition-failed",
            Self::Throttled { .. } => "throttled",
            Self::Quota { .. } => "quota",
            Self::Permission { .. } => "permission",
            Self::Unauthenticated => "unauthenticated",
            Self::Transient => "transient",
            Self::Permanent => "permanent",
            Self::Cancelled => "cancelled",
            Self::Dependency { .. } => "dependency",
            Self::OutcomeUnknown => "outcome-unknown",
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A provider's failure. Its message never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
#[serde(deny_unknown_fields)]
pub struct ProviderError {
    /// The class, which decides how the engine reacts.
    pub class: ErrorClass,
    /// A sentence for people.
    pub message: String,
    /// A way out, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The resource it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// The field of the cluster it is about, by its path in the model, as in `pools[workers].machineType`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The object that exists nevertheless, when the call failed half-way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// The stable code of the failure, where the contract defines one, as in `PROVIDER0020`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl ProviderError {
    /// A failure of a class, with a sentence.
    #[must_use]
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self {
            class,
            message: message.into(),
            hint: None,
            address: None,
            field: None,
            identity: None,
            code: None,
        }
    }

    /// The same failure with a way out.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same failure, about this resource.
    #[must_use]
    pub fn with_address(mut self, address: &Address) -> Self {
        self.address = Some(address.clone());
        self
    }

    /// The same failure, about this field of the cluster.
    #[must_use]
    pub fn with_field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// The same failure, with a code that the contract defines.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }
}

/// The messages of a failure and of what caused it, in one line. What a message repeats of its cause, as many libraries
/// do, is said once.
#[must_use]
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut texts = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !texts.iter().any(|known| known.contains(&text)) {
            texts.push(text);
        }
        cause = error.source();
    }
    texts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Failure {
        text: &'static str,
        #[source]
        cause: Option<Box<Failure>>,
    }

    #[test]
    fn each_cause_is_said_once() {
        let failure = |text, cause: Option<Failure>| Failure { text, cause: cause.map(Box::new) };
        let refused = failure("connection refused", None);
        let connect = failure("connect", Some(failure("tcp: connection refused", Some(refused))));
        assert_eq!(
            with_causes(&failure("no answer", Some(connect))),
            "no answer: connect: tcp: connection refused"
        );
    }
}
