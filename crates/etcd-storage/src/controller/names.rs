//! Names of what belongs to an `EtcdStorage`. They are those of etcdproxy-controller where it has the object too.

use std::collections::BTreeMap;

use slipway_bootstrap::pki::AlternativeNames;

use crate::proxy::Tenant;
use crate::storage::Destination;

/// The manager of the fields that the controller applies.
pub(crate) const MANAGER: &str = "slipway-etcd-storage";
/// The finalizer: nothing of an `EtcdStorage` is left when it is gone.
pub(crate) const FINALIZER: &str = "etcd.xmudrii.com/cleanup";

/// The key of the authorities of clients in their ConfigMap.
pub(crate) const CLIENT_CA: &str = "client-ca.crt";
/// The key of the authorities of the proxy's certificate in ConfigMaps of API servers.
pub(crate) const SERVING_CA: &str = "serving-ca.crt";
/// The key of the core's authorities in their ConfigMap.
pub(crate) const CORE_CA: &str = "ca.crt";
/// The keys of a certificate and its key in a Secret.
pub(crate) const CERTIFICATE: &str = "tls.crt";
pub(crate) const KEY: &str = "tls.key";

/// When the certificate ends.
pub(crate) const EXPIRES: &str = "etcd.xmudrii.com/certificate-expiry-date";
/// The common name of the authority that signed last.
pub(crate) const SIGNED_BY: &str = "etcd.xmudrii.com/certificate-signed-by";
/// The validity that the certificate was issued for.
pub(crate) const VALIDITY: &str = "etcd.xmudrii.com/certificate-validity";
/// The `EtcdStorage` that an object of an API server belongs to.
pub(crate) const STORAGE: &str = "etcd.xmudrii.com/etcdstorage";
/// A digest of the certificates that an API server reads from the object.
pub(crate) const HASH: &str = "etcd.xmudrii.com/content-sha256";
/// The prefix of all of them.
pub(crate) const PREFIX: &str = "etcd.xmudrii.com/";

/// The port of the proxies.
pub(crate) const PORT: u16 = 2379;

/// The names of one `EtcdStorage`.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub(crate) tenant: Tenant,
    namespace: String,
    cluster_domain: String,
}

impl Names {
    pub(crate) fn new(tenant: Tenant, namespace: &str, cluster_domain: &str) -> Self {
        Self { tenant, namespace: namespace.to_owned(), cluster_domain: cluster_domain.to_owned() }
    }

    /// The Deployment, the Service and the disruption budget.
    pub(crate) fn workload(&self) -> String {
        format!("etcd-{}", self.tenant)
    }

    /// The ConfigMap with the authorities of clients.
    pub(crate) fn client_ca(&self) -> String {
        format!("{}-ca-cert", self.tenant)
    }

    /// The Secret with the certificate of the proxy.
    pub(crate) fn server(&self) -> String {
        format!("{}-server-cert", self.tenant)
    }

    /// The Secret with the authorities and their keys.
    pub(crate) fn signers(&self) -> String {
        format!("{}-signers", self.tenant)
    }

    /// The DNS name of the Service in every cluster.
    pub(crate) fn host(&self) -> String {
        format!("{}.{}.svc", self.workload(), self.namespace)
    }

    /// The URL of the proxies.
    pub(crate) fn endpoint(&self) -> String {
        format!("https://{}:{PORT}", self.host())
    }

    /// Everything that the proxy may be called: the names of its Service, and the loopback names, for `kubectl port-forward`.
    pub(crate) fn server_names(&self) -> AlternativeNames {
        let (service, host) = (self.workload(), self.host());
        AlternativeNames::of([
            service.clone(),
            format!("{service}.{}", self.namespace),
            format!("{host}.{}", self.cluster_domain),
            host,
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
            "::1".to_owned(),
        ])
        .normalised()
    }

    /// The common name of the client certificate in a Secret.
    pub(crate) fn client(destination: &Destination) -> String {
        format!("client-{}-{}", destination.namespace, destination.name)
    }

    /// The labels of the pods. No other pod has them, unless someone sets them on purpose.
    pub(crate) fn selector(&self) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            ("app.kubernetes.io/name", "etcdproxy".to_owned()),
            (STORAGE, self.tenant.to_string()),
        ])
    }

    /// The labels of all objects in the controller's namespace.
    pub(crate) fn labels(&self) -> BTreeMap<&'static str, String> {
        let mut labels = self.selector();
        labels.insert("app.kubernetes.io/managed-by", MANAGER.to_owned());
        labels
    }
}
