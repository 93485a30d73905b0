//! The script runs in a real shell, on this machine with another root.

use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use slipway_bootstrap::preflight::{ExpectedPort, KernelSetting, PathState, PortState, Purpose};

use super::*;

fn questions() -> Questions {
    Questions {
        purpose: Purpose::Init,
        node_name: "cp-0".to_owned(),
        absent_files: vec![ExpectedFile { path: "/etc/kubernetes/manifests/etcd.yaml".to_owned() }],
        empty_directories: vec!["/var/lib/etcd".to_owned(), "/var/lib/none".to_owned()],
        ports: vec![ExpectedPort { number: 6443, owner: String::new() }],
        programs: vec!["mount".to_owned(), "no-such-program".to_owned()],
        kernel_settings: ["kernel/ostype", "net/no/such"]
            .map(|path| KernelSetting { path: path.to_owned(), value: "Linux".to_owned() })
            .into(),
        space_mib: vec![("/var/lib/kubelet".to_owned(), 1)],
        cri_socket: Some("unix:///no/such.sock".to_owned()),
        endpoint_name: Some("no-such-name.invalid".to_owned()),
        ..Questions::default()
    }
}

fn seen(root: &Path, questions: &Questions) -> Read {
    let root = root.display().to_string();
    let output = Command::new("sh").args(["-c", &script(questions, &root)]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    read(&String::from_utf8_lossy(&output.stdout), questions, &root, jiff::Timestamp::now().as_second())
}

fn put(root: &Path, path: &str, content: &[u8]) {
    let place = root.join(path.trim_start_matches('/'));
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::write(place, content).unwrap();
}

/// The beginning of a log of member a of cluster b.
fn log() -> Vec<u8> {
    // The checksum: type 4, crc 0, four bytes of padding. The metadata: type 1, crc 0, and the two ids.
    let checksum = [&[4, 0, 0, 0, 0, 0, 0, 0x84][..], &[8, 4, 16, 0, 0, 0, 0, 0]];
    let metadata =
        [&[10, 0, 0, 0, 0, 0, 0, 0x86][..], &[8, 1, 16, 0, 0x1a, 4, 8, 10, 16, 11, 0, 0, 0, 0, 0, 0]];
    [checksum.concat(), metadata.concat(), vec![0; 2048]].concat()
}

fn making(paths: &[(&str, &str)]) -> Making {
    let item = |(address, path): &(&str, &str)| PreflightItem {
        address: address.parse().unwrap(),
        action: "create".to_owned(),
        desired: Value::map([(HOST, Value::from("cp-0")), ("path", (*path).into())]),
    };
    let mut making = Making { installs: true, claims: true, ..Making::default() };
    making.inside = paths.iter().map(item).collect();
    making
}

#[test]
fn a_host_tells_what_the_checks_look_at() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("var/lib/etcd")).unwrap();
    let read = seen(folder.path(), &questions());
    let facts = read.facts;
    assert!(facts.processors > 0 && facts.memory_mib > 0, "{facts:?}");
    assert_eq!(
        (facts.operating_system.as_str(), facts.paths["/var/lib/etcd"]),
        ("Linux", PathState::EmptyDirectory)
    );
    assert_eq!(facts.paths["/var/lib/none"], PathState::Absent);
    assert!(facts.programs["mount"].is_some() && facts.programs["no-such-program"].is_none());
    assert_eq!(facts.kernel_settings["kernel/ostype"].as_deref(), Some("Linux"));
    assert_eq!(facts.kernel_settings["net/no/such"], None);
    assert!(facts.free_mib["/var/lib/kubelet"] > 0, "{facts:?}");
    assert!(matches!(&facts.runtime, Some(Err(why)) if why.contains("/no/such.sock")), "{facts:?}");
    assert!(!facts.cgroups.controllers.is_empty(), "{facts:?}");
    assert!(facts.clock_ahead_seconds.unwrap().abs() < 30, "{facts:?}");
    assert!(facts.etcd_data.is_empty() && facts.owned.is_empty() && read.owner.is_none());
}

#[test]
fn ports_in_use_are_seen() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let number = listener.local_addr().unwrap().port();
    let ports = vec![ExpectedPort { number, owner: String::new() }];
    let folder = tempfile::tempdir().unwrap();
    let read = seen(folder.path(), &Questions { ports, ..questions() });
    assert_eq!(read.facts.ports[&number], PortState::Taken(None));
}

