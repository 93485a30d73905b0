//! `KubeletConfiguration` of kubelet.config.k8s.io/v1beta1, as Kubernetes 1.34 has it.

use super::{Field, Shape, always, filled, given};

/// Logging, shared by all components.
pub(super) const LOGGING: Shape = Shape::Object(&[
    filled("format", Shape::Text),
    always("flushFrequency", Shape::TimeOrDuration),
    always("verbosity", Shape::Number),
    filled("vmodule", Shape::Any),
    always("options", Shape::Object(&[always("text", OUTPUT), always("json", OUTPUT)])),
]);

const OUTPUT: Shape =
    Shape::Object(&[filled("splitStream", Shape::Bool), always("infoBufferSize", Shape::Quantity)]);

const TEXTS: Shape = Shape::List(&Shape::Text);
const TEXT_MAP: Shape = Shape::Map(&Shape::Text);

/// The whole document.
pub(crate) const KUBELET: Shape = Shape::Object(FIELDS);

const FIELDS: &[Field] = &[
    given("enableServer", Shape::Bool),
    filled("staticPodPath", Shape::Text),
    filled("podLogsDir", Shape::Text),
    always("syncFrequency", Shape::Duration),
    always("fileCheckFrequency", Shape::Duration),
    always("httpCheckFrequency", Shape::Duration),
    filled("staticPodURL", Shape::Text),
    filled("staticPodURLHeader", Shape::Any),
    filled("address", Shape::Text),
    filled("port", Shape::Number),
    filled("readOnlyPort", Shape::Number),
    filled("tlsCertFile", Shape::Text),
    filled("tlsPrivateKeyFile", Shape::Text),
    filled("tlsCipherSuites", TEXTS),
    filled("tlsMinVersion", Shape::Text),
    filled("rotateCertificates", Shape::Bool),
    filled("serverTLSBootstrap", Shape::Bool),
    always("authentication", AUTHENTICATION),
    always("authorization", AUTHORIZATION),
    given("registryPullQPS", Shape::Number),
    filled("registryBurst", Shape::Number),
    filled("imagePullCredentialsVerificationPolicy", Shape::Text),
    filled("preloadedImagesVerificationAllowlist", TEXTS),
    given("eventRecordQPS", Shape::Number),
    filled("eventBurst", Shape::Number),
    given("enableDebuggingHandlers", Shape::Bool),
    filled("enableContentionProfiling", Shape::Bool),
    given("healthzPort", Shape::Number),
    filled("healthzBindAddress", Shape::Text),
    given("oomScoreAdj", Shape::Number),
    filled("clusterDomain", Shape::Text),
    filled("clusterDNS", TEXTS),
    always("streamingConnectionIdleTimeout", Shape::Duration),
    always("nodeStatusUpdateFrequency", Shape::Duration),
    always("nodeStatusReportFrequency", Shape::Duration),
    filled("nodeLeaseDurationSeconds", Shape::Number),
    always("imageMinimumGCAge", Shape::Duration),
    always("imageMaximumGCAge", Shape::Duration),
    given("imageGCHighThresholdPercent", Shape::Number),
    given("imageGCLowThresholdPercent", Shape::Number),
    always("volumeStatsAggPeriod", Shape::Duration),
    filled("kubeletCgroups", Shape::Text),
    filled("systemCgroups", Shape::Text),
    filled("cgroupRoot", Shape::Text),
    given("cgroupsPerQOS", Shape::Bool),
    filled("cgroupDriver", Shape::Text),
    filled("cpuManagerPolicy", Shape::Text),
    given("singleProcessOOMKill", Shape::Bool),
    filled("cpuManagerPolicyOptions", TEXT_MAP),
    always("cpuManagerReconcilePeriod", Shape::Duration),
    filled("memoryManagerPolicy", Shape::Text),
    filled("topologyManagerPolicy", Shape::Text),
    filled("topologyManagerScope", Shape::Text),
    filled("topologyManagerPolicyOptions", TEXT_MAP),
    filled("qosReserved", TEXT_MAP),
    always("runtimeRequestTimeout", Shape::Duration),
    filled("hairpinMode", Shape::Text),
    filled("maxPods", Shape::Number),
    filled("podCIDR", Shape::Text),
    given("podPidsLimit", Shape::Number),
    given("resolvConf", Shape::Text),
    filled("runOnce", Shape::Bool),
    given("cpuCFSQuota", Shape::Bool),
    given("cpuCFSQuotaPeriod", Shape::Duration),
    given("nodeStatusMaxImages", Shape::Number),
    filled("maxOpenFiles", Shape::Number),
    filled("contentType", Shape::Text),
    given("kubeAPIQPS", Shape::Number),
    filled("kubeAPIBurst", Shape::Number),
    given("serializeImagePulls", Shape::Bool),
    given("maxParallelImagePulls", Shape::Number),
    filled("evictionHard", TEXT_MAP),
    filled("evictionSoft", TEXT_MAP),
    filled("evictionSoftGracePeriod", TEXT_MAP),
    always("evictionPressureTransitionPeriod", Shape::Duration),
    filled("evictionMaxPodGracePeriod", Shape::Number),
    filled("evictionMinimumReclaim", TEXT_MAP),
    given("mergeDefaultEvictionSettings", Shape::Bool),
    filled("podsPerCore", Shape::Number),
    given("enableControllerAttachDetach", Shape::Bool),
    filled("protectKernelDefaults", Shape::Bool),
    given("makeIPTablesUtilChains", Shape::Bool),
    given("iptablesMasqueradeBit", Shape::Number),
    given("iptablesDropBit", Shape::Number),
    filled("featureGates", Shape::Map(&Shape::Bool)),
    given("failSwapOn", Shape::Bool),
    always("memorySwap", Shape::Object(&[filled("swapBehavior", Shape::Text)])),
    filled("containerLogMaxSize", Shape::Text),
    given("containerLogMaxFiles", Shape::Number),
    given("containerLogMaxWorkers", Shape::Number),
    given("containerLogMonitorInterval", Shape::Duration),
    filled("configMapAndSecretChangeDetectionStrategy", Shape::Text),
    filled("systemReserved", TEXT_MAP),
    filled("kubeReserved", TEXT_MAP),
    filled("reservedSystemCPUs", Shape::Text),
    filled("showHiddenMetricsForVersion", Shape::Text),
    filled("systemReservedCgroup", Shape::Text),
    filled("kubeReservedCgroup", Shape::Text),
    filled("enforceNodeAllocatable", TEXTS),
    filled("allowedUnsafeSysctls", TEXTS),
    filled("volumePluginDir", Shape::Text),
    filled("providerID", Shape::Text),
    filled("kernelMemcgNotification", Shape::Bool),
    always("logging", LOGGING),
    given("enableSystemLogHandler", Shape::Bool),
    given("enableSystemLogQuery", Shape::Bool),
    always("shutdownGracePeriod", Shape::Duration),
    always("shutdownGracePeriodCriticalPods", Shape::Duration),
    filled("shutdownGracePeriodByPodPriority", Shape::List(&GRACE_PERIOD)),
    always("crashLoopBackOff", Shape::Object(&[given("maxContainerRestartPeriod", Shape::Duration)])),
    filled("reservedMemory", Shape::List(&RESERVED_MEMORY)),
    given("enableProfilingHandler", Shape::Bool),
    given("enableDebugFlagsHandler", Shape::Bool),
    given("seccompDefault", Shape::Bool),
    given("memoryThrottlingFactor", Shape::Number),
    filled("registerWithTaints", Shape::List(&TAINT)),
    given("registerNode", Shape::Bool),
    given("tracing", TRACING),
    given("localStorageCapacityIsolation", Shape::Bool),
    always("containerRuntimeEndpoint", Shape::Text),
    filled("imageServiceEndpoint", Shape::Text),
    given("failCgroupV1", Shape::Bool),
    given("userNamespaces", Shape::Object(&[given("idsPerPod", Shape::Number)])),
];

