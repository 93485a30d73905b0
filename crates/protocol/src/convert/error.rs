//! Failures.

use slipway_limits::{size, text::shorten_in_place};
use slipway_resource::{ErrorClass, ProviderError};

use super::{Malformed, optional_address, optional_identity};
use crate::generated as proto;
use crate::generated::error::Detail;

impl From<ProviderError> for proto::Error {
    fn from(error: ProviderError) -> Self {
        let (class, detail) = match error.class {
            ErrorClass::Invalid => (proto::ErrorClass::Invalid, None),
            ErrorClass::NotFound => (proto::ErrorClass::NotFound, None),
            ErrorClass::Conflict => (proto::ErrorClass::Conflict, None),
            ErrorClass::PreconditionFailed => (proto::ErrorClass::PreconditionFailed, None),
            ErrorClass::Throttled { rate_class, retry_after_ms } => (
                proto::ErrorClass::Throttled,
                Some(Detail::Throttled(proto::Throttled { rate_class, retry_after_ms })),
            ),
            ErrorClass::Quota { name, limit, used } => {
                (proto::ErrorClass::Quota, Some(Detail::Quota(proto::Quota { name, limit, used })))
            }
            ErrorClass::Permission { action } => {
                (proto::ErrorClass::Permission, Some(Detail::Permission(proto::Permission { action })))
            }
            ErrorClass::Unauthenticated => (proto::ErrorClass::Unauthenticated, None),
            ErrorClass::Transient => (proto::ErrorClass::Transient, None),
            ErrorClass::Permanent => (proto::ErrorClass::Permanent, None),
            ErrorClass::Cancelled => (proto::ErrorClass::Cancelled, None),
            ErrorClass::Dependency { blockers } => {
                (proto::ErrorClass::Dependency, Some(Detail::Dependency(proto::Dependency { blockers })))
            }
            ErrorClass::OutcomeUnknown => (proto::ErrorClass::OutcomeUnknown, None),
        };
        Self {
            class: class.into(),
            message: error.message,
            hint: error.hint,
            address: error.address.map(|address| address.to_string()).unwrap_or_default(),
            identity: error.identity.map(|identity| identity.as_str().to_owned()),
            detail,
            field: error.field,
            code: error.code,
        }
    }
}

impl TryFrom<proto::Error> for ProviderError {
    type Error = Malformed;

    fn try_from(error: proto::Error) -> Result<Self, Malformed> {
        // It is kept in journals and shown to people: a provider that says more than they read is cut short here.
        let short = |mut text: String| {
            shorten_in_place(&mut text, size::MESSAGE);
            text
        };
        Ok(Self {
            class: class(error.class, error.detail),
            message: short(error.message),
            hint: error.hint.map(short),
            address: optional_address(&error.address)?,
            field: error.field,
            identity: optional_identity(error.identity),
            code: error.code.map(short),
        })
    }
}

/// A class that is not known counts as permanent; a missing detail as empty.
fn class(class: i32, detail: Option<Detail>) -> ErrorClass {
    match (proto::ErrorClass::try_from(class), detail) {
        (Ok(proto::ErrorClass::Invalid), _) => ErrorClass::Invalid,
        (Ok(proto::ErrorClass::NotFound), _) => ErrorClass::NotFound,
        (Ok(proto::ErrorClass::Conflict), _) => ErrorClass::Conflict,
        (Ok(proto::ErrorClass::PreconditionFailed), _) => ErrorClass::PreconditionFailed,
        (Ok(proto::ErrorClass::Throttled), Some(Detail::Throttled(throttled))) => ErrorClass::Throttled {
            rate_class: throttled.rate_class,
            retry_after_ms: throttled.retry_after_ms,
        },
        (Ok(proto::ErrorClass::Throttled), _) => {
            ErrorClass::Throttled { rate_class: String::new(), retry_after_ms: None }
        }
        (Ok(proto::ErrorClass::Quota), Some(Detail::Quota(quota))) => {
            ErrorClass::Quota { name: quota.name, limit: quota.limit, used: quota.used }
        }
        (Ok(proto::ErrorClass::Quota), _) => ErrorClass::Quota { name: String::new(), limit: 0, used: 0 },
        (Ok(proto::ErrorClass::Permission), Some(Detail::Permission(permission))) => {
            ErrorClass::Permission { action: permission.action }
        }
        (Ok(proto::ErrorClass::Permission), _) => ErrorClass::Permission { action: String::new() },
        (Ok(proto::ErrorClass::Unauthenticated), _) => ErrorClass::Unauthenticated,
        (Ok(proto::ErrorClass::Transient), _) => ErrorClass::Transient,
        (Ok(proto::ErrorClass::Cancelled), _) => ErrorClass::Cancelled,
        (Ok(proto::ErrorClass::Dependency), Some(Detail::Dependency(dependency))) => {
            ErrorClass::Dependency { blockers: dependency.blockers }
        }
        (Ok(proto::ErrorClass::Dependency), _) => ErrorClass::Dependency { blockers: Vec::new() },
        (Ok(proto::ErrorClass::OutcomeUnknown), _) => ErrorClass::OutcomeUnknown,
        (Ok(proto::ErrorClass::Permanent | proto::ErrorClass::Unspecified) | Err(_), _) => {
            ErrorClass::Permanent
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_without_end_is_cut_short() {
        let long = "x".repeat(size::MESSAGE.in_memory() + 1_024);
        let fits = &long[1_024..];
        let read = |message: &str, hint: &str| {
            let (message, hint) = (message.to_owned(), Some(hint.to_owned()));
            ProviderError::try_from(proto::Error { message, hint, ..proto::Error::default() }).unwrap()
        };
        assert_eq!(read(fits, fits).message, fits);
        let cut = read(&long, &long);
        assert!(cut.message.ends_with("… (1 KiB more)"), "{}", cut.message.len());
        assert_eq!(cut.hint, Some(cut.message));
    }

    #[test]
    fn a_class_from_the_future_is_permanent() {
        let error = proto::Error { class: 99, message: "no".into(), ..proto::Error::default() };
        assert_eq!(ProviderError::try_from(error).unwrap().class, ErrorClass::Permanent);
    }
}
