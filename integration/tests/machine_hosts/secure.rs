//! A cluster is secure from its first start: anonymous access, secrets at rest, permissions.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use slipway_bootstrap::pki::Certificate;
use slipway_testkit::Said;

use crate::lab::{Lab, etcdctl};

/// The command lines of all processes while an operation runs, those on the machines included.
pub(crate) struct Watched {
    ends: Arc<AtomicBool>,
    seen: JoinHandle<BTreeSet<String>>,
}

impl Watched {
    /// Begins to watch.
    pub fn new() -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let end = Arc::clone(&ends);
        let seen = thread::spawn(move || {
            let mut seen = BTreeSet::new();
            while !end.load(Ordering::Relaxed) {
                seen.extend(command_lines());
                thread::sleep(Duration::from_millis(100));
            }
            seen
        });
        Self { ends, seen }
    }

    /// No command line had any of these.
    pub fn showed_none_of(self, secrets: &[String]) {
        self.ends.store(true, Ordering::Relaxed);
        let seen = self.seen.join().unwrap();
        assert!(seen.iter().any(|line| line.starts_with("kube-apiserver ")), "{} processes", seen.len());
        assert!(secrets.len() > 20, "{} secrets", secrets.len());
        for line in &seen {
            assert!(secrets.iter().all(|secret| !line.contains(secret.as_str())), "{line}");
        }
    }
}

fn command_lines() -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
}

/// All checks, on a cluster with one machine.
pub(crate) fn is_closed(lab: &Lab) {
    strangers_are_told_what_discovery_needs(lab);
    secrets_are_sealed_in_etcd(lab);
    keys_are_for_root_alone(lab);
    each_part_is_somebody_of_its_own(lab);
    administrators_come_for_a_while(lab);
}

/// The status of an anonymous request; `000` when no server listens, or when it requires a client
/// certificate.
pub(crate) fn stranger(lab: &Lab, url: &str) -> String {
    let output = lab.network().run([
        "curl",
        "--insecure",
        "--silent",
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_code}",
        "--max-time",
        "10",
        url,
    ]);
    Said::from(output.unwrap()).out
}

fn strangers_are_told_what_discovery_needs(lab: &Lab) {
    let address = lab.address("server");
    for path in ["/livez", "/readyz", "/healthz", "/api/v1/namespaces/kube-public/configmaps/cluster-info"] {
        assert_eq!(stranger(lab, &format!("https://{address}:6443{path}")), "200", "{path}");
    }
    for path in [
        "/",
        "/api",
        "/apis",
        "/version",
        "/metrics",
        "/openapi/v3",
        "/livez/ping",
        "/api/v1/nodes",
        "/api/v1/namespaces/kube-public/configmaps",
        "/api/v1/namespaces/kube-system/secrets",
    ] {
        assert_eq!(stranger(lab, &format!("https://{address}:6443{path}")), "401", "{path}");
    }
    for path in ["/pods", "/metrics", "/run/kube-system/a/b"] {
        assert_eq!(stranger(lab, &format!("https://{address}:10250{path}")), "401", "{path} of the kubelet");
    }
    for closed in [
        "http://:10255/pods",
        "http://:10248/healthz",
        "http://:10249/metrics",
        "https://:10257/metrics",
        "https://:10259/metrics",
        "https://:2379/version",
        "https://:2380/members",
        "http://:2381/metrics",
    ] {
        let url = closed.replace("//:", &format!("//{address}:"));
        assert_eq!(stranger(lab, &url), "000", "{url}");
    }
}

