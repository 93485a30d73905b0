use super::Phase;

const fn leaf(name: &'static str, description: &'static str) -> Phase {
    Phase { name, aliases: &[], description, hidden: false, parts: &[] }
}

const fn branch(name: &'static str, description: &'static str, parts: &'static [Phase]) -> Phase {
    Phase { name, aliases: &[], description, hidden: false, parts }
}

const fn hidden(name: &'static str, description: &'static str) -> Phase {
    Phase { hidden: true, ..leaf(name, description) }
}

pub(super) const INIT: &[Phase] = &[
    leaf("preflight", "Check what would stop it"),
    branch("certs", "Make keys and certificates", CERTIFICATES),
    branch("kubeconfig", "Make kubeconfigs", KUBECONFIGS),
    branch(
        "etcd",
        "Make the static pod of etcd",
        &[leaf("local", "Make the static pod of the first member")],
    ),
    branch(
        "control-plane",
        "Make the static pods of the control plane",
        &[
            leaf("apiserver", "Make the static pod of the API server"),
            leaf("controller-manager", "Make the static pod of the controller manager"),
            leaf("scheduler", "Make the static pod of the scheduler"),
            leaf("kube-vip", "Make the static pod that holds the virtual address"),
        ],
    ),
    leaf("kubelet-start", "Write the kubelet's settings and start it"),
    leaf("wait-control-plane", "Wait until the control plane is healthy"),
    Phase {
        aliases: &["uploadconfig"],
        ..branch(
            "upload-config",
            "Put the configuration into the cluster",
            &[
                leaf("kubeadm", "Put the cluster's settings into a ConfigMap"),
                leaf("kubelet", "Put the kubelets' configuration into a ConfigMap"),
            ],
        )
    },
    leaf("upload-certs", "Put shared certificates into the cluster, encrypted"),
    leaf("mark-control-plane", "Label and taint the node as a control plane"),
    Phase {
        aliases: &["bootstraptoken"],
        ..leaf("bootstrap-token", "Make bootstrap tokens, and what nodes join by")
    },
    branch(
        "kubelet-finalize",
        "Let the kubelet renew its own certificate",
        &[leaf(
            "enable-client-cert-rotation",
            "Point the kubelet's kubeconfig to the certificate that it renews",
        )],
    ),
    branch(
        "addon",
        "Install what every cluster runs",
        &[
            leaf("coredns", "Install CoreDNS"),
            leaf("kube-proxy", "Install kube-proxy"),
            leaf("flannel", "Install flannel as the network of pods"),
            leaf("kube-vip", "Install kube-vip where it is not a static pod"),
        ],
    ),
    leaf("show-join-command", "Show how nodes join"),
];

const CERTIFICATES: &[Phase] = &[
    leaf("ca", "Make the cluster's CA"),
    leaf("apiserver", "Make the certificate for serving the API"),
    leaf("apiserver-kubelet-client", "Make the certificate with which the API server asks kubelets"),
    leaf("front-proxy-ca", "Make the CA of the front proxy"),
    leaf("front-proxy-client", "Make the front proxy's client certificate"),
    leaf("etcd-ca", "Make etcd's CA"),
    leaf("etcd-server", "Make the certificate for serving etcd"),
    leaf("etcd-peer", "Make the certificate for etcd's members among each other"),
    leaf("etcd-healthcheck-client", "Make the certificate with which etcd's health is asked"),
    leaf("apiserver-etcd-client", "Make the certificate with which the API server asks etcd"),
    leaf("sa", "Make the key that signs tokens of service accounts"),
];

const KUBECONFIGS: &[Phase] = &[
    leaf("admin", "Make the administrator's kubeconfig"),
    leaf("super-admin", "Make the kubeconfig that needs no role"),
    leaf("kubelet", "Make the kubelet's kubeconfig"),
    leaf("controller-manager", "Make the controller manager's kubeconfig"),
    leaf("scheduler", "Make the scheduler's kubeconfig"),
];

pub(super) const JOIN: &[Phase] = &[
    leaf("preflight", "Check what would stop it"),
    branch(
        "control-plane-prepare",
        "Prepare a control plane",
        &[
            leaf("download-certs", "Take shared certificates from the cluster"),
            leaf("certs", "Make the node's keys and certificates"),
            leaf("kubeconfig", "Make kubeconfigs"),
            leaf("control-plane", "Make the static pods of the control plane"),
        ],
    ),
    hidden("check-etcd", "Check that etcd is healthy"),
    leaf("kubelet-start", "Write the kubelet's settings and start it"),
    leaf("etcd-join", "Join the cluster of etcd"),
    hidden("kubelet-wait-bootstrap", "Wait until the kubelet has its certificate"),
    branch(
        "control-plane-join",
        "Join as a control plane",
        &[
            hidden("etcd", "Join the cluster of etcd, where the kubelet does not talk to its own API server"),
            leaf("mark-control-plane", "Label and taint the node as a control plane"),
        ],
    ),
    leaf("wait-control-plane", "Wait until the control plane is healthy"),
];

pub(super) const RESET: &[Phase] = &[
    Phase { aliases: &["pre-flight"], ..leaf("preflight", "Check what would stop it") },
    leaf("remove-etcd-member", "Take the node's member out of etcd"),
    leaf("cleanup-node", "Stop the kubelet, unmount, and remove what was made"),
];
