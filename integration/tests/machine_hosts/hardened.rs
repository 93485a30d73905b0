//! A running cluster gets the profile `hardened` in place, and passes the CIS Kubernetes Benchmark.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use slipway_testkit::{Said, kube_bench};

use crate::identities;
use crate::lab::Lab;
use crate::secure::stranger;

/// The guide, which lists each check that warns.
const GUIDE: &str = include_str!("../../../docs/guide/harden.md");

/// The heading above the table of checks that warn.
const WARNINGS: &str = "## Checks that warn";

/// A Service with an address outside of the cluster, which takes traffic for it (CVE-2020-8554).
const EXTERNAL: &str = "apiVersion: v1\nkind: Service\nmetadata: { name: taken }\nspec:\n  ports: [{ port: 80 }]\n  \
                        externalIPs: [192.0.2.1]\n";

/// The profile is applied to a running cluster with one machine.
pub(crate) fn is_reached_in_place(lab: &Lab) {
    lab.edit("  kubernetesVersion: 1.34.4\n", "  profile: hardened\n  kubernetesVersion: 1.34.4\n");
    // A flag of etcd in the same plan: each restart of etcd restarts what depends on it.
    lab.edit("components: {", "components: { etcd: { extraArgs: { snapshot-count: \"20000\" } },");
    lab.changes(
        "the profile hardened, and a flag of etcd",
        &[
            "+ system_account.server/etcd",
            "~ directory.server/etcd-data",
            "+ file.server/admission-configuration",
            "+ file.server/kubelet-drop-in",
            "~ static_pod.server/kube-apiserver",
            "~ static_pod.server/etcd",
            "~ service.server/kubelet",
        ],
    );
    lab.done(&["validate", "hosts-single", "--wait", "2m"]);
    let authority = lab.done(&["output", "hosts-single", "--only", "certificate-authority"]);
    let own = lab.machines[0].read("/etc/kubernetes/pki/ca.crt").unwrap();
    assert_eq!(authority.trim_end(), String::from_utf8_lossy(&own).trim_end());
    assert!(lab.done(&["output", "hosts-single", "--only", "endpoint"]).starts_with("https://"));
    let etcd = lab.machines[0].read("/etc/kubernetes/manifests/etcd.yaml").unwrap();
    assert!(String::from_utf8_lossy(&etcd).contains("--snapshot-count=20000"));
    the_benchmark_finds_no_failure(lab);
    strangers_are_told_the_health_alone(lab);
    admission_refuses_what_opens_a_node(lab);
    no_credentials_are_on_the_machine(lab);
    identities::have_the_reviewed_rights(lab);
}

fn the_benchmark_finds_no_failure(lab: &Lab) {
    let checks = kube_bench::run(&lab.machines[0], &["master", "etcd", "controlplane", "node"]).unwrap();
    let with = |status: &str| checks.iter().filter(|check| check.status == status).collect::<Vec<_>>();
    let (failed, passed) = (with("FAIL"), with("PASS"));
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(passed.len() > 80, "{} checks pass", passed.len());
    let warned: BTreeSet<&str> = with("WARN").into_iter().map(|check| check.number.as_str()).collect();
    assert_eq!(warned, listed(), "docs/guide/harden.md lists other checks");
    eprintln!("kube-bench: {} pass, {} warn", passed.len(), warned.len());
}

/// The numbers of the checks in the guide's table of those that warn.
fn listed() -> BTreeSet<&'static str> {
    let section = GUIDE.split(WARNINGS).nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    // As 1.2.15; sections have two numbers.
    rows.filter(|cell| cell.split('.').filter(|part| part.parse::<u32>().is_ok()).count() == 3).collect()
}

fn strangers_are_told_the_health_alone(lab: &Lab) {
    let address = lab.address("server");
    for (path, status) in [
        ("/livez", "200"),
        ("/readyz", "200"),
        ("/healthz", "200"),
        ("/version", "401"),
        ("/api/v1/namespaces/kube-public/configmaps/cluster-info", "401"),
    ] {
        assert_eq!(stranger(lab, &format!("https://{address}:6443{path}")), status, "{path}");
    }
}

fn admission_refuses_what_opens_a_node(lab: &Lab) {
    let administrator = lab.administrator();
    let try_out = |words: &[&str]| {
        let words = [words, &["--dry-run=server"]].concat();
        Said::by(&mut lab.hosts().kubectl(&administrator, &words).unwrap()).unwrap()
    };
    let run = ["run", "open", "--image=example.org/a:1", "--privileged"];
    let refused = try_out(&[&run[..], &["--namespace", "default"]].concat());
    assert!(refused.err.contains("violates PodSecurity \"baseline:latest\""), "{refused:?}");
    // Pods of the cluster itself need what the level forbids.
    try_out(&[&run[..], &["--namespace", "kube-system"]].concat()).wanted(0, "an exempt namespace").unwrap();
    let file = lab.file("../external.yaml");
    fs::write(&file, EXTERNAL).unwrap();
    let refused = try_out(&["create", "-f", &file.display().to_string()]);
    assert!(refused.err.contains("Use of external IPs is denied by admission control"), "{refused:?}");
}

fn no_credentials_are_on_the_machine(lab: &Lab) {
    let machine = &lab.machines[0];
    let file = machine.read("/etc/kubernetes/admin.conf").unwrap();
    let text = String::from_utf8_lossy(&file);
    assert!(text.contains("server: https://") && !text.contains("user"), "{text}");
    let folder = machine.check(["stat", "-c", "%a %U:%G", "/var/lib/etcd"]).unwrap();
    assert_eq!(folder.trim(), "700 etcd:etcd");
}

/// After the cluster was deleted: the account is gone, and the folder that was there before is as it was.
pub(crate) fn leaves_no_account(lab: &Lab) {
    let machine = &lab.machines[0];
    let accounts = machine.check(["cat", "/etc/passwd", "/etc/group"]).unwrap();
    assert!(!accounts.lines().any(|line| line.starts_with("etcd:")), "{accounts}");
    let folder = machine.check(["stat", "-c", "%a %U:%G", "/var/lib/etcd"]).unwrap();
    assert_eq!(folder.trim(), "700 root:root");
    let drop_in = Path::new("/etc/systemd/system/kubelet.service.d/10-kubeadm.conf");
    assert!(!machine.run(["test", "-e", &drop_in.display().to_string()]).unwrap().status.success());
}
