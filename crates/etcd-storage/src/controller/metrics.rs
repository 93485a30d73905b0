//! The metrics of the controller.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use slipway_controller::prometheus_client;

type Labels = [(&'static str, String); 1];

/// The metrics of the controller.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    /// 1 while this process leads.
    pub(crate) leads: Gauge,
    reconciled: Family<Labels, Counter>,
    issued: Family<Labels, Counter>,
    expires: Family<Labels, Gauge>,
}

impl Metrics {
    pub(crate) fn new(registry: &slipway_controller::Metrics) -> Self {
        Self {
            leads: registry.leads(),
            reconciled: registry.register(
                "etcd_storage_reconciles",
                "Looks at an EtcdStorage by outcome: ready, waiting or failed",
                Family::default(),
            ),
            issued: registry.register(
                "etcd_storage_certificates_issued",
                "Certificates made by kind: client-ca, serving-ca, serving or client",
                Family::default(),
            ),
            expires: registry.register(
                "etcd_storage_certificate_expiry_timestamp_seconds",
                "When the first certificate in use of an EtcdStorage ends",
                Family::default(),
            ),
        }
    }

    /// A look at an `EtcdStorage` ended.
    pub(crate) fn reconciled(&self, outcome: &'static str) {
        self.reconciled.get_or_create(&[("outcome", outcome.to_owned())]).inc();
    }

    /// A certificate was made.
    pub(crate) fn issued(&self, kind: &str) {
        self.issued.get_or_create(&[("kind", kind.to_owned())]).inc();
    }

    /// When the first certificate of an `EtcdStorage` ends, in seconds since 1970.
    pub(crate) fn expires(&self, storage: &str, second: i64) {
        self.expires.get_or_create(&[("etcdstorage", storage.to_owned())]).set(second);
    }

    /// An `EtcdStorage` is gone.
    pub(crate) fn forget(&self, storage: &str) {
        self.expires.remove(&[("etcdstorage", storage.to_owned())]);
    }
}
