//! The main job on real machines: hosts entered by SSH become a working cluster, and are given back as they were.

#![cfg(test)]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "what fails in a test ends it; times are told"
)]

mod backups;
mod balancer;
mod crash;
mod dark;
mod egress_proxy;
mod endpoint;
mod grow;
mod hardened;
mod hooks;
mod identities;
mod lab;
mod leave;
mod lost;
mod mirrors;
mod people;
mod recover;
mod rotate;
mod secure;
mod self_hosted;
mod upgrade;
mod virtual_address;

use lab::Lab;

#[test]
#[ignore = "needs root and namespaces"]
fn one_machine_becomes_a_cluster_drifts_is_mended_and_is_given_back() {
    let lab = Lab::new("hosts-single", &["server"]);
    // The folder exists before the cluster, as a package or a mount makes it: the cluster's data in it is
    // removed later.
    lab.machines[0].check(["mkdir", "-p", "-m", "700", "/var/lib/etcd"]).unwrap();
    people::see_why_a_node_does_not_come(&lab);
    let watched = secure::Watched::new();
    lab.apply("a ready node");
    watched.showed_none_of(&people::secrets(&lab.machines[0]));
    lab.is_as_wanted();
    lab.done(&["validate", "hosts-single", "--wait", "2m"]);

    // The test changes a file, a flag, and an object by hand.
    let machine = &lab.machines[0];
    machine.write("/etc/kubernetes/controller-manager.conf", "600", "tampered").unwrap();
    machine
        .check([
            "sed",
            "-i",
            "s/--leader-elect=true/--leader-elect=false/",
            "/etc/kubernetes/manifests/kube-scheduler.yaml",
        ])
        .unwrap();
    let patch = r#"{"data":{"Corefile":"tampered"}}"#;
    lab.kubectl(&["-n", "kube-system", "patch", "configmap", "coredns", "--type=merge", "-p", patch]);
    lab.changes(
        "what differed",
        &[
            "~ kubeconfig.server/controller-manager",
            "~ static_pod.server/kube-scheduler",
            "~ kubernetes_object.ConfigMap/kube-system/coredns",
        ],
    );
    people::see_how_it_is_and_get_in(&lab);
    people::see_a_member_that_never_started(&lab);
    secure::is_closed(&lab);
    people::see_whose_a_machine_is(&lab);
    people::see_a_kubelet_that_stopped(&lab);
    hooks::run_on_a_host(&lab);
    mirrors::are_written_to_a_host(&lab);
    egress_proxy::is_given_to_a_host(&lab);
    hardened::is_reached_in_place(&lab);
    rotate::keys_are_replaced(&lab);

    lab.done(&["delete", "hosts-single", "--yes", "--confirm", "hosts-single"]);
    lab.nothing_is_left(&lab.machines[0]);
    lab.machines[0].check(["ls", "-d", "/var/lib/etcd"]).unwrap();
    assert!(!lab.is_claimed("server"));
    hardened::leaves_no_account(&lab);
}

/// The beginning of the log of etcd's member a in cluster b, as `printf` takes it.
const LOG: &str = r"\004\000\000\000\000\000\000\204\010\004\020\000\000\000\000\000\012\000\000\000\000\000\000\206\010\001\020\000\032\004\010\012\020\013\000\000\000\000\000\000";

/// Data of another etcd is a finding that names its ids, and is not changed.
#[test]
#[ignore = "needs root and namespaces"]
fn foreign_data_is_named_and_left() {
    let lab = Lab::new("hosts-single", &["server"]);
    let machine = &lab.machines[0];
    let make = format!(
        "mkdir -p /var/lib/etcd/member/wal /var/lib/etcd/member/snap && printf '{LOG}' > /var/lib/etcd/member/wal/0-0.wal && echo data > /var/lib/etcd/member/snap/db"
    );
    machine.check(["sh", "-c", &make]).unwrap();
    let content = || {
        let all = "find /var/lib/etcd -type f -exec sha256sum {} + | sort; find /var/lib/etcd -printf '%p %m %T@\\n' | sort";
        machine.check(["sh", "-c", all]).unwrap()
    };
    let before = content();
    let plan = lab.run(&["plan", "-f", "spec"]).wanted(1, "slipway plan").unwrap().out;
    let plan = plan.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plan.contains("/var/lib/etcd has the data of etcd member a of cluster b ("), "{plan}");
    let apply = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap().err;
    assert!(apply.contains("CLI0013") && !lab.is_claimed("server"), "{apply}");
    assert_eq!(content(), before);

    // This finding cannot be ignored: an etcd would refuse this data after all other changes were made.
    let ignored = "config: { ignore_preflight_errors: [DirAvailable--var-lib-etcd] }";
    lab.edit("    name: hosts\n", &format!("    name: hosts\n    {ignored}\n"));
    let forced = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap().err;
    let words = forced.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("this cannot be ignored") && words.contains("CLI0013"), "{words}");
    assert!(words.contains("`mv /var/lib/etcd /var/lib/etcd.kept`"), "{words}");
    assert!(!lab.is_claimed("server"));
    assert_eq!(content(), before);
}

/// A new pod without its image is reported with the image, and the next apply continues.
#[test]
#[ignore = "needs root and namespaces"]
fn an_image_that_cannot_be_had_is_named_before_its_pod_is_waited_for() {
    const IMAGE: &str = "registry.k8s.io/kube-scheduler:v1.34.4";
    let lab = Lab::new("hosts-single", &["server"]);
    let images = |words: &[&str]| {
        lab.machines[0].check([&["ctr", "-n", "k8s.io", "images"], words].concat()).unwrap();
    };
    images(&["tag", IMAGE, "example.org/kept:1"]);
    images(&["rm", "--sync", IMAGE]);
    let start = std::time::Instant::now();
    let failed = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap().err;
    eprintln!("an apply without an image ends after {:.1} s", start.elapsed().as_secs_f64());
    let words = failed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("images are missing: {IMAGE} (it is not on the host")), "{words}");
    assert!(words.contains("let the host reach the registry"), "{words}");
    let manifests = lab.machines[0].check(["sh", "-c", "ls /etc/kubernetes/manifests || true"]).unwrap();
    assert!(!manifests.contains(".yaml"), "something was done: {manifests}");
    images(&["tag", "example.org/kept:1", IMAGE]);
    lab.apply("the rest, with the image");
    lab.is_as_wanted();
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_host_that_shows_another_key_is_refused() {
    let lab = Lab::new("hosts-single", &["server"]);
    let key = lab.machines[0].host_key().unwrap();
    let own = key.split_whitespace().nth(1).unwrap().to_owned();
    let other = "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";
    lab.edit_hosts(|hosts| hosts.replace(&own, other));
    let err = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap().err;
    assert!(err.contains("is refused: it shows ssh-ed25519 SHA256:"), "{err}");
    assert!(
        err.contains("what is pinned is ssh-ed25519 SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"),
        "{err}"
    );

    // A host without a pinned key is refused as well, with the line that pins the key.
    lab.edit_hosts(|hosts| hosts.replace(&format!("\"ssh-ed25519 {other}\""), ""));
    let err = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap().err;
    assert!(err.contains("its key ssh-ed25519 SHA256:") && err.contains("is pinned nowhere"), "{err}");
    let line = format!("hostKeys: [\"ssh-ed25519 {own}\"]");
    assert!(err.split_whitespace().collect::<Vec<_>>().join(" ").contains(&line), "{line} in {err}");
    assert!(!lab.is_claimed("server"));
}
