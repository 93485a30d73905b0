use std::sync::Arc;

use slipway_bootstrap::{
    configuration::{
        Argument, Component, Configuration, Detected, EncryptionAlgorithm, Etcd, ExternalEtcd, HostPathMount,
        PullPolicy, Reset, Taint, UnmountFlag, Upgrade,
    },
    kubeadm::{self, Reading},
};
use slipway_resource::{Secret, SecretText};
use slipway_spec::{diagnostic::has_errors, source::SourceFile};

use crate::support::{display, run, text, try_run};

fn read(name: &str, text: &str) -> Reading {
    let reading = kubeadm::read(&[Arc::new(SourceFile::new(name, text))], &Detected::default());
    assert!(!has_errors(&reading.diagnostics), "{:#?}", reading.diagnostics);
    reading
}

fn file(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("k.yaml");
    std::fs::write(&path, text).unwrap();
    let path = display(&path).to_owned();
    (folder, path)
}

fn migrated(text: &str) -> String {
    let (_folder, path) = file(text);
    let said = run(&["config", "migrate", "--old-config", &path]);
    // Warnings about old documents come before, on the other stream.
    said.lines().filter(|line| !line.starts_with('W')).map(|line| format!("{line}\n")).collect()
}

fn secret(text: &str) -> Option<Secret> {
    Some(Secret { text: Some(SecretText::new(text)), ..Secret::new("test") })
}

/// A configuration in which nothing is default.
fn full() -> Configuration {
    let mut configuration = Configuration::new(&Detected::default());
    let component = |name: &str| Component {
        extra_args: vec![Argument::new("v", "5"), Argument::new("a", ""), Argument::new("v", "6: \"x\"")],
        extra_volumes: vec![
            HostPathMount {
                name: name.to_owned(),
                host_path: "/a".to_owned(),
                mount_path: "/b".to_owned(),
                read_only: true,
                path_type: "DirectoryOrCreate".to_owned(),
            },
            HostPathMount {
                name: "other".to_owned(),
                host_path: "/c".to_owned(),
                mount_path: "/d".to_owned(),
                read_only: false,
                path_type: String::new(),
            },
        ],
        extra_envs: vec![
            serde_json::json!({ "name": "A", "value": "yes" }),
            serde_json::json!({ "name": "B", "valueFrom": { "fieldRef": { "apiVersion": "v1", "fieldPath": "status.hostIP" } } }),
        ],
    };
    let cluster = &mut configuration.cluster;
    cluster.name = "production".to_owned();
    cluster.control_plane_endpoint = Some("api.example.test:7443".parse().unwrap());
    cluster.networking.service_subnet = "10.97.0.0/16,fd00:10::/112".to_owned();
    cluster.networking.pod_subnet = "10.244.0.0/16,fd00:20::/56".to_owned();
    cluster.networking.dns_domain = "k8s.example".to_owned();
    cluster.image_repository = "registry.example.test:5000/k8s".to_owned();
    cluster.encryption_algorithm = EncryptionAlgorithm::EcdsaP384;
    cluster.certificate_validity_period = "100h".parse().unwrap();
    cluster.ca_certificate_validity_period = "1000h30m".parse().unwrap();
    cluster.api_server.component = component("api");
    cluster.api_server.cert_sans = vec!["*.example.test".to_owned(), "10.0.0.7".to_owned()];
    cluster.controller_manager = component("manager");
    cluster.scheduler = component("scheduler");
    let Etcd::Local(etcd) = &mut cluster.etcd else { unreachable!() };
    etcd.image.repository = Some("registry.example.test/etcd".to_owned());
    etcd.image.tag = Some("3.6.9-0".to_owned());
    etcd.data_dir = "/data/etcd".to_owned();
    etcd.extra_args = component("x").extra_args;
    etcd.extra_envs = component("x").extra_envs;
    etcd.server_cert_sans = vec!["etcd.example.test".to_owned()];
    etcd.peer_cert_sans = vec!["10.0.0.8".to_owned()];
    cluster.dns.image.repository = Some("registry.example.test/dns".to_owned());
    cluster.dns.image.tag = Some("v1.2.3".to_owned());
    cluster.proxy.disabled = true;
    cluster.feature_gates.insert("ControlPlaneKubeletLocalMode".to_owned(), false);
    let node = &mut configuration.node;
    node.name = "cp-0.example.test".to_owned();
    node.cri_socket = Some("unix:///var/run/crio/crio.sock".to_owned());
    node.taints = Some(vec![
        Taint::control_plane(),
        Taint { key: "k".to_owned(), value: "v".to_owned(), effect: "NoExecute".to_owned() },
    ]);
    node.kubelet_extra_args = vec![Argument::new("v", "9")];
    node.ignore_preflight_errors = vec!["NumCPU".to_owned(), "Swap".to_owned()];
    node.image_pull_policy = PullPolicy::Always;
    node.image_pull_serial = false;
    node.advertise_address = "10.0.0.11".parse().unwrap();
    node.bind_port = 7443;
    node.bootstrap_tokens[0].token = secret("abcdef.0123456789abcdef");
    node.bootstrap_tokens[0].description = "first: token".to_owned();
    node.bootstrap_tokens[0].ttl = "90m".parse().unwrap();
    node.certificate_key = secret(&"0f".repeat(32));
    node.skip_phases = vec!["addon/kube-proxy".to_owned()];
    node.patches_directory = Some("/patches".to_owned());
    node.timeouts.etcd_api_call = "1m30.5s".parse().unwrap();
    configuration
}

