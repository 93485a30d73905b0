//! Probes of health.

use serde_json::{Value, json};

use crate::configuration::GoDuration;

/// The name of the container port that probes ask.
pub(super) const PORT: &str = "probe-port";

/// Where a component answers to probes.
pub(super) struct Place<'a> {
    /// The address; empty for the pod's own.
    pub host: &'a str,
    /// `HTTP` or `HTTPS`.
    pub scheme: &'static str,
}

impl Place<'_> {
    /// Restarts the container when it fails for 80 seconds.
    pub fn liveness(&self, path: &str) -> Value {
        self.probe(path, 10, 8, 10)
    }

    /// Takes the pod out of service after three failures, one second apart.
    pub fn readiness(&self, path: &str) -> Value {
        self.probe(path, 0, 3, 1)
    }

    /// Gives the component this long to come up.
    pub fn startup(&self, path: &str, timeout: GoDuration) -> Value {
        let failures = timeout.get().as_millis().div_ceil(10_000);
        self.probe(path, 10, u64::try_from(failures).unwrap_or(u64::MAX), 10)
    }

    fn probe(&self, path: &str, delay: u64, failures: u64, period: u64) -> Value {
        let mut get = json!({"path": path, "port": PORT, "scheme": self.scheme});
        if !self.host.is_empty() {
            get["host"] = self.host.into();
        }
        let mut probe = json!({
            "failureThreshold": failures,
            "httpGet": get,
            "periodSeconds": period,
            "timeoutSeconds": 15,
        });
        if delay > 0 {
            probe["initialDelaySeconds"] = delay.into();
        }
        probe
    }
}

/// Where to reach what listens on an address: on every address means on the pod's own.
pub(super) fn reachable(address: &str) -> &str {
    match address {
        "0.0.0.0" | "::" => "",
        other => other,
    }
}
