//! A kube-apiserver that has the proxy for its etcd.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use slipway_testkit::control_plane::{Etcd as Storage, Options};
use slipway_testkit::process::Process;
use slipway_testkit::scratch::Scratch;
use slipway_testkit::wait::until;
use slipway_testkit::{ControlPlane, kubernetes, port};

use super::pki::Authority;

const OBJECTS: u32 = 12;

/// The API server creates, lists and watches objects while its proxy is killed and started again. Every object whose
/// creation was acknowledged exists at the end, and a watch has seen it.
#[test]
fn an_api_server_loses_nothing_when_its_proxy_is_killed() {
    let mut plane = ControlPlane::start(&Options::default()).unwrap();
    let scratch = Scratch::new("etcd-storage-api").unwrap();
    let authority = Authority::new("tenant");
    let server = authority.files(scratch.path(), "server", &[&authority]);
    let client = authority.files(scratch.path(), "client", &[&authority]);
    let [port] = port::free().unwrap();
    let core = plane.etcd();
    let mut command = Command::new(env!("CARGO_BIN_EXE_slipway-etcd-storage"));
    command
        .args(["proxy", "--tenant=cluster", "--endpoints", &core.url])
        .arg("--cacert")
        .arg(&core.ca)
        .arg("--cert")
        .arg(&core.certificate)
        .arg("--key")
        .arg(&core.key)
        .arg(format!("--listen-addr=127.0.0.1:{port}"))
        .arg("--trusted-ca-file")
        .arg(&server.authorities)
        .arg("--cert-file")
        .arg(&server.certificate)
        .arg("--key-file")
        .arg(&server.key);
    let log = scratch.path().join("proxy.log");
    let start = || Process::start(&command, &log).unwrap();
    let mut proxy = start();
    until("the proxy listens", || {
        proxy.running()?;
        Ok(port::listens(port).then_some(()))
    })
    .unwrap();
    let storage = Storage {
        url: format!("https://127.0.0.1:{port}"),
        ca: client.authorities,
        certificate: client.certificate,
        key: client.key,
    };
    plane.start_api_on(storage).unwrap();
    let mut watch = Command::new(kubernetes::install().unwrap().join("kubectl"));
    watch.arg("--kubeconfig").arg(plane.kubeconfig());
    watch.args(["get", "configmaps", "--watch", "--output=name"]);
    let seen = scratch.path().join("seen");
    let watch = Process::start(&watch, &seen).unwrap();
    let (names, _proxy) = thread::scope(|scope| {
        let created = scope.spawn(|| {
            let names = (0..OBJECTS).map(|number| format!("object-{number}"));
            names
                .filter(|name| {
                    plane
                        .kubectl(&["create", "configmap", name, "--from-literal=a=b"])
                        .unwrap()
                        .status
                        .success()
                })
                .collect::<Vec<_>>()
        });
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(700));
            drop(proxy);
            proxy = start();
        }
        (created.join().unwrap(), proxy)
    });
    assert!(!names.is_empty());
    let list = until("the API server answers", || {
        let output = plane.kubectl(&["get", "configmaps", "--output=name"])?;
        Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
    })
    .unwrap();
    for name in &names {
        assert!(list.contains(&format!("configmap/{name}\n")), "{name} is lost:\n{list}");
    }
    until("the watch has seen every object", || {
        watch.running()?;
        let seen = fs::read_to_string(&seen)?;
        Ok(names.iter().all(|name| seen.contains(&format!("configmap/{name}\n"))).then_some(()))
    })
    .unwrap();
}
