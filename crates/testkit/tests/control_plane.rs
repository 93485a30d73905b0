//! A control plane of plain processes: it answers, it comes back, and it is gone afterwards.
#![cfg(test)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "what fails in a test ends it; a process of a test says where its folder is"
)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use slipway_testkit::control_plane::{ControlPlane, Options};
use slipway_testkit::{kubernetes, wait};

/// Set for a process of `a_killed_test_leaves_nothing`.
const CHILD: &str = "SLIPWAY_TEST_CONTROL_PLANE";

fn said(plane: &ControlPlane, arguments: &[&str]) -> String {
    let output = plane.kubectl(arguments).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn it_answers_and_keeps_what_it_was_told_while_the_api_server_is_away() {
    let mut plane =
        ControlPlane::start(&Options { controllers: true, scheduler: true, ..Options::default() }).unwrap();
    assert!(said(&plane, &["version"]).contains(&format!("Server Version: v{}", kubernetes::VERSION)));
    said(&plane, &["create", "configmap", "one", "--from-literal=a=b"]);

    let etcd = plane.etcd();
    let mut etcdctl = Command::new(kubernetes::install_etcd().unwrap().join("etcdctl"));
    etcdctl.args(["get", "--print-value-only", "/registry/configmaps/default/one", "--endpoints", &etcd.url]);
    etcdctl.arg("--cacert").arg(etcd.ca).arg("--cert").arg(etcd.certificate).arg("--key").arg(etcd.key);
    let stored = etcdctl.output().unwrap();
    assert!(stored.status.success(), "{stored:?}");
    assert!(String::from_utf8_lossy(&stored.stdout).contains("ConfigMap"));

    plane.stop_api();
    assert!(!plane.kubectl(&["get", "configmaps"]).unwrap().status.success());
    plane.start_api(&["--audit-policy-file=/dev/null".to_owned()]).unwrap_err();
    plane.start_api(&["--profiling=false".to_owned()]).unwrap();
    assert_eq!(said(&plane, &["get", "configmap", "one", "-o", "jsonpath={.data.a}"]), "b");
}

#[test]
#[ignore = "a process of a_killed_test_leaves_nothing, which never ends by itself"]
fn child() {
    if std::env::var_os(CHILD).is_some() {
        let plane = ControlPlane::start(&Options::default()).unwrap();
        eprintln!("folder {}", plane.folder().display());
        std::thread::sleep(std::time::Duration::from_secs(1000));
    }
}

#[test]
fn a_killed_test_leaves_nothing() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child", "--ignored", "--nocapture"]).env(CHILD, "1");
    let mut child = child.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let folder: PathBuf = lines.filter_map(|line| Some(line.strip_prefix("folder ")?.into())).next().unwrap();
    let running = || processes_that_name(&folder);
    assert_eq!(running(), 2, "etcd and kube-apiserver");
    child.kill().unwrap();
    child.wait().unwrap();
    wait::until("all is gone", || Ok((running() == 0 && !folder.exists()).then_some(()))).unwrap();
}

/// How many processes were called with something in this folder, guards not counted.
fn processes_that_name(folder: &Path) -> usize {
    let folder = folder.to_str().unwrap();
    let lines = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = lines.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    lines.filter(|line| line.contains(folder) && !line.starts_with("sh\0")).count()
}