/// kubeadm reads what we write and writes the same bytes.
#[test]
fn kubeadm_reads_our_documents_and_writes_the_same() {
    let plain = |configuration: &Configuration| {
        let mut configuration = configuration.clone();
        configuration.node.bootstrap_tokens[0].token = secret("abcdef.0123456789abcdef");
        configuration.node.taints = Some(vec![Taint::control_plane()]);
        configuration
    };
    let default = plain(&Configuration::new(&Detected::default()));
    let mut external = default.clone();
    external.cluster.etcd = Etcd::External(ExternalEtcd {
        endpoints: vec!["https://10.0.0.9:2379".to_owned()],
        ca_file: "/e/ca.crt".to_owned(),
        cert_file: "/e/c.crt".to_owned(),
        key_file: "/e/c.key".to_owned(),
    });
    external.node.taints = Some(Vec::new());
    external.cluster.dns.disabled = true;
    for mut configuration in [default, external, full()] {
        // kubeadm's own migration takes this time from where v1beta3 has it, and forgets ours.
        configuration.node.timeouts.control_plane_component_health_check = "0s".parse().unwrap();
        let ours = kubeadm::write(&configuration);
        let (_folder, path) = file(ours.expose());
        run(&["config", "validate", "--config", &path]);
        assert_eq!(migrated(ours.expose()), ours.expose());
        let again = read("ours.yaml", ours.expose()).init.unwrap();
        assert_eq!(kubeadm::write(&again).expose(), ours.expose());
    }
}

/// The stored cluster configuration equals the one in kubeadm's dry run.
#[test]
fn what_a_cluster_keeps_is_kubeadms() {
    for configuration in [Configuration::new(&Detected::default()), full()] {
        let mut configuration = configuration;
        configuration.node.skip_phases.clear();
        configuration.node.ignore_preflight_errors.clear();
        configuration.node.patches_directory = None;
        configuration.node.cri_socket = Some("unix:///run/x.sock".to_owned());
        let folder = tempfile::tempdir().unwrap();
        configuration.cluster.certificates_dir = display(&folder.path().join("pki")).to_owned();
        let (_folder, path) = file(kubeadm::write(&configuration).expose());
        let output = std::process::Command::new(crate::support::kubeadm())
            .args(["init", "--dry-run", "--ignore-preflight-errors=all", "--config", &path])
            .env("KUBEADM_INIT_DRYRUN_DIR", folder.path())
            .output()
            .unwrap();
        let said = text(&output);
        assert!(output.status.success(), "{said}");
        let objects = said.split("Attached object:\n").skip(1).filter_map(|part| part.split("\n\n").next());
        let kept = objects
            .filter_map(|object| serde_yaml::from_str::<serde_json::Value>(object).ok())
            .find(|object| object["metadata"]["name"] == "kubeadm-config" && object["kind"] == "ConfigMap")
            .unwrap();
        let kept = kept["data"]["ClusterConfiguration"].as_str().unwrap();
        assert_eq!(kubeadm::cluster_configuration(&configuration.cluster), kept);
        let read = kubeadm::read_cluster("kubeadm-config", kept, 6443).unwrap();
        assert_eq!(read, configuration.cluster);
    }
}