fn secrets_are_sealed_in_etcd(lab: &Lab) {
    lab.kubectl(&["create", "secret", "generic", "sealed", "--from-literal=word=open-sesame"]);
    let listed = etcdctl(&lab.machines[0], "get /registry/secrets/ --prefix -w json");
    let listed: Json = serde_json::from_str(&listed).unwrap();
    let text = |entry: &Json, field: &str| {
        let bytes = STANDARD.decode(entry[field].as_str().unwrap()).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let entries: Vec<(String, String)> = listed["kvs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (text(entry, "key"), text(entry, "value")))
        .collect();
    assert!(entries.iter().any(|(key, _)| key == "/registry/secrets/default/sealed"), "{}", entries.len());
    for (key, value) in entries {
        // From the first one on: none was ever written in clear.
        assert!(value.starts_with("k8s:enc:secretbox:v1:"), "{key}");
        assert!(!value.contains("open-sesame"), "{key}");
    }
    lab.kubectl(&["delete", "secret", "sealed"]);
}

fn keys_are_for_root_alone(lab: &Lab) {
    // Files that contain a key, whatever their names.
    let find = "grep -rIlE 'PRIVATE KEY|client-key-data:|secret:|token:' /etc/kubernetes /var/lib/kubelet/pki \
                /var/lib/kubelet/config.yaml /var/lib/slipway /etc/cni 2>/dev/null | xargs stat -L -c '%a %U %n'";
    let found = lab.machines[0].check(["sh", "-c", find]).unwrap();
    for file in ["pki/ca.key", "pki/etcd/ca.key", "pki/sa.key", "scheduler.conf", ".pem"] {
        assert!(found.lines().any(|line| line.ends_with(file)), "{file} in\n{found}");
    }
    let open: Vec<&str> = found.lines().filter(|line| !line.starts_with("600 root ")).collect();
    assert!(open.is_empty(), "{open:#?}");
    // No administrator's credentials are stored on the machine.
    let administrators =
        lab.machines[0].check(["sh", "-c", "find /etc/kubernetes -name '*admin.conf'"]).unwrap();
    assert_eq!(administrators, "");
    let folders =
        lab.machines[0].check(["stat", "-c", "%a %U", "/var/lib/etcd", "/var/lib/slipway"]).unwrap();
    assert_eq!(folders, "700 root\n700 root\n");
}

fn each_part_is_somebody_of_its_own(lab: &Lab) {
    for (file, name) in [
        ("scheduler.conf", "system:kube-scheduler"),
        ("controller-manager.conf", "system:kube-controller-manager"),
        ("kubelet.conf", "system:node:server"),
    ] {
        let path = format!("/etc/kubernetes/{file}");
        let who = [
            "kubectl",
            "--kubeconfig",
            &path,
            "auth",
            "whoami",
            "-o",
            "jsonpath={.status.userInfo.username}",
        ];
        assert_eq!(lab.machines[0].check(who).unwrap(), name);
    }
    // Each controller of the controller manager asks with an account of its own.
    let manifest = lab.machines[0].read("/etc/kubernetes/manifests/kube-controller-manager.yaml").unwrap();
    assert!(String::from_utf8_lossy(&manifest).contains("--use-service-account-credentials=true"));
    for (labels, account) in [("k8s-app=kube-dns", "coredns"), ("k8s-app=kube-proxy", "kube-proxy")] {
        let path = "jsonpath={.items[0].spec.serviceAccountName}";
        assert_eq!(lab.kubectl(&["-n", "kube-system", "get", "pods", "-l", labels, "-o", path]), account);
    }
    let administrator = lab.administrator();
    let may = |who: &str, group: &str, what: &str| {
        let mut words = vec!["auth", "can-i"];
        words.extend(what.split(' '));
        words.extend(["--as", who, "--as-group", group]);
        let said = Said::by(&mut lab.hosts().kubectl(&administrator, &words).unwrap()).unwrap();
        let answer = said.out.split_whitespace().next();
        assert!(matches!(answer, Some("yes" | "no")), "{said:?}");
        answer == Some("yes")
    };
    let accounts = "system:serviceaccounts";
    let (dns, proxy) =
        ("system:serviceaccount:kube-system:coredns", "system:serviceaccount:kube-system:kube-proxy");
    let own = [
        (dns, accounts, "list endpointslices.discovery.k8s.io -A"),
        (proxy, accounts, "list services -A"),
        ("system:kube-scheduler", "system:authenticated", "create pods --subresource=binding -A"),
    ];
    for (who, group, what) in own {
        assert!(may(who, group, what), "{who} may not {what}");
    }
    for (who, group) in [
        (dns, accounts),
        (proxy, accounts),
        ("system:kube-scheduler", "system:authenticated"),
        ("system:node:server", "system:nodes"),
    ] {
        for what in [
            "list secrets -A",
            "create clusterrolebindings",
            "create pods --subresource=exec -A",
            "delete nodes",
        ] {
            assert!(!may(who, group, what), "{who} may {what}");
        }
    }
}

fn administrators_come_for_a_while(lab: &Lab) {
    let kubeconfig = lab.done(&["kubeconfig", "hosts-single"]);
    let data = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("client-certificate-data: "));
    let pem = String::from_utf8(STANDARD.decode(data.unwrap()).unwrap()).unwrap();
    let end = Certificate::from_pem(&pem).unwrap().not_after().as_second();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let left = end - i64::try_from(now).unwrap();
    assert!((7 * 3_600..=8 * 3_600).contains(&left), "{left} s");
}
