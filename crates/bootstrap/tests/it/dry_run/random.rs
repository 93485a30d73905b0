//! Configurations at random, the same ones at every run.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use slipway_bootstrap::configuration::{
    Argument, BootstrapTokenSettings, Component, Configuration, Detected, EncryptionAlgorithm, Etcd,
    ExternalEtcd, HostPathMount, Image, LocalEtcd, Taint,
};
use slipway_resource::{Secret, SecretText};

/// SplitMix64: few lines, and the same numbers everywhere.
pub struct Random(u64);

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// True in one of so many cases.
    fn one_in(&mut self, cases: u64) -> bool {
        self.next().is_multiple_of(cases)
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[usize::try_from(self.next() % from.len() as u64).unwrap()]
    }

    /// Some of them, in their order.
    fn some<T: Clone>(&mut self, from: &[T]) -> Vec<T> {
        from.iter().filter(|_| self.one_in(3)).cloned().collect()
    }
}

/// A configuration; a `plain` one has kubeadm's defaults wherever it can.
pub fn configuration(random: &mut Random, plain: bool, hostname: &str) -> Configuration {
    let address =
        if plain { "192.0.2.10" } else { random.pick(&["192.0.2.10", "192.0.2.77", "2001:db8::10"]) };
    let detected =
        Detected { hostname: hostname.to_owned(), address: address.parse().unwrap(), ..Detected::default() };
    let mut configuration = Configuration::new(&detected);
    // RSA keys take a second to make; the certificates' own tests have them.
    configuration.cluster.encryption_algorithm = EncryptionAlgorithm::EcdsaP256;
    configuration.node.bootstrap_tokens = vec![token("abcdef.0123456789abcdef")];
    if !plain {
        cluster(random, &mut configuration);
        node(random, &mut configuration);
        networking(random, &mut configuration);
        components(random, &mut configuration);
        etcd(random, &mut configuration);
        configuration.kubelet = kubelet(random);
        configuration.kube_proxy = kube_proxy(random);
    }
    configuration
}

fn token(text: &str) -> BootstrapTokenSettings {
    let secret = Secret { text: Some(SecretText::new(text)), ..Secret::new("test:token") };
    BootstrapTokenSettings { token: Some(secret), ..BootstrapTokenSettings::default() }
}

fn cluster(random: &mut Random, configuration: &mut Configuration) {
    let cluster = &mut configuration.cluster;
    if random.one_in(3) {
        cluster.name = random.pick(&["prod", "a-cluster", "k8s.example.test"]).to_owned();
    }
    cluster.kubernetes_version =
        random.pick(&["1.34.4", "1.34.0", "1.33.6", "1.34.1-rc.1", "1.34.4+build.7"]).parse().unwrap();
    let endpoint = random.pick(&[
        "",
        "api.example.test",
        "api.example.test:6443",
        "api.example.test:443",
        "10.0.0.100",
        "10.0.0.100:8443",
        "[2001:db8::100]:6443",
        "2001:db8::100",
    ]);
    cluster.control_plane_endpoint = (!endpoint.is_empty()).then(|| endpoint.parse().unwrap());
    if random.one_in(4) {
        cluster.certificates_dir = random.pick(&["/opt/kubernetes/pki", "/etc/kubernetes/ssl"]).to_owned();
    }
    if random.one_in(3) {
        cluster.image_repository = random
            .pick(&["mirror.example.test/k8s", "localhost:5000", "registry.example.test:8443/a/b"])
            .to_owned();
    }
    if random.one_in(8) {
        cluster.encryption_algorithm = EncryptionAlgorithm::EcdsaP384;
    }
    if random.one_in(4) {
        cluster.certificate_validity_period = "720h".parse().unwrap();
        cluster.ca_certificate_validity_period = "26280h30m".parse().unwrap();
    }
    for (gate, on) in random.some(&[
        ("NodeLocalCRISocket", false),
        ("ControlPlaneKubeletLocalMode", false),
        ("NodeLocalCRISocket", true),
        ("WaitForAllControlPlaneComponents", true),
    ]) {
        cluster.feature_gates.insert(gate.to_owned(), on);
    }
    cluster.dns.disabled = random.one_in(6);
    cluster.proxy.disabled = random.one_in(6);
    if random.one_in(4) {
        cluster.dns.image = image(random, "v1.11.3");
    }
    let sans = ["api.internal", "*.example.test", "10.9.8.7", "2001:db8::99", "api.internal", "192.0.2.10"];
    cluster.api_server.cert_sans = random.some(&sans).into_iter().map(str::to_owned).collect();
}

fn image(random: &mut Random, tag: &str) -> Image {
    let repository = random.one_in(2).then(|| "other.example.test/images".to_owned());
    let tag = (repository.is_none() || random.one_in(2)).then(|| tag.to_owned());
    Image { repository, tag }
}