#[test]
fn kubeadms_own_documents_are_read() {
    let components = "--component-configs=KubeletConfiguration,KubeProxyConfiguration";
    let said = run(&["config", "print", "init-defaults", components]);
    let init = read("init-defaults", &said).init.unwrap();
    let mut expected = Configuration::new(&Detected::default());
    expected.cluster.kubernetes_version = "1.34.0".parse().unwrap();
    assert_eq!(init.cluster, expected.cluster);
    assert_eq!(init.node.timeouts, expected.node.timeouts);
    assert!(init.kubelet.is_some() && init.kube_proxy.is_some());

    let join = read("join-defaults", &run(&["config", "print", "join-defaults"])).join.unwrap();
    assert!(!join.join.unwrap().control_plane);
    let reset = read("reset-defaults", &run(&["config", "print", "reset-defaults"])).reset.unwrap();
    assert_eq!(reset, Reset::default());
    let upgrade = read("upgrade-defaults", &run(&["config", "print", "upgrade-defaults"])).upgrade.unwrap();
    assert_eq!(upgrade, Upgrade::default());
}

#[test]
fn kubeadm_reads_how_we_write_joins_and_resets() {
    let pin = format!("sha256:{}", "0".repeat(64));
    let text = format!(
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\ncontrolPlane: {{localAPIEndpoint: {{advertiseAddress: 10.0.0.12}}, certificateKey: {}}}\n\
         nodeRegistration: {{name: cp-1, criSocket: \"unix:///run/x.sock\"}}\n\
         discovery: {{bootstrapToken: {{token: abcdef.0123456789abcdef, apiServerEndpoint: \"api.test:6443\", caCertHashes: [\"{pin}\"]}}}}\n",
        "0f".repeat(32)
    );
    let mut join = read("join.yaml", &text).join.unwrap();
    // Its migration forgets this time, as that of the control plane.
    join.node.timeouts.discovery = "0s".parse().unwrap();
    let ours = kubeadm::write(&join);
    let theirs = migrated(&text).replace("discovery: 5m0s", "discovery: 0s");
    assert_eq!(ours.expose(), theirs);

    let reset = Reset {
        cleanup_tmp_dir: true,
        force: true,
        dry_run: true,
        ignore_preflight_errors: vec!["all".to_owned()],
        skip_phases: vec!["preflight".to_owned()],
        unmount_flags: vec![UnmountFlag::Detach, UnmountFlag::Expire],
        ..Reset::default()
    };
    let ours = kubeadm::write_reset(&reset);
    assert_eq!(migrated(&ours), ours);
    let (_folder, path) = file(&kubeadm::write_upgrade(&Upgrade::default()));
    run(&["config", "validate", "--config", &path]);
}

/// Old documents are read as in kubeadm: its conversion of them has the same meaning here.
#[test]
fn old_documents_mean_what_kubeadm_makes_of_them() {
    let old = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: InitConfiguration\nbootstrapTokens: [{token: abcdef.0123456789abcdef}]\n\
               nodeRegistration: {name: cp-0, criSocket: \"unix:///run/x.sock\", kubeletExtraArgs: {v: \"4\", a: b}}\n\
               localAPIEndpoint: {advertiseAddress: 10.0.0.11}\n---\n\
               apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nkubernetesVersion: v1.34.4\n\
               apiServer: {timeoutForControlPlane: 7m, extraArgs: {z: \"1\", a: \"2\"}, certSANs: [A.test]}\n\
               etcd: {local: {extraArgs: {q: x}}}\ncontrolPlaneEndpoint: api.test\n";
    let ours = read("old.yaml", old).init.unwrap();
    let theirs = read("new.yaml", &migrated(old)).init.unwrap();
    assert_eq!(ours.cluster, theirs.cluster);
    assert_eq!(ours.node.kubelet_extra_args, theirs.node.kubelet_extra_args);
    assert_eq!(ours.node.timeouts, theirs.node.timeouts);
}

/// Documents that kubeadm refuses are refused.
#[test]
fn kubeadm_refuses_what_we_refuse() {
    let cluster =
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.34.4\n";
    let init = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n";
    let join = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n";
    let file_discovery = "discovery: {file: {kubeConfigPath: \"https://a/b\"}}\n";
    for text in [
        format!("{cluster}unknown: 1\n"),
        format!("{cluster}certificatesDir: pki\n"),
        format!("{cluster}apiServer: {{certSANs: [a_b]}}\n"),
        format!("{cluster}networking: {{serviceSubnet: 10.0.0.0/8}}\n"),
        format!("{cluster}networking: {{serviceSubnet: 10.0.0.0/30}}\n"),
        format!("{cluster}networking: {{serviceSubnet: \"10.0.0.0/16,10.1.0.0/16\"}}\n"),
        format!("{cluster}networking: {{podSubnet: 10.0.0.0/26}}\n"),
        format!("{cluster}networking: {{podSubnet: \"fd00::/40\"}}\n"),
        format!(
            "{cluster}networking: {{podSubnet: 10.0.0.0/29}}\ncontrollerManager: {{extraArgs: [{{name: node-cidr-mask-size-ipv4, value: \"30\"}}]}}\n"
        ),
        format!("{cluster}networking: {{dnsDomain: A.B}}\n"),
        format!("{cluster}featureGates: {{Other: true}}\n"),
        format!("{cluster}imageRepository: https://x\n"),
        format!("{cluster}imageRepository: a/B\n"),
        format!("{cluster}dns: {{imageRepository: a/b:c}}\n"),
        format!("{cluster}encryptionAlgorithm: RSA-1024\n"),
        format!("{cluster}certificateValidityPeriod: 1y\n"),
        format!("{cluster}controlPlaneEndpoint: https://a\n"),
        format!("{cluster}controlPlaneEndpoint: \"a:99999\"\n"),
        format!("{cluster}etcd: {{local: {{}}, external: {{endpoints: [\"http://a\"]}}}}\n"),
        format!("{cluster}etcd: {{local: {{dataDir: x}}}}\n"),
        format!("{cluster}etcd: {{external: {{endpoints: [\"http://a\"], caFile: /c}}}}\n"),
        format!("{cluster}etcd: {{external: {{endpoints: [\"https://a\"], caFile: /c, keyFile: /k}}}}\n"),
        format!("{cluster}etcd: {{external: {{endpoints: [\"a\"]}}}}\n"),
        format!("{cluster}scheduler: {{extraArgs: [{{value: x}}]}}\n"),
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.30.0\n"
            .to_owned(),
        format!("{init}nodeRegistration: {{name: a_b}}\n"),
        format!("{init}nodeRegistration: {{imagePullPolicy: Sometimes}}\n"),
        format!("{init}certificateKey: abc\n"),
        format!("{init}bootstrapTokens: [{{token: short}}]\n"),
        format!("{init}bootstrapTokens: [{{groups: [\"system:masters\"]}}]\n"),
        format!("{init}bootstrapTokens: [{{usages: [signing]}}]\n"),
        format!("{init}bootstrapTokens: [{{usages: [other, authentication]}}]\n"),
        format!("{init}bootstrapTokens: [{{expires: \"2030-01-01T00:00:00Z\"}}]\n"),
        format!("{init}localAPIEndpoint: {{advertiseAddress: x}}\n"),
        join.to_owned(),
        format!("{join}{file_discovery}caCertPath: ca.crt\n"),
        format!("{join}{file_discovery}controlPlane: {{certificateKey: x}}\n"),
        format!("{join}discovery: {{file: {{kubeConfigPath: \"http://a/b\"}}}}\n"),
        format!(
            "{join}discovery: {{bootstrapToken: {{token: abcdef.0123456789abcdef, apiServerEndpoint: \"a:1\"}}}}\n"
        ),
        format!(
            "{join}discovery: {{bootstrapToken: {{token: abcdef.0123456789abcdef, apiServerEndpoint: a, unsafeSkipCAVerification: true}}}}\n"
        ),
        format!(
            "{join}discovery: {{bootstrapToken: {{token: x, apiServerEndpoint: \"a:1\", unsafeSkipCAVerification: true}}}}\n"
        ),
        "apiVersion: kubeadm.k8s.io/v1beta2\nkind: InitConfiguration\n".to_owned(),
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfig\n".to_owned(),
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ResetConfiguration\nunmountFlags: [X]\n".to_owned(),
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ResetConfiguration\ncertificatesDir: x\n".to_owned(),
    ] {
        let (_folder, path) = file(&text);
        let output = try_run(&["config", "validate", "--config", &path]);
        assert!(!output.status.success(), "kubeadm takes\n{text}");
        let reading =
            kubeadm::read(&[Arc::new(SourceFile::new("k.yaml", text.as_str()))], &Detected::default());
        assert!(has_errors(&reading.diagnostics), "we take\n{text}");
        assert!(reading.diagnostics.iter().all(|found| found.hint.is_some()), "{:#?}", reading.diagnostics);
    }
}
