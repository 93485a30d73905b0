//! Failures that are about a place in a spec, as diagnostics.

use std::path::Path;

use slipway_limits::{file, size};
use slipway_resource::ProviderError;
use slipway_spec::diagnostic::{Code, Diagnostic, code};
use slipway_spec::source::{Location, SourceFile};
use slipway_trust::Refusal;

use crate::error::Error;

/// A failure of a provider that was asked outside of a plan's steps.
const PROVIDER: Code = Code { id: crate::code::PROVIDER, title: "the provider reports a failure" };

/// A field of the cluster that a provider must know, and does not.
const NOT_UNDERSTOOD: Code = Code {
    id: slipway_cluster_input::NOT_UNDERSTOOD,
    title: "the provider does not know a field that it must understand",
};

/// A cluster that a provider cannot read.
const MALFORMED: Code =
    Code { id: slipway_cluster_input::MALFORMED, title: "the provider cannot read the cluster" };

/// The code of a provider's failure. A provider's own codes are not known here.
pub(crate) fn code_of(error: &ProviderError) -> Code {
    match error.code.as_deref() {
        Some(slipway_cluster_input::NOT_UNDERSTOOD) => NOT_UNDERSTOOD,
        Some(slipway_cluster_input::MALFORMED) => MALFORMED,
        _ => PROVIDER,
    }
}

/// A spec that names a provider that is not installed.
pub(crate) fn provider_not_found(
    error: &slipway_protocol::Error,
    hint: String,
    location: Option<&Location>,
) -> Error {
    let code = Code { id: error.code(), title: "the provider is not installed" };
    Error::Specs(vec![with_line(Diagnostic::error(code, error.to_string()).at_location(location).hint(hint))])
}

/// A provider's configuration that does not fit its schema.
const CONFIGURATION: Code =
    Code { id: "CLI0007", title: "the configuration of the provider is not as its schema says" };

/// A problem of a provider's configuration: the problem, its location, and the hint, if there is one.
pub(crate) type Misconfigured = (String, Option<Location>, Option<String>);

/// A refusal of the trust policy as a problem of a spec.
#[must_use]
pub fn refusal(refusal: &Refusal, location: Option<&Location>) -> Diagnostic {
    let code = Code { id: refusal.code(), title: refusal.title() };
    with_line(Diagnostic::error(code, refusal.to_string()).at_location(location).hint(refusal.hint()))
}

/// A provider's error about a field of a spec, at its location.
pub(crate) fn at_field(error: &ProviderError, location: &Location) -> Error {
    let problem = Diagnostic::error(code_of(error), error.message.clone())
        .at_location(Some(location))
        .maybe_hint(error.hint.clone());
    Error::Specs(vec![with_line(problem)])
}

/// A secret that is no key for encryption at rest, at its place in the spec.
pub(crate) fn encryption_key(message: String, hint: String, location: Option<&Location>) -> Error {
    Error::Specs(vec![with_line(
        Diagnostic::error(code::ENCRYPTION_KEY, message).at_location(location).hint(hint),
    )])
}

/// A setting that a cluster keeps as long as it exists.
const FIXED: Code = Code { id: "PLAN0043", title: "a setting of a running cluster cannot change" };

/// Settings that are fixed as long as a cluster exists and that the spec changes: the problem, the hint, and
/// the location.
pub(crate) fn fixed(problems: Vec<(String, String, Option<Location>)>) -> Error {
    let problem = |(message, hint, location): (String, String, Option<Location>)| {
        with_line(Diagnostic::error(FIXED, message).at_location(location.as_ref()).hint(hint))
    };
    Error::Specs(problems.into_iter().map(problem).collect())
}

/// A file of the administrator that one plan cannot change into another one.
const ADMINISTRATOR_FILE: Code =
    Code { id: "HARD0002", title: "the administrator's file changes in two steps" };

/// A change of profile or endpoint that would write another file of the administrator over the existing one.
pub(crate) fn administrator_file(location: Option<&Location>) -> Error {
    let message = "/etc/kubernetes/admin.conf changes between credentials and the file of the profile `hardened` that has none, \
                   which one plan cannot do";
    let hint = "apply the spec with `profile: slipway` and without a virtual address first, which deletes the file; then apply \
                this spec";
    let problem = Diagnostic::error(ADMINISTRATOR_FILE, message);
    Error::Specs(vec![with_line(problem.at_location(location).hint(hint))])
}

/// The problems of a provider's configuration.
pub(crate) fn configuration(provider: &str, problems: Vec<Misconfigured>) -> Error {
    let lists = format!("`slipway provider info {provider}` lists its settings");
    let problem = |(message, location, hint): Misconfigured| {
        let hint = hint.unwrap_or_else(|| lists.clone());
        with_line(Diagnostic::error(CONFIGURATION, message).at_location(location.as_ref()).hint(hint))
    };
    Error::Specs(problems.into_iter().map(problem).collect())
}

/// A problem with the line that it is about.
fn with_line(mut problem: Diagnostic) -> Diagnostic {
    let text = problem
        .location
        .as_ref()
        .map(|place| (place.file.clone(), file::read_text(Path::new(&*place.file), size::SPEC)));
    if let Some((file, Ok(text))) = text {
        problem.show_line(&SourceFile::new(file, text));
    }
    problem
}
