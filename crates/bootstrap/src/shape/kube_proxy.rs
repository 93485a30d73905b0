//! `KubeProxyConfiguration` of kubeproxy.config.k8s.io/v1alpha1, as Kubernetes 1.34 has it.

use super::kubelet::LOGGING;
use super::{Field, Shape, always, filled};

/// The whole document.
pub(crate) const KUBE_PROXY: Shape = Shape::Object(FIELDS);

/// A pointer, or a list, that is `null` when it is not there.
const NULLABLE: Shape = Shape::Any;

const FIELDS: &[Field] = &[
    filled("featureGates", Shape::Map(&Shape::Bool)),
    always("clientConnection", CLIENT),
    always("logging", LOGGING),
    always("hostnameOverride", Shape::Text),
    always("bindAddress", Shape::Text),
    always("healthzBindAddress", Shape::Text),
    always("metricsBindAddress", Shape::Text),
    always("bindAddressHardFail", Shape::Bool),
    always("enableProfiling", Shape::Bool),
    always("showHiddenMetricsForVersion", Shape::Text),
    always("mode", Shape::Text),
    always("iptables", IPTABLES),
    always("ipvs", IPVS),
    always("nftables", NFTABLES),
    always("winkernel", WINKERNEL),
    always("detectLocalMode", Shape::Text),
    always(
        "detectLocal",
        Shape::Object(&[always("bridgeInterface", Shape::Text), always("interfaceNamePrefix", Shape::Text)]),
    ),
    always("clusterCIDR", Shape::Text),
    always("nodePortAddresses", NULLABLE),
    always("oomScoreAdj", NULLABLE),
    always("conntrack", CONNTRACK),
    always("configSyncPeriod", Shape::Duration),
    always("portRange", Shape::Text),
    filled("windowsRunAsService", Shape::Bool),
];

const CLIENT: Shape = Shape::Object(&[
    always("kubeconfig", Shape::Text),
    always("acceptContentTypes", Shape::Text),
    always("contentType", Shape::Text),
    always("qps", Shape::Number),
    always("burst", Shape::Number),
]);

const IPTABLES: Shape = Shape::Object(&[
    always("masqueradeBit", NULLABLE),
    always("masqueradeAll", Shape::Bool),
    always("localhostNodePorts", NULLABLE),
    always("syncPeriod", Shape::Duration),
    always("minSyncPeriod", Shape::Duration),
]);

const IPVS: Shape = Shape::Object(&[
    always("syncPeriod", Shape::Duration),
    always("minSyncPeriod", Shape::Duration),
    always("scheduler", Shape::Text),
    always("excludeCIDRs", NULLABLE),
    always("strictARP", Shape::Bool),
    always("tcpTimeout", Shape::Duration),
    always("tcpFinTimeout", Shape::Duration),
    always("udpTimeout", Shape::Duration),
]);

const NFTABLES: Shape = Shape::Object(&[
    always("masqueradeBit", NULLABLE),
    always("masqueradeAll", Shape::Bool),
    always("syncPeriod", Shape::Duration),
    always("minSyncPeriod", Shape::Duration),
]);

const CONNTRACK: Shape = Shape::Object(&[
    always("maxPerCore", NULLABLE),
    always("min", NULLABLE),
    always("tcpEstablishedTimeout", NULLABLE_DURATION),
    always("tcpCloseWaitTimeout", NULLABLE_DURATION),
    always("tcpBeLiberal", Shape::Bool),
    always("udpTimeout", Shape::Duration),
    always("udpStreamTimeout", Shape::Duration),
]);

const WINKERNEL: Shape = Shape::Object(&[
    always("networkName", Shape::Text),
    always("sourceVip", Shape::Text),
    always("enableDSR", Shape::Bool),
    always("rootHnsEndpointName", Shape::Text),
    always("forwardHealthCheckVip", Shape::Bool),
]);

/// A pointer to a span.
const NULLABLE_DURATION: Shape = Shape::Pointer(&Shape::Duration);
