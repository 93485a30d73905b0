//! Metrics in the text format of OpenMetrics.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Metric, Registry};

/// The metrics of a process. Clones share them.
#[derive(Clone, Default)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Metrics")
    }
}

impl Metrics {
    /// Registers a metric, and returns it. The name of a counter has no suffix `_total`: the format adds it.
    pub fn register<M: Metric + Clone>(&self, name: &str, help: &str, metric: M) -> M {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        registry.register(name, help, metric.clone());
        metric
    }

    /// Registers the gauge that is 1 while this process leads.
    #[must_use]
    pub fn leads(&self) -> Gauge {
        self.register(
            "leader_election_master_status",
            "Whether this process holds the Lease",
            Gauge::default(),
        )
    }

    /// All metrics, as `application/openmetrics-text; version=1.0.0`.
    ///
    /// # Errors
    /// When a metric cannot be written.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        encode(&mut text, &registry)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;

    use super::*;

    #[test]
    fn a_counter_is_written_with_its_suffix() {
        let metrics = Metrics::default();
        let counter: Counter = metrics.register("writes", "Writes", Counter::default());
        counter.inc();
        assert_eq!(
            metrics.text().unwrap(),
            "# HELP writes Writes.\n# TYPE writes counter\nwrites_total 1\n# EOF\n"
        );
    }
}
