//! Failures of AWS by class: from codes and kinds of failure, never from the text of a message.

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_ec2::config::http::HttpResponse;
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use slipway_resource::{ErrorClass, ProviderError, with_causes};

use crate::code::{Fault, fault_of};
use crate::rate::Class;

/// Whether a call can have changed something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The call only reads.
    None,
    /// The call changes something when it arrives.
    Possible,
}

/// A failed call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// Its rate class.
    pub class: Class,
    /// The name of the call in the API, as `CreateVpc`.
    pub action: &'static str,
    /// Whether the call changes something.
    pub effect: Effect,
}

/// A failure of the class, with a sentence.
pub(crate) fn error(class: ErrorClass, message: impl Into<String>) -> ProviderError {
    ProviderError::new(class, message)
}

/// A request that is wrong.
pub(crate) fn invalid(message: impl Into<String>) -> ProviderError {
    error(ErrorClass::Invalid, message)
}

/// An error that repetition does not resolve.
pub(crate) fn permanent(message: impl Into<String>) -> ProviderError {
    error(ErrorClass::Permanent, message)
}

/// An answer that lacks a field that the API promises.
pub(crate) fn incomplete(action: &str, what: &str) -> ProviderError {
    permanent(format!("the answer to {action} has no {what}"))
}

/// The failure of a call, by class.
pub(crate) fn of_call<E>(call: Call, failure: &SdkError<E, HttpResponse>) -> ProviderError
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    let action = call.action;
    match failure {
        SdkError::ServiceError(service) => {
            let code = service.err().code().unwrap_or_default();
            let message = service.err().message().unwrap_or_default();
            let status = service.raw().status().as_u16();
            let retry_after = retry_after_ms(service.raw());
            let class = class_of(call, fault_of(code, status), code, retry_after);
            let said = match (code, message) {
                ("", _) => format!("HTTP status {status}"),
                (code, "") => code.to_owned(),
                (code, message) => format!("{code}: {message}"),
            };
            error(class, format!("{action}: {said}"))
        }
        SdkError::ConstructionFailure(_) => {
            error(class_of_local(failure), format!("{action} could not be sent: {}", sources(failure)))
        }
        SdkError::DispatchFailure(_) if is_about_credentials(failure) => {
            error(ErrorClass::Unauthenticated, format!("{action}: {}", sources(failure)))
                .with_hint("sign in again, or name another profile in the provider's configuration")
        }
        SdkError::DispatchFailure(dispatch) if dispatch.is_user() => {
            permanent(format!("{action} could not be sent: {}", sources(failure)))
        }
        _ => error(lost(call.effect), format!("{action} got no answer: {}", sources(failure))),
    }
}

/// The class of a call whose answer was lost.
fn lost(effect: Effect) -> ErrorClass {
    match effect {
        Effect::None => ErrorClass::Transient,
        Effect::Possible => ErrorClass::OutcomeUnknown,
    }
}

fn class_of_local<E>(failure: &SdkError<E, HttpResponse>) -> ErrorClass
where
    E: std::error::Error + 'static,
{
    if is_about_credentials(failure) { ErrorClass::Unauthenticated } else { ErrorClass::Permanent }
}

fn class_of(call: Call, fault: Fault, code: &str, retry_after_ms: Option<u64>) -> ErrorClass {
    match fault {
        Fault::Throttled => {
            ErrorClass::Throttled { rate_class: call.class.name().to_owned(), retry_after_ms }
        }
        Fault::Unauthenticated => ErrorClass::Unauthenticated,
        Fault::Permission => {
            ErrorClass::Permission { action: format!("{}:{}", call.class.service(), call.action) }
        }
        Fault::NotFound => ErrorClass::NotFound,
        Fault::Conflict => ErrorClass::Conflict,
        Fault::Dependency => ErrorClass::Dependency { blockers: Vec::new() },
        Fault::Quota => ErrorClass::Quota { name: code.to_owned(), limit: 0, used: 0 },
        Fault::Busy => ErrorClass::Transient,
        Fault::Broken => lost(call.effect),
        Fault::Precondition => ErrorClass::PreconditionFailed,
        Fault::Invalid => ErrorClass::Invalid,
        Fault::Other => ErrorClass::Permanent,
    }
}

fn retry_after_ms(response: &HttpResponse) -> Option<u64> {
    let seconds: u64 = response.headers().get("retry-after")?.parse().ok()?;
    seconds.checked_mul(1000)
}

fn is_about_credentials(failure: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(failure);
    while let Some(error) = cause {
        if error.is::<CredentialsError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The messages of a failure's causes, outermost first.
fn sources(failure: &(dyn std::error::Error + 'static)) -> String {
    failure.source().map(with_causes).unwrap_or_default()
}
