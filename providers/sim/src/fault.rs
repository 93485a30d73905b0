//! Faults on request: rules of the configuration and of `faults.json` in the cloud's directory.
//!
//! A rule selects calls by method, type and address, tells which of them fail, and how:
//!
//! ```json
//! [{"method": "create", "type": "sim_subnet", "address": "*-a", "nth": 2, "kind": "fail-after"}]
//! ```

mod select;

use serde::{Deserialize, Serialize};
use slipway_resource::pattern::matches;
use slipway_resource::{ErrorClass, ProviderError};

pub(crate) use select::Faults;

use crate::kind;

/// The name of the file in the cloud's directory whose rules replace those of the configuration.
pub const FILE: &str = "faults.json";

/// One fault on request. An absent condition holds for every call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    /// The call: `discover`, `read`, `create`, `update`, `delete`, `tag`, `resume`, `preflight`, `import`, a call
    /// for cloud controllers such as `instances` or `ensure-load-balancer`, or the name of an operation; `*` matches any text, and `?` any letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The resource type, with `*` and `?`.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// The name in the address, or the whole address, with `*` and `?`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Hits only the call that matches for this time, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<u64>,
    /// Hits that many calls from the `nth` (or the first) on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// Hits a call with this probability, decided by the seed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// The kind of fault.
    pub kind: Kind,
    /// The error's class where `kind` leaves a choice: `transient` (the default), `outcome-unknown`, `permanent`,
    /// `unauthenticated`, `conflict`, `precondition-failed`, `invalid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The error's message, in place of one of the simulated cloud.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// For `throttle`: when to try again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// For `latency` and `stale`: how long, simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
}

/// The kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The call fails and has no effect.
    FailBefore,
    /// The call has its effect and fails all the same.
    FailAfter,
    /// The call is refused for its pace.
    Throttle,
    /// The caller may not do this.
    Permission,
    /// The limit of the type counts as reached.
    Quota,
    /// The call takes longer.
    Latency,
    /// Reads show the attributes from before a write that matched this rule.
    Stale,
    /// A machine that is launched never becomes a ready node.
    NeverReady,
    /// The object, or the type, cannot be read.
    Unreadable,
}

/// The call that a rule may hit.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The method.
    pub method: &'a str,
    /// The resource type; empty when the call is about none.
    pub type_name: &'a str,
    /// The name in the address; empty when the call is about none.
    pub name: &'a str,
}

impl Rule {
    /// A rule that hits every call.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self {
            method: None,
            type_name: None,
            address: None,
            nth: None,
            times: None,
            probability: None,
            kind,
            class: None,
            message: None,
            retry_after_ms: None,
            ms: None,
        }
    }

    /// Why the rule cannot be.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        if let Some(probability) = self.probability
            && !(0.0..=1.0).contains(&probability)
        {
            return Some(format!("probability {probability} is not between 0 and 1"));
        }
        if let Some(method) = &self.method
            && !is_method(method)
        {
            return Some(format!("no call has the method {method}"));
        }
        if let Some(pattern) = &self.type_name
            && !kind::all().values().any(|kind| matches(pattern, kind.name))
        {
            return Some(format!("no resource type matches {pattern}"));
        }
        match self.class.as_deref() {
            Some(class) if class_named(class).is_none() => Some(format!("class {class} is not known")),
            _ => None,
        }
    }

    fn matches(&self, call: Call<'_>) -> bool {
        let whole = || format!("{}.{}", call.type_name, call.name);
        // A condition that is absent matches all calls.
        let fits = |pattern: &Option<String>, text: &str| {
            pattern.as_deref().is_none_or(|pattern| matches(pattern, text))
        };
        fits(&self.method, call.method)
            && fits(&self.type_name, call.type_name)
            && (fits(&self.address, call.name) || fits(&self.address, &whole()))
    }

    /// The error of this rule for a call.
    #[must_use]
    pub fn error(&self, call: Call<'_>, rate_class: &str) -> ProviderError {
        let Call { method, type_name, name } = call;
        let class = match self.kind {
            Kind::Throttle => ErrorClass::Throttled {
                rate_class: rate_class.to_owned(),
                retry_after_ms: self.retry_after_ms,
            },
            Kind::Permission => ErrorClass::Permission { action: format!("{type_name}:{method}") },
            Kind::Quota => ErrorClass::Quota { name: type_name.to_owned(), limit: 0, used: 0 },
            _ => self.class.as_deref().and_then(class_named).unwrap_or(ErrorClass::Transient),
        };
        let sentence = || format!("{method} of {type_name}.{name} fails by an injected fault");
        ProviderError::new(class, self.message.clone().unwrap_or_else(sentence))
    }
}