#[test]
fn data_of_another_etcd_is_named_with_its_ids_and_all_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "/var/lib/etcd/member/wal/0000000000000000-0000000000000000.wal", &log());
    put(folder.path(), "/etc/kubernetes/manifests/etcd.yaml", b"kind: Pod");
    put(folder.path(), "/etc/kubernetes/kubelet.conf", b"kind: Config");
    put(folder.path(), "/etc/kubernetes/scheduler.conf", b"kind: Config");
    let making = making(&[
        ("static_pod.cp-0/etcd", "/etc/kubernetes/manifests/etcd.yaml"),
        ("kubeconfig.cp-0/scheduler", "/etc/kubernetes/scheduler.conf"),
    ]);
    let questions = super::questions(Some(&questions()), &making);
    let read = seen(folder.path(), &questions);
    let mut found = findings("cp-0", &making, &questions, &read.facts, &[]);
    hints_once(&mut found);
    let message = |text: &str| found.iter().find(|finding| finding.message.contains(text)).unwrap();
    let data = message("DirAvailable--var-lib-etcd");
    assert!(data.message.contains("/var/lib/etcd has the data of etcd member a of cluster b ("), "{data:?}");
    assert!(data.hint.as_ref().unwrap().contains("mv /var/lib/etcd"), "{data:?}");
    assert_eq!(message("manifests-etcd.yaml").address, "static_pod.cp-0/etcd".parse().ok());
    let kubeconfig = message("scheduler.conf");
    assert_eq!(kubeconfig.address, "kubeconfig.cp-0/scheduler".parse().ok());
    message("FileContent--proc-sys-net-no-such");
    // The hint is the same for all files, and destructive commands come last.
    let hints: Vec<&String> = found.iter().filter_map(|finding| finding.hint.as_ref()).collect();
    let adopt = hints.iter().filter(|hint| hint.contains("slipway adopt")).count();
    assert_eq!(adopt, 1, "{hints:?}");
    // Of all these findings, the data alone cannot be ignored: the agent would refuse it.
    let left = findings("cp-0", &making, &questions, &read.facts, &["all".to_owned()]);
    assert!(left.len() == 1 && left[0].message.contains("DirAvailable--var-lib-etcd"), "{left:?}");
}

#[test]
fn what_an_interrupted_apply_left_is_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "/var/lib/etcd/member/wal/0.wal", &log());
    put(folder.path(), "/etc/kubernetes/manifests/etcd.yaml", b"kind: Pod");
    put(folder.path(), "/var/lib/slipway/owner", br#"{"uid":"u-1","cluster":"demo"}"#);
    let entry =
        br#"{"version":1,"identity":"/etc/kubernetes/manifests/etcd.yaml","address":"static_pod.cp-0/etcd"}"#;
    put(folder.path(), "/var/lib/slipway/owned/static_pod-1.json", entry);
    let making = making(&[("static_pod.cp-0/etcd", "/etc/kubernetes/manifests/etcd.yaml")]);
    let questions = super::questions(Some(&questions()), &making);
    let read = seen(folder.path(), &questions);
    assert_eq!(read.owner, Some(("u-1".to_owned(), "demo".to_owned())));
    let found = findings("cp-0", &making, &questions, &read.facts, &[]);
    let is_of_place = |finding: &&PreflightFinding| {
        finding.message.contains("FileAvailable") || finding.message.contains("DirAvailable")
    };
    assert_eq!(found.iter().find(is_of_place), None);
}

#[test]
fn only_a_host_that_becomes_a_node_is_checked_as_one() {
    let items = |kinds: &[&str]| {
        let item = |kind: &&str| PreflightItem {
            address: kind.parse().unwrap(),
            action: "create".to_owned(),
            desired: Value::map([(HOST, "cp-0")]),
        };
        let is_inside = |kind: &str| !kind.starts_with("host_");
        Making::by_host(kinds.iter().map(item).collect(), is_inside).remove("cp-0").unwrap()
    };
    assert!(items(&["host_claim.cp-0", "host_agent.cp-0", "service.cp-0/kubelet"]).is_new_node("cp-0"));
    // A node of another tool is adopted, and a lost agent is installed again.
    assert!(!items(&["host_claim.cp-0", "host_agent.cp-0"]).is_new_node("cp-0"));
    assert!(!items(&["service.cp-0/kubelet"]).is_new_node("cp-0"));
}

#[test]
fn a_log_in_base64_is_read() {
    let encoded = base64::engine::general_purpose::STANDARD.encode(&log()[..512]);
    let printed = format!("etcd=/root/var/lib/etcd 12 1767225600 {encoded}\n");
    let read = read(&printed, &questions(), "/root", 0);
    let data = &read.facts.etcd_data["/var/lib/etcd"];
    assert_eq!(
        data.to_string(),
        "the data of etcd member a of cluster b (12 KiB, last written 2026-01-01T00:00:00Z)"
    );
}

