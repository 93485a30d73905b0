use std::sync::Arc;

use slipway_spec::{diagnostic::Severity, source::SourceFile};

use super::{Reading, read, read_cluster, write};
use crate::configuration::{Argument, Detected, Discovery, Etcd, GoDuration, UnmountFlag};

fn reading(text: &str) -> Reading {
    read(&[Arc::new(SourceFile::new("k.yaml", text))], &Detected::default())
}

fn valid(text: &str) -> Reading {
    let reading = reading(text);
    assert!(reading.is_valid(), "{:#?}", reading.diagnostics);
    reading
}

const CLUSTER: &str = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n";
const INIT: &str = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n";
const JOIN: &str = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n";

const KUBELET: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
const PROXY: &str = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";

/// The place and message of the only error, and its way out.
fn only_error(text: &str) -> (String, String) {
    let reading = reading(text);
    let errors: Vec<_> =
        reading.diagnostics.iter().filter(|found| found.severity == Severity::Error).collect();
    assert_eq!(errors.len(), 1, "{:#?}", reading.diagnostics);
    let hint = errors[0].hint.clone().unwrap();
    let place = errors[0].location.as_ref().unwrap();
    assert!(!hint.is_empty());
    (format!("{place} {}", errors[0].message), hint)
}

#[test]
fn nothing_but_the_kind_is_all_default() {
    let configuration = valid(CLUSTER).init.unwrap();
    assert_eq!(configuration, crate::configuration::Configuration::new(&Detected::default()));
    assert!(valid("").init.is_none());
}

#[test]
fn every_field_is_read() {
    let text = format!(
        "{INIT}nodeRegistration:\n  name: CP-0\n  criSocket: unix:///run/crio.sock\n  taints: []\n  \
         kubeletExtraArgs: [{{name: v, value: \"5\"}}, {{name: v, value: \"6\"}}]\n  imagePullPolicy: Never\n  imagePullSerial: false\n  \
         ignorePreflightErrors: [all]\nlocalAPIEndpoint: {{advertiseAddress: 10.0.0.11, bindPort: 7443}}\n\
         bootstrapTokens: [{{token: abcdef.0123456789abcdef, ttl: 1h, usages: [authentication], description: d}}]\n\
         certificateKey: {key}\nskipPhases: [addon/kube-proxy]\npatches: {{directory: patches}}\n\
         timeouts: {{etcdAPICall: 90s}}\ndryRun: true\n---\n{CLUSTER}\
         kubernetesVersion: v1.34.2\ncontrolPlaneEndpoint: api.example.test\nclusterName: c\n\
         apiServer:\n  certSANs: [LB.Example.Test]\n  extraArgs: [{{name: v, value: \"2\"}}]\n  \
         extraEnvs: [{{name: A, valueFrom: {{fieldRef: {{fieldPath: status.hostIP}}}}}}]\n  \
         extraVolumes: [{{name: a, hostPath: /a, mountPath: /b, readOnly: true, pathType: File}}]\n\
         etcd: {{external: {{endpoints: [\"https://10.0.0.9:2379\"], caFile: /ca, certFile: /c, keyFile: /k}}}}\n\
         dns: {{imageTag: v1, disabled: true}}\nproxy: {{disabled: true}}\nfeatureGates: {{NodeLocalCRISocket: false}}\n\
         encryptionAlgorithm: ECDSA-P384\ncertificateValidityPeriod: 24h\n---\n\
         apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 50\n",
        key = "ab".repeat(32),
    );
    let configuration = valid(&text).init.unwrap();
    let (node, cluster) = (&configuration.node, &configuration.cluster);
    assert_eq!((node.name.as_str(), node.taints.as_deref()), ("cp-0", Some(&[][..])));
    assert_eq!(node.kubelet_extra_args, [Argument::new("v", "5"), Argument::new("v", "6")]);
    assert_eq!((node.bind_port, node.dry_run, node.image_pull_serial), (7443, true, false));
    assert_eq!(node.timeouts.etcd_api_call, GoDuration::from_secs(90));
    assert_eq!(node.bootstrap_tokens[0].ttl, GoDuration::from_hours(1));
    assert_eq!(node.patches_directory.as_deref(), Some("patches"));
    assert_eq!(cluster.control_plane_endpoint.as_ref().unwrap().as_str(), "api.example.test:7443");
    assert_eq!(cluster.api_server.cert_sans, ["lb.example.test"]);
    assert_eq!(cluster.api_server.component.extra_envs[0]["valueFrom"]["fieldRef"]["apiVersion"], "v1");
    assert!(matches!(&cluster.etcd, Etcd::External(etcd) if etcd.key_file == "/k"));
    assert!(cluster.dns.disabled && cluster.proxy.disabled && !cluster.feature_gate("NodeLocalCRISocket"));
    assert_eq!(configuration.kubelet.as_ref().unwrap()["maxPods"], 50);
    assert!(configuration.kube_proxy.is_none());
    // No secret is in what is serialised.
    let json = serde_json::to_string(&configuration).unwrap();
    assert!(!json.contains("0123456789abcdef") && !json.contains("abab"), "{json}");
    let again: crate::configuration::Configuration = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&again).unwrap(), json);
    // Reading a written configuration returns an equal one.
    assert_eq!(valid(write(&configuration).expose()).init.unwrap().cluster, *cluster);
}