const AUTHENTICATION: Shape = Shape::Object(&[
    always("x509", Shape::Object(&[filled("clientCAFile", Shape::Text)])),
    always("webhook", Shape::Object(&[given("enabled", Shape::Bool), always("cacheTTL", Shape::Duration)])),
    always("anonymous", Shape::Object(&[given("enabled", Shape::Bool)])),
]);

const AUTHORIZATION: Shape = Shape::Object(&[
    filled("mode", Shape::Text),
    always(
        "webhook",
        Shape::Object(&[
            always("cacheAuthorizedTTL", Shape::Duration),
            always("cacheUnauthorizedTTL", Shape::Duration),
        ]),
    ),
]);

const GRACE_PERIOD: Shape =
    Shape::Object(&[always("priority", Shape::Number), always("shutdownGracePeriodSeconds", Shape::Number)]);

const RESERVED_MEMORY: Shape =
    Shape::Object(&[always("numaNode", Shape::Number), always("limits", Shape::Map(&Shape::Quantity))]);

const TAINT: Shape =
    Shape::Object(&[always("key", Shape::Text), filled("value", Shape::Text), always("effect", Shape::Text)]);

const TRACING: Shape =
    Shape::Object(&[given("endpoint", Shape::Text), given("samplingRatePerMillion", Shape::Number)]);