#[test]
fn data_of_etcd_is_a_finding_whoever_ignores_it() {
    let mut facts = Facts::default();
    facts.paths.insert("/var/lib/etcd".to_owned(), PathState::Directory);
    facts.paths.insert("/var/lib/none".to_owned(), PathState::Directory);
    facts.etcd_data.insert("/var/lib/etcd".to_owned(), slipway_bootstrap::preflight::EtcdData::default());
    let of_folders = |ignored: &[&str]| -> Vec<String> {
        let ignored: Vec<String> = ignored.iter().map(|name| (*name).to_owned()).collect();
        let found = findings("cp-0", &Making::default(), &questions(), &facts, &ignored);
        let messages = found.into_iter().map(|finding| finding.message);
        messages.filter(|message| message.contains("DirAvailable")).collect()
    };
    assert_eq!(of_folders(&[]).len(), 2);
    for ignored in [&["all"][..], &["DirAvailable--var-lib-etcd", "DirAvailable--var-lib-none"]] {
        let left = of_folders(ignored);
        assert!(left.len() == 1 && left[0].ends_with("this cannot be ignored"), "{left:?}");
    }
}

/// The findings about images on a host with these programs.
fn told_of_images(images: &[&str], programs: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, body) in programs {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let images = images.iter().map(|image| (*image).to_owned()).collect();
    let questions = Questions { images, ..Questions::default() };
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let script = of_images(&questions);
    let output = Command::new("sh").args(["-c", &script]).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read = read(&String::from_utf8_lossy(&output.stdout), &questions, "/", 0);
    let making = Making::default();
    let found = missing_images("cp-0", &making, &questions, &read.facts, &[]);
    assert!(found.iter().all(|finding| finding.hint.as_ref().is_some_and(|hint| hint.contains("import"))));
    found.into_iter().map(|finding| finding.message).collect()
}

#[test]
fn an_image_is_on_the_host_or_in_its_registry_or_a_finding() {
    const NO_CRICTL: (&str, &str) = ("crictl", "case \"$*\" in *etcd*) exit 0 ;; esac; exit 1");
    const CTR: (&str, &str) = (
        "ctr",
        "printf 'REF TYPE DIGEST\\nregistry.example.com/etcd:3.6 x sha256:aa 1\\nregistry.example.com/pinned:1 x sha256:bb 1\\n'",
    );
    let etcd = "registry.example.com/etcd:3.6";
    let answers = |code: &str| format!("printf {code}");
    // crictl is asked first, then the registry.
    for (code, missing) in [("200", false), ("404", true), ("000", true), ("401", false), ("503", false)] {
        let curl = answers(code);
        let found = told_of_images(&[etcd, "registry.example.com/kube:1"], &[NO_CRICTL, ("curl", &curl)]);
        assert_eq!(!found.is_empty(), missing, "{code}: {found:?}");
        assert!(found.iter().all(|text| text.contains("cp-0: ImagePull: images are missing: registry.example.com/kube:1 (it is not on the host, and the registry registry.example.com does")), "{found:?}");
        assert!(!found.iter().any(|text| text.contains("etcd")), "{found:?}");
    }
    // A registry that does not answer is not asked again.
    let counts = "echo x >> \"$0.count\"; if [ \"$(wc -l < \"$0.count\")\" -gt 1 ]; then printf 200; else printf 000; fi";
    let found = told_of_images(&["r.example.com/a:1", "r.example.com/b:1"], &[NO_CRICTL, ("curl", counts)]);
    assert!(found[0].contains("r.example.com/a:1") && found[0].contains("r.example.com/b:1"), "{found:?}");
    // By digest, where only the tools of containerd are there.
    let hidden = ("crictl", "exit 124");
    let found = told_of_images(&["registry.example.com/a:1"], &[hidden, ("curl", "printf 404")]);
    assert_eq!(found.len(), 0, "a runtime that does not answer in time says nothing: {found:?}");
    if Command::new("sh").args(["-c", "command -v crictl"]).status().unwrap().success() {
        return;
    }
    for (image, missing) in [
        (etcd, false),
        ("registry.example.com/etcd:3.7", true),
        ("registry.example.com/pinned:1@sha256:bb", false),
        ("registry.example.com/pinned:1@sha256:aa", true),
        ("pinned:1", false),
    ] {
        let found = told_of_images(&[image], &[CTR, ("curl", "printf 404")]);
        assert_eq!(!found.is_empty(), missing, "{image}: {found:?}");
    }
}