fn networking(random: &mut Random, configuration: &mut Configuration) {
    let networking = &mut configuration.cluster.networking;
    let pods = ["", "10.244.0.0/16", "10.128.0.0/14", "10.244.0.0/16,2001:db8:42:0::/56"];
    networking.pod_subnet = random.pick(&pods).to_owned();
    if networking.pod_subnet.contains(',') {
        networking.service_subnet = random.pick(&["10.96.0.0/16,2001:db8:42:1::/112"]).to_owned();
    } else if configuration.node.advertise_address.is_ipv6() {
        networking.pod_subnet = "2001:db8:42:0::/56".to_owned();
        networking.service_subnet = "2001:db8:42:1::/112".to_owned();
    } else if random.one_in(2) {
        networking.service_subnet = random.pick(&["172.20.0.0/16", "10.32.0.0/24"]).to_owned();
    }
    if random.one_in(3) {
        networking.dns_domain = random.pick(&["k8s.internal", "local"]).to_owned();
    }
}

/// The settings of a node.
pub fn node(random: &mut Random, configuration: &mut Configuration) {
    let node = &mut configuration.node;
    if random.one_in(2) {
        node.name = random.pick(&["cp0", "cp-0.example.test"]).to_owned();
    }
    let sockets = ["unix:///run/containerd/containerd.sock", "unix:///var/run/crio/crio.sock"];
    node.cri_socket = Some(random.pick(&sockets).to_owned());
    if random.one_in(3) {
        node.bind_port = 8443;
    }
    node.kubelet_extra_args = random.some(&[
        Argument::new("node-labels", "role=a,zone=\"b\""),
        Argument::new("v", "2"),
        Argument::new("hostname-override", "named-otherwise"),
        Argument::new("cloud-provider", "external"),
        Argument::new("pod-infra-container-image", "pause:mine"),
    ]);
    if random.one_in(3) {
        let taint = |key: &str, value: &str| Taint {
            key: key.to_owned(),
            value: value.to_owned(),
            effect: "NoSchedule".to_owned(),
        };
        let taints = [taint("node-role.kubernetes.io/control-plane", ""), taint("dedicated", "etcd")];
        node.taints = Some(random.some(&taints));
    }
    let timeout = random.pick(&["4m", "90s", "10m5s", "1s"]);
    node.timeouts.control_plane_component_health_check = timeout.parse().unwrap();
    if random.one_in(3) {
        let mut second = token("012345.abcdefghijklmnop");
        second.description = "the second one: 'quoted'".to_owned();
        second.usages = vec!["authentication".to_owned()];
        second.groups = vec!["system:bootstrappers:b".to_owned(), "system:bootstrappers:a".to_owned()];
        node.bootstrap_tokens.push(second);
    }
}

fn components(random: &mut Random, configuration: &mut Configuration) {
    let cluster = &mut configuration.cluster;
    cluster.api_server.component = component(
        random,
        &[
            Argument::new("authorization-mode", "Node,RBAC,Webhook"),
            Argument::new("authorization-mode", "Nothing"),
            Argument::new("authorization-config", "/etc/kubernetes/pki/authorization.yaml"),
            Argument::new("enable-admission-plugins", "NodeRestriction,AlwaysPullImages"),
            Argument::new("audit-log-path", "-"),
            Argument::new("feature-gates", "A=true,B=false"),
            Argument::new("runtime-config", ""),
            Argument::new("service-account-issuer", "https://issuer.example.test"),
            Argument::new("service-account-issuer", "https://kubernetes.default.svc.cluster.local"),
            Argument::new("etcd-servers", "https://10.0.0.1:2379"),
            Argument::new("tls-cipher-suites", "TLS_AES_128_GCM_SHA256,".repeat(6)),
        ],
        "k8s-certs",
    );
    let manager = random.pick(&["0.0.0.0", "::", "10.1.1.1"]);
    cluster.controller_manager = component(
        random,
        &[
            Argument::new("bind-address", manager),
            Argument::new("flex-volume-plugin-dir", "/opt/flex"),
            Argument::new("node-cidr-mask-size", "24"),
            Argument::new("controllers", "*"),
            Argument::new("cluster-cidr", ""),
        ],
        "flexvolume-dir",
    );
    let scheduler = random.pick(&["0.0.0.0", "127.0.0.2"]);
    cluster.scheduler = component(
        random,
        &[
            Argument::new("bind-address", scheduler),
            Argument::new("config", "/etc/kubernetes/scheduler-config.yaml"),
            Argument::new("leader-elect", "false"),
        ],
        "kubeconfig",
    );
}