#[test]
fn a_join_is_read() {
    let pin = format!("sha256:{}", "0".repeat(64));
    let text = format!(
        "{JOIN}discovery: {{bootstrapToken: {{token: abcdef.0123456789abcdef, apiServerEndpoint: \"API.test:6443\", caCertHashes: [\"{pin}\"]}}}}\n\
         controlPlane: {{localAPIEndpoint: {{advertiseAddress: \"fd00::1\"}}, certificateKey: {}}}\n",
        "0".repeat(64)
    );
    let configuration = valid(&text).join.unwrap();
    let join = configuration.join.as_ref().unwrap();
    let Discovery::Token(token) = &join.discovery else { panic!("{join:?}") };
    assert_eq!(token.api_server_endpoint.as_str(), "api.test:6443");
    assert_eq!(join.tls_bootstrap_token.as_ref().unwrap().text, token.token.text);
    assert!(join.control_plane && configuration.node.certificate_key.is_some());
    assert_eq!(
        valid(write(&configuration).expose()).join.unwrap().node.advertise_address,
        configuration.node.advertise_address
    );

    let file = format!("{JOIN}discovery: {{file: {{kubeConfigPath: file:///d.conf}}}}\n");
    let join = valid(&file).join.unwrap().join.unwrap();
    assert!(matches!(&join.discovery, Discovery::File(file) if file.kubeconfig_path == "/d.conf"));
    assert!(join.tls_bootstrap_token.is_none() && !join.control_plane);
}

#[test]
fn reset_and_upgrade_are_read_and_written() {
    let text = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ResetConfiguration\nforce: true\nunmountFlags: [MNT_FORCE, UMOUNT_NOFOLLOW]\n\
                criSocket: /run/x.sock\n---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: UpgradeConfiguration\n\
                apply: {etcdUpgrade: false, kubernetesVersion: v1.34.4, allowRCUpgrades: true}\nnode: {patches: {directory: /p}}\ndiff: {contextLines: 5}\n";
    let reading = valid(text);
    let (reset, upgrade) = (reading.reset.unwrap(), reading.upgrade.unwrap());
    assert_eq!(reset.unmount_flags, [UnmountFlag::Force, UnmountFlag::NoFollow]);
    assert_eq!(reset.cri_socket.as_deref(), Some("unix:///run/x.sock"));
    assert!(!upgrade.apply.etcd_upgrade && upgrade.node.etcd_upgrade);
    let again = format!("{}---\n{}", super::write_reset(&reset), super::write_upgrade(&upgrade));
    let again = valid(&again);
    assert_eq!((again.reset.unwrap(), again.upgrade.unwrap()), (reset, upgrade));
}