/// The calls of a session beside the operations of resource types.
const METHODS: [&str; 21] = [
    "create",
    "create-route",
    "delete",
    "delete-load-balancer",
    "delete-route",
    "discover",
    "ensure-load-balancer",
    "get-load-balancer",
    "import",
    "instances",
    "launch",
    "list",
    "list-routes",
    "locate",
    "nodes",
    "preflight",
    "read",
    "resume",
    "tag",
    "update",
    "update-load-balancer",
];

/// Whether a call has a method that matches a pattern.
fn is_method(pattern: &str) -> bool {
    let operations =
        kind::all().values().flat_map(|kind| kind.resource.operations.keys().map(String::as_str));
    METHODS.into_iter().chain(operations).any(|method| matches(pattern, method))
}

fn class_named(name: &str) -> Option<ErrorClass> {
    Some(match name {
        "transient" => ErrorClass::Transient,
        "outcome-unknown" => ErrorClass::OutcomeUnknown,
        "permanent" => ErrorClass::Permanent,
        "unauthenticated" => ErrorClass::Unauthenticated,
        "conflict" => ErrorClass::Conflict,
        "precondition-failed" => ErrorClass::PreconditionFailed,
        "invalid" => ErrorClass::Invalid,
        "not-found" => ErrorClass::NotFound,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const CREATE: Call<'_> = Call { method: "create", type_name: "sim_subnet", name: "zone-a" };

    #[test]
    fn the_nth_call_is_hit_and_the_file_takes_the_place_of_the_configuration() {
        let directory = tempfile::tempdir().unwrap();
        let rule = Rule { nth: Some(2), type_name: Some("sim_sub*".into()), ..Rule::new(Kind::FailBefore) };
        let faults = Faults::new(1, directory.path(), vec![rule]);
        let hits: Vec<usize> = (0..3).map(|_| faults.of(CREATE).len()).collect();
        assert_eq!(hits, [0, 1, 0]);

        let text = r#"[{"kind": "throttle", "address": "sim_subnet.zone-?", "retryAfterMs": 5}]"#;
        std::fs::write(directory.path().join(FILE), text).unwrap();
        let rules = faults.of(CREATE);
        assert_eq!(rules[0].error(CREATE, "network").class.name(), "throttled");
    }

    #[test]
    fn a_file_with_a_mistake_fails_every_call() {
        let directory = tempfile::tempdir().unwrap();
        let faults = Faults::new(1, directory.path(), Vec::new());
        for (text, problem) in [
            (r#"[{"kind": "throttle", "adress": "sim_subnet.a"}]"#, "unknown field `adress`"),
            (r#"[{"kind": "throtle"}]"#, "unknown variant `throtle`"),
            (r#"[{"kind": "throttle", "method": "craete"}]"#, "no call has the method craete"),
            (r#"[{"kind": "throttle", "type": "sim_subnets"}]"#, "no resource type matches sim_subnets"),
        ] {
            std::fs::write(directory.path().join(FILE), text).unwrap();
            let rules = faults.of(CREATE);
            let error = rules[0].error(CREATE, "network");
            assert!(error.class == ErrorClass::Invalid && error.message.contains(problem), "{error}");
        }
        // Half of a file is one that is being written.
        std::fs::write(directory.path().join(FILE), r#"[{"kind": "thr"#).unwrap();
        assert!(faults.of(CREATE)[0].message.is_some(), "the last rules hold until it is whole");
        std::fs::remove_file(directory.path().join(FILE)).unwrap();
        assert!(faults.of(CREATE).is_empty());
    }

    #[test]
    fn a_file_that_is_a_link_or_too_large_is_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let faults = Faults::new(1, directory.path(), Vec::new());
        std::fs::write(directory.path().join("elsewhere"), "[]").unwrap();
        std::os::unix::fs::symlink("elsewhere", directory.path().join(FILE)).unwrap();
        let error = faults.of(CREATE)[0].error(CREATE, "network");
        assert!(error.message.contains("it is a symbolic link"), "{error}");
        std::fs::remove_file(directory.path().join(FILE)).unwrap();
        let large = std::fs::File::create(directory.path().join(FILE)).unwrap();
        large.set_len(slipway_limits::size::FAULTS.bytes + 1).unwrap();
        let error = faults.of(CREATE)[0].error(CREATE, "network");
        assert!(error.message.contains("it has more than"), "{error}");
    }

    #[test]
    fn probability_follows_from_the_seed() {
        let rule = Rule { probability: Some(0.5), ..Rule::new(Kind::FailBefore) };
        let pattern = |seed| -> Vec<bool> {
            let faults = Faults::new(seed, Path::new("/nonexistent"), vec![rule.clone()]);
            (0..64).map(|_| !faults.of(CREATE).is_empty()).collect()
        };
        assert_eq!(pattern(1), pattern(1));
        assert_ne!(pattern(1), pattern(2));
    }
}