fn component(random: &mut Random, arguments: &[Argument], volume: &str) -> Component {
    let mount = |name: &str, path: &str, read_only: bool, path_type: &str| HostPathMount {
        name: name.to_owned(),
        host_path: path.to_owned(),
        mount_path: format!("/in{path}"),
        read_only,
        path_type: path_type.to_owned(),
    };
    let volumes = [
        mount("zone", "/usr/share/zoneinfo", true, "Directory"),
        mount("audit", "/var/log/audit", false, "DirectoryOrCreate"),
        mount(volume, "/opt/instead", false, ""),
        mount("a-file", "/etc/some.conf", true, "FileOrCreate"),
    ];
    Component {
        extra_args: random.some(arguments),
        extra_volumes: random.some(&volumes),
        extra_envs: environment(random),
    }
}

fn environment(random: &mut Random) -> Vec<Value> {
    random.some(&[
        json!({"name": "GOMAXPROCS", "value": "4"}),
        json!({"name": "HTTP_PROXY", "value": "http://own.example.test:3128"}),
        json!({"name": "A_NOTE", "value": "text with: colons, 'quotes' and more than eighty columns of words so that it has to be folded"}),
        json!({"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}),
        json!({"name": "EMPTY"}),
        json!({"name": "YES", "value": "yes"}),
    ])
}

fn etcd(random: &mut Random, configuration: &mut Configuration) {
    let file = |random: &mut Random, name: &str| {
        let folders =
            ["/etc/kubernetes/pki/external", "/etc/etcd", "/etc/etcd/deep", "/opt/etcd", "/etc/ssl/certs"];
        format!("{}/{name}", random.pick(&folders))
    };
    configuration.cluster.etcd = if random.one_in(4) {
        let tls = random.one_in(2);
        let mut file = |name: &str| if tls { file(random, name) } else { String::new() };
        let (ca_file, cert_file, key_file) = (file("ca.crt"), file("client.crt"), file("client.key"));
        let scheme = if tls { "https" } else { "http" };
        let endpoints =
            ["10.0.0.21:2379", "10.0.0.22:2379"].map(|host| format!("{scheme}://{host}")).to_vec();
        Etcd::External(ExternalEtcd { endpoints, ca_file, cert_file, key_file })
    } else {
        let data_dir = random.pick(&["/var/lib/etcd", "/mnt/etcd/data"]).to_owned();
        let tag = random.pick(&["3.5.21-0", "3.6.5-0", "3.6.0-rc.3", "mine", "v3.6.1"]).to_owned();
        let image = if random.one_in(2) { image(random, &tag) } else { Image::default() };
        let sans = ["etcd.example.test", "10.0.0.31", "2001:db8::31"].map(str::to_owned);
        Etcd::Local(LocalEtcd {
            image,
            data_dir,
            extra_args: random.some(&[
                Argument::new("listen-metrics-urls", "https://0.0.0.0:2382,http://127.0.0.1:2381"),
                Argument::new("advertise-client-urls", "https://etcd.example.test:2379"),
                Argument::new("snapshot-count", "5000"),
                Argument::new("quota-backend-bytes", "8589934592"),
            ]),
            extra_envs: environment(random),
            server_cert_sans: random.some(&sans),
            peer_cert_sans: random.some(&sans),
        })
    };
}

/// Some of many fields; nothing at all in half of the cases.
fn settings(random: &mut Random, fields: &Value) -> Option<Map<String, Value>> {
    if random.one_in(2) {
        return None;
    }
    let fields = fields.as_object().unwrap();
    Some(
        fields.iter().filter(|_| random.one_in(3)).map(|(key, value)| (key.clone(), value.clone())).collect(),
    )
}

fn kubelet(random: &mut Random) -> Option<Map<String, Value>> {
    let fields = json!({
        "cgroupDriver": "cgroupfs",
        "maxPods": 200,
        "podPidsLimit": 4096,
        "readOnlyPort": 0,
        "failSwapOn": false,
        "serializeImagePulls": true,
        "staticPodPath": "/etc/kubernetes/manifests",
        "clusterDNS": ["169.254.20.10", "10.96.0.10"],
        "clusterDomain": "other.domain",
        "syncFrequency": "1m",
        "imageMinimumGCAge": "90s",
        "nodeStatusUpdateFrequency": "1500ms",
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
        "evictionSoftGracePeriod": {"memory.available": "1m30s"},
        "systemReserved": {"cpu": "100m", "memory": "256Mi"},
        "featureGates": {"A": true, "B": false},
        "authentication": {"webhook": {"cacheTTL": "2m"}, "anonymous": {"enabled": true}},
        "authorization": {"mode": "AlwaysAllow"},
        "tlsCipherSuites": ["TLS_AES_128_GCM_SHA256"],
        "logging": {"format": "json", "flushFrequency": "5s", "verbosity": 3, "options": {"json": {"infoBufferSize": "1024Ki"}}},
        "memorySwap": {"swapBehavior": "LimitedSwap"},
        "shutdownGracePeriodByPodPriority": [{"priority": 100, "shutdownGracePeriodSeconds": 10}],
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1024Mi"}}],
        "registerWithTaints": [{"key": "a", "effect": "NoSchedule"}],
        "containerLogMonitorInterval": "1h",
        "crashLoopBackOff": {"maxContainerRestartPeriod": "300s"},
        "memoryThrottlingFactor": 0.9,
        "resolvConf": "",
        "rotateCertificates": false,
        "serverTLSBootstrap": true,
        "healthzPort": 10348,
        "containerRuntimeEndpoint": "unix:///elsewhere.sock",
        "tracing": {"endpoint": "localhost:4317", "samplingRatePerMillion": 100},
    });
    settings(random, &fields)
}

fn kube_proxy(random: &mut Random) -> Option<Map<String, Value>> {
    let fields = json!({
        "mode": "ipvs",
        "bindAddress": "127.0.0.1",
        "clusterCIDR": "10.0.0.0/8",
        "metricsBindAddress": "0.0.0.0:10249",
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "24h", "udpTimeout": "90s"},
        "ipvs": {"strictARP": true, "excludeCIDRs": ["10.1.0.0/16"], "scheduler": "rr"},
        "iptables": {"masqueradeBit": 14, "localhostNodePorts": false, "minSyncPeriod": "1500ms"},
        "nodePortAddresses": ["primary"],
        "clientConnection": {"qps": 12.5, "burst": 10},
        "featureGates": {"C": true},
        "detectLocalMode": "BridgeInterface",
        "detectLocal": {"bridgeInterface": "cni0"},
        "oomScoreAdj": -998,
        "logging": {"verbosity": 2},
    });
    settings(random, &fields)
}

/// Patch files of every kind and target.
pub fn patches(random: &mut Random) -> BTreeMap<String, String> {
    let files: [(&str, &str); 12] = [
        (
            "kube-apiserver.yaml",
            "spec:\n  containers:\n  - name: kube-apiserver\n    resources:\n      requests: {cpu: 1000m, memory: 1024Mi}\n    env:\n    - {name: NEW, value: x}\n",
        ),
        (
            "kube-apiserver1+merge.yaml",
            "metadata:\n  labels: {extra: \"1\", tier: null}\n  annotations:\n    note: a patch\n",
        ),
        (
            "kube-apiserver2+json.json",
            "[{\"op\": \"add\", \"path\": \"/spec/containers/0/command/-\", \"value\": \"--v=4\"}]",
        ),
        (
            "kube-controller-manager+strategic.json",
            "{\"spec\": {\"dnsPolicy\": \"ClusterFirstWithHostNet\", \"tolerations\": [{\"operator\": \"Exists\"}]}}",
        ),
        (
            "kube-scheduler+json.yaml",
            "- {op: replace, path: /spec/containers/0/livenessProbe/periodSeconds, value: 0}\n- {op: remove, path: /spec/containers/0/startupProbe}\n",
        ),
        (
            "kube-schedulerb.yaml",
            "spec:\n  containers:\n  - name: kube-scheduler\n    volumeMounts:\n    - {mountPath: /new, name: new}\n  - name: sidecar\n    image: busybox\n  volumes:\n  - name: new\n    emptyDir: {sizeLimit: 2048Ki}\n  - name: kubeconfig\n    $patch: delete\n",
        ),
        (
            "etcd.yaml",
            "---\nspec:\n  priority: 1\n---\nspec:\n  securityContext:\n    runAsUser: 1000\n    seccompProfile: null\n",
        ),
        ("etcd+merge.yaml", "spec:\n  containers: []\n  hostNetwork: false\n"),
        (
            "kubeletconfiguration.yaml",
            "maxPods: 42\nclusterDNS: [10.0.0.53]\nauthentication:\n  webhook: {cacheTTL: 1m}\n",
        ),
        ("kubeletconfiguration1+json.yaml", "- {op: add, path: /podsPerCore, value: 0}\n"),
        (
            "corednsdeployment.yaml",
            "spec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n      - name: coredns\n        resources: {limits: {memory: 1024Mi}}\n",
        ),
        ("readme.txt", "no patch"),
    ];
    if random.one_in(2) {
        return BTreeMap::new();
    }
    let files = random.some(&files);
    // With no container left there is nothing for the patches after it.
    let empties = files.iter().any(|(name, _)| *name == "etcd+merge.yaml");
    let files = files.into_iter().filter(|(name, _)| !(empties && *name == "etcd.yaml"));
    files.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// Proxy settings of the environment.
pub fn proxies(random: &mut Random) -> BTreeMap<String, String> {
    random
        .some(&[
            ("http_proxy", "http://proxy.example.test:3128"),
            ("NO_PROXY", "localhost,.example.test"),
            ("https_proxy", ""),
        ])
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