#[test]
fn v1beta3_is_read() {
    let text = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\n\
                apiServer: {timeoutForControlPlane: 7m, extraArgs: {z: \"1\", a: \"2\"}}\netcd: {local: {extraArgs: {q: x}}}\n---\n\
                apiVersion: kubeadm.k8s.io/v1beta3\nkind: InitConfiguration\nnodeRegistration: {kubeletExtraArgs: {v: \"4\"}}\n---\n\
                apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\n\
                discovery: {timeout: 3m, bootstrapToken: {token: abcdef.0123456789abcdef, apiServerEndpoint: \"a:1\", unsafeSkipCAVerification: true}}\n";
    let reading = valid(text);
    assert!(reading.diagnostics.iter().all(|found| found.severity == Severity::Warning));
    let init = reading.init.unwrap();
    assert_eq!(
        init.cluster.api_server.component.extra_args,
        [Argument::new("a", "2"), Argument::new("z", "1")]
    );
    assert_eq!(init.node.timeouts.control_plane_component_health_check, GoDuration::from_mins(7));
    assert_eq!(init.node.kubelet_extra_args, [Argument::new("v", "4")]);
    assert_eq!(reading.join.unwrap().node.timeouts.discovery, GoDuration::from_mins(3));

    let (error, _) = only_error(
        "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nencryptionAlgorithm: RSA-2048\n",
    );
    assert!(error.contains("k.yaml:3:1 unknown field `encryptionAlgorithm`"), "{error}");
    let (error, _) = only_error(&format!("{CLUSTER}apiServer: {{timeoutForControlPlane: 7m}}\n"));
    assert!(error.contains("unknown field `timeoutForControlPlane`"), "{error}");
}

#[test]
fn mistakes_are_found_at_their_places() {
    let long = "x".repeat(300);
    for (text, expected, way_out) in [
        (format!("{CLUSTER}networkin: {{}}\n"), "k.yaml:3:1 unknown field `networkin`", "networking"),
        (format!("{CLUSTER}proxy: {{disabled: \"no\"}}\n"), "k.yaml:3:19 `disabled` is true or false", "false"),
        (format!("{CLUSTER}certificatesDir: pki\n"), "k.yaml:3:18 `pki` is not an absolute path", "/"),
        (format!("{CLUSTER}apiServer:\n  certSANs:\n  - a.test\n  - a_b\n"), "k.yaml:6:5 `a_b` is neither", "small letters"),
        (format!("{CLUSTER}kubernetesVersion: stable-1\n"), "k.yaml:3:20 `stable-1` would have", "v1.34"),
        (format!("{CLUSTER}kubernetesVersion: v1.30.1\n"), "too old", "1.33"),
        (format!("{CLUSTER}controlPlaneEndpoint: https://a\n"), "k.yaml:3:23", "api.example.test:6443"),
        (format!("{CLUSTER}networking: {{serviceSubnet: 10.0.0.0/8}}\n"), "too large", "/12"),
        (format!("{CLUSTER}networking: {{serviceSubnet: 10.0.0.0/30}}\n"), "4 addresses", "shorter"),
        (format!("{CLUSTER}networking: {{serviceSubnet: \"10.0.0.0/16, fd00::/112\"}}\n"), "not a range", "comma"),
        (format!("{CLUSTER}networking: {{podSubnet: \"10.0.0.0/16,10.1.0.0/16\"}}\n"), "several ranges", "one"),
        (format!("{CLUSTER}networking: {{podSubnet: 10.0.0.0/26}}\n"), "no node's range", "/24"),
        (format!("{CLUSTER}networking: {{podSubnet: \"fd00::/40\"}}\n"), "too many ranges", "longer"),
        (format!("{CLUSTER}networking: {{dnsDomain: A.B}}\n"), "not a DNS domain", "cluster.local"),
        (format!("{CLUSTER}featureGates: {{NodeLocalCRISockets: true}}\n"), "no feature gate", "NodeLocalCRISocket`"),
        (format!("{CLUSTER}imageRepository: https://x\n"), "k.yaml:3:18", "without scheme"),
        (format!("{CLUSTER}encryptionAlgorithm: RSA-1024\n"), "`encryptionAlgorithm` cannot be", "RSA-2048"),
        (format!("{CLUSTER}certificateValidityPeriod: 1y\n"), "not a duration", "1h30m"),
        (format!("{CLUSTER}etcd: {{local: {{}}, external: {{endpoints: [\"http://a\"]}}}}\n"), "both", "one"),
        (format!("{CLUSTER}etcd: {{external: {{endpoints: [\"http://a\"], caFile: /c}}}}\n"), "without TLS", "https"),
        (format!("{CLUSTER}etcd: {{external: {{endpoints: [\"https://a\"], caFile: /c, keyFile: /k}}}}\n"), "belong together", "both"),
        (format!("{CLUSTER}scheduler: {{extraArgs: [{{value: x}}]}}\n"), "k.yaml:3:25 a flag has no name", "name"),
        (format!("{INIT}nodeRegistration: {{name: {long}}}\n"), "cannot be a node's name", "small letters"),
        (format!("{INIT}nodeRegistration: {{criSocket: \"tcp://a\"}}\n"), "not a unix socket", "unix://"),
        (format!("{INIT}nodeRegistration: {{ignorePreflightErrors: [ALL, Swap]}}\n"), "`all` takes", "alone"),
        (format!("{INIT}localAPIEndpoint: {{advertiseAddress: 127.0.0.1}}\n"), "cannot reach", "address"),
        (format!("{INIT}localAPIEndpoint: {{bindPort: 70000}}\n"), "`bindPort` cannot be 70000", "65535"),
        (format!("{INIT}certificateKey: abc\n"), "k.yaml:3:17 this is not a certificate key", "64"),
        (format!("{INIT}bootstrapTokens: [{{token: short}}]\n"), "not a bootstrap token", "abcdef."),
        (format!("{INIT}bootstrapTokens: [{{groups: [\"system:masters\"]}}]\n"), "cannot have the group", "begin"),
        (format!("{INIT}bootstrapTokens: [{{usages: [signing]}}]\n"), "cannot have groups", "authentication"),
        (format!("{INIT}bootstrapTokens: [{{expires: \"2030-01-01T00:00:00Z\"}}]\n"), "`ttl`", "ttl"),
        (format!("{JOIN}discovery: {{}}\n"), "how the cluster is discovered", "bootstrapToken"),
        (format!("{JOIN}discovery: {{file: {{kubeConfigPath: \"http://a\"}}}}\n"), "cannot be fetched", "https"),
        (format!("{JOIN}caCertPath: ca.pem\ndiscovery: {{file: {{kubeConfigPath: /a}}}}\ncontrolPlane: {{certificateKey: x}}\n").replace("ca.pem", "/ca.crt"), "not a certificate key", "64"),
        ("apiVersion: kubeadm.k8s.io/v1beta2\nkind: InitConfiguration\n".to_owned(), "no longer read", "1.22"),
        ("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfig\n".to_owned(), "unknown kind", "ClusterConfiguration"),
        ("apiVersion: kubelet.config.k8s.io/v1alpha1\nkind: KubeletConfiguration\n".to_owned(), "is not read", "v1beta1"),
        ("kind: InitConfiguration\n".to_owned(), "no `apiVersion`", "v1beta4"),
        (format!("{INIT}---\n{KUBELET}maxPod: 5\n"), "k.yaml:6:1 unknown field `maxPod`", "maxPods"),
        (format!("{INIT}---\n{KUBELET}authentication: {{anonymous: {{enabled: \"no\"}}}}\n"), "`enabled` is true or false", "false"),
        (format!("{INIT}---\n{PROXY}iptables: {{masqueradAll: true}}\n"), "unknown field `masqueradAll`", "masqueradeAll"),
        (format!("{INIT}---\n{INIT}"), "k.yaml:5:7 there is a second", "one of them"),
    ] {
        let (error, hint) = only_error(&text);
        assert!(error.contains(expected), "{text}\n{error}");
        assert!(hint.contains(way_out), "{text}\n{hint}");
    }
}

#[test]
fn all_mistakes_are_found_at_once_and_no_secret_is_said() {
    let text = format!(
        "{INIT}certificateKey: hunter2\nbootstrapTokens: [{{token: hunter2}}]\nnodeRegistration: {{name: a_b}}\n---\n{CLUSTER}certificatesDir: x\n"
    );
    let reading = reading(&text);
    assert_eq!(reading.diagnostics.len(), 4);
    assert!(reading.diagnostics.iter().all(|found| !found.message.contains("hunter2")));
    assert!(reading.init.is_none());
}

#[test]
fn what_is_unusual_is_a_warning() {
    let warned = |text: &str| {
        let reading = valid(text);
        assert_eq!(reading.diagnostics.len(), 1, "{:?}", reading.diagnostics);
        reading.diagnostics[0].message.clone()
    };
    assert!(warned(&format!("{CLUSTER}certificateValidityPeriod: 9000h\n")).contains("longer than a year"));
    assert!(warned(&format!("{CLUSTER}caCertificateValidityPeriod: 24h\n")).contains("longer than their CA"));
    assert!(warned(&format!("{CLUSTER}networking: {{podSubnet: \"fec0::/60\"}}\n")).contains("RFC 3879"));
    assert!(warned(&format!("{INIT}nodeRegistration: {{criSocket: /run/a.sock}}\n")).contains("no scheme"));
    assert!(
        warned(&format!("{CLUSTER}scheduler: {{extraArgs: [{{name: --v, value: x}}]}}\n"))
            .contains("hyphens")
    );
    assert!(warned(&format!("{CLUSTER}---\napiVersion: v1\nkind: Pod\n")).contains("not read"));
}

#[test]
fn a_clusters_own_document_is_read() {
    let text = super::cluster_configuration(&valid(CLUSTER).init.unwrap().cluster);
    assert_eq!(read_cluster("kubeadm-config", &text, 6443).unwrap(), Default::default());
    assert!(read_cluster("kubeadm-config", "", 6443).is_err());
    assert!(read_cluster("kubeadm-config", INIT, 6443).is_err());
}
