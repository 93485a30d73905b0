//! Authorities of a running cluster are replaced, while clients of the old and of the new one ask all the time.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value as Json;
use slipway_testkit::Said;
use slipway_testkit::wait::until;

use super::{End, done, restart_kubelet, restarted_on_change, rotate};
use crate::lab::Lab;

/// The write to the state at which a stage is killed: some files have the new authority, others do not.
pub(super) const KILL: &str = "6:after";

pub(super) const FOLDER: &str = "/etc/kubernetes/pki";

/// What a client saw.
pub(super) enum Seen {
    Answer,
    /// The server or the client does not trust the other side.
    Refusal(String),
    /// The server is being restarted.
    Absence,
}

/// Does something while a client asks again and again. It must be answered, and never be refused.
pub(super) fn never_refused<T>(what: &str, ask: impl Fn() -> Seen + Sync, work: impl FnOnce() -> T) -> T {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let client = scope.spawn(|| {
            let (mut answers, mut refusals) = (0, BTreeSet::new());
            while !is_done.load(Ordering::Relaxed) {
                match ask() {
                    Seen::Answer => answers += 1,
                    Seen::Refusal(why) => {
                        refusals.insert(why);
                    }
                    Seen::Absence => {}
                }
                thread::sleep(Duration::from_millis(200));
            }
            (answers, refusals)
        });
        let end = End(&is_done);
        let result = work();
        drop(end);
        let (answers, refusals) = client.join().unwrap();
        assert!(answers > 0 && refusals.is_empty(), "{what}: {answers} answers, refused with {refusals:?}");
        result
    })
}

/// Whether a client is answered, once the server runs.
pub(super) fn is_answered(ask: impl Fn() -> Seen) -> bool {
    until("an answer", || {
        Ok(match ask() {
            Seen::Answer => Some(true),
            Seen::Refusal(_) => Some(false),
            Seen::Absence => None,
        })
    })
    .unwrap()
}

pub(super) fn preview(lab: &Lab, authority: &str, parts: &[&str]) -> String {
    let plan = lab.expect(2, &["rotate", authority, "-f", "spec", "--dry-run"]).unwrap();
    let plan = plan.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in parts {
        assert!(plan.contains(part), "{part} in\n{plan}");
    }
    plan
}

pub(super) fn front_proxy(lab: &Lab) {
    let (old, new) = ("front-proxy-before", "front-proxy-after");
    keep_client(lab, old);
    let plan = preview(
        lab,
        "front-proxy-ca",
        &[
            "stage 1 of 3",
            "+ keypair.front-proxy-ca-2",
            "~ file.server/pki/front-proxy-ca.crt",
            "+ authority_trust.server/front-proxy-ca",
        ],
    );
    assert!(!plan.contains("static_pod"), "a component is restarted:\n{plan}");
    assert_eq!(published(lab), 1);
    never_refused("the old front proxy", || by_proxy(lab, old), || done(lab, "front-proxy-ca", &[]));
    lab.is_as_wanted();
    assert_eq!(published(lab), 2);

    let certificate = format!("{FOLDER}/front-proxy-client.crt");
    never_refused(
        "the old front proxy",
        || by_proxy(lab, old),
        || restarted_on_change(lab, &certificate, || done(lab, "front-proxy-ca", &[])),
    );
    lab.is_as_wanted();
    keep_client(lab, new);
    assert!(is_answered(|| by_proxy(lab, old)) && is_answered(|| by_proxy(lab, new)));

    let refused = rotate(lab, "front-proxy-ca", &[]).wanted(1, "slipway rotate").unwrap().err;
    assert!(refused.contains("--confirm keypair.front-proxy-ca"), "{refused}");
    never_refused(
        "the new front proxy",
        || by_proxy(lab, new),
        || done(lab, "front-proxy-ca", &["--confirm", "keypair.front-proxy-ca"]),
    );
    lab.is_as_wanted();
    assert_eq!(published(lab), 1);
    assert!(is_answered(|| by_proxy(lab, new)));
    assert!(!is_answered(|| by_proxy(lab, old)), "the old front proxy is still accepted");
}

/// Keeps the present certificate of the front proxy, and its key.
fn keep_client(lab: &Lab, name: &str) {
    for end in ["crt", "key"] {
        let text = lab.machines[0].read(&format!("{FOLDER}/front-proxy-client.{end}")).unwrap();
        fs::write(lab.file(&format!("../{name}.{end}")), text).unwrap();
    }
}

/// Asks the API server for somebody, as a front proxy does. An aggregated API verifies the API server in the same way.
fn by_proxy(lab: &Lab, name: &str) -> Seen {
    let url = format!("https://{}:6443/api/v1/namespaces", lab.address("server"));
    let file = |end: &str| lab.file(&format!("../{name}.{end}")).to_string_lossy().into_owned();
    let (certificate, key) = (file("crt"), file("key"));
    let asked = lab.network().run([
        "curl",
        "--insecure",
        "--silent",
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_code}",
        "--cert",
        &certificate,
        "--key",
        &key,
        "--header",
        "X-Remote-User: somebody",
        "--header",
        "X-Remote-Group: system:masters",
        &url,
    ]);
    match Said::from(asked.unwrap()).out.as_str() {
        "200" => Seen::Answer,
        code @ ("401" | "403") => Seen::Refusal(code.to_owned()),
        _ => Seen::Absence,
    }
}

/// How many authorities of front proxies are published for aggregated APIs.
fn published(lab: &Lab) -> usize {
    let name = "extension-apiserver-authentication";
    let object = lab.kubectl(&["-n", "kube-system", "get", "configmap", name, "-o", "json"]);
    let object: Json = serde_json::from_str(&object).unwrap();
    let text = object["data"]["requestheader-client-ca-file"].as_str().unwrap().to_owned();
    text.matches("BEGIN CERTIFICATE").count()
}

pub(super) fn etcd(lab: &Lab) {
    let machine = &lab.machines[0];
    let keep = |name: &str| {
        let copy = format!("mkdir -p /root/{name} && cp {FOLDER}/etcd/* /root/{name}/");
        machine.check(["sh", "-c", &copy]).unwrap();
    };
    keep("before");
    restart_kubelet(lab);
    lab.done(&["etcd", "backup", "hosts-single"]);
    let sealed_before = newest_snapshot(lab);
    preview(
        lab,
        "etcd-ca",
        &[
            "stage 1 of 3",
            "+ keypair.etcd-ca-2",
            "~ static_pod.server/etcd",
            "~ static_pod.server/kube-apiserver",
        ],
    );
    let old = || etcd_client(lab, "/root/before/ca.crt", "/root/before");
    never_refused("a client of the old authority", old, || done(lab, "etcd-ca", &[]));
    lab.is_as_wanted();

    // The certificates of the servers change in this stage: its clients trust both authorities.
    let plan = preview(lab, "etcd-ca", &["stage 2 of 3", "~ certificate × 4", "server/etcd-peer"]);
    assert!(!plan.contains("static_pod"), "a component is restarted:\n{plan}");
    let between = || etcd_client(lab, &format!("{FOLDER}/etcd/ca.crt"), "/root/before");
    never_refused("a client with an old certificate", between, || {
        let said =
            lab.run_with(&[("SLIPWAY_TEST_KILL", KILL)], &["rotate", "etcd-ca", "-f", "spec", "--yes"]);
        assert!(matches!(said.code, None | Some(137)), "it was not killed: {said:?}");
        done(lab, "etcd-ca", &[])
    });
    lab.is_as_wanted();
    keep("after");
    // The first one of the file is the one in use.
    machine.check(["sh", "-c", "sed '/END CERTIFICATE/q' /root/after/ca.crt > /root/after/new.crt"]).unwrap();

    let new = || etcd_client(lab, "/root/after/new.crt", "/root/after");
    never_refused("a client of the new authority", new, || done(lab, "etcd-ca", &[]));
    lab.is_as_wanted();
    assert!(is_answered(new));
    let with_old_certificate = || etcd_client(lab, "/root/after/new.crt", "/root/before");
    assert!(!is_answered(with_old_certificate), "the old authority is still accepted");
    let listed = lab.done(&["state", "list", "hosts-single"]);
    assert!(
        listed.contains("keypair.etcd-ca-2") && listed.contains("file.server/etcd-snapshots-1.key"),
        "{listed}"
    );

    // Snapshots of both authorities can be opened.
    lab.done(&["etcd", "backup", "hosts-single"]);
    for (name, number) in [(sealed_before, 1), (newest_snapshot(lab), 2)] {
        let fetch = format!(
            "/var/lib/slipway/bin/slipway node etcd-backup --fetch {name} --out /root/snapshot-{number}.db"
        );
        machine.check(["sh", "-c", &fetch]).unwrap();
    }
}

fn newest_snapshot(lab: &Lab) -> String {
    // A scheduled snapshot may have failed while etcd was started again: then the exit code is 1.
    let listed = lab.run(&["etcd", "snapshots", "hosts-single", "-o", "json"]);
    let listed: Json = serde_json::from_str(&listed.out).unwrap();
    listed["snapshots"][0]["name"].as_str().unwrap().to_owned()
}

/// Asks etcd with the client certificate in a folder.
fn etcd_client(lab: &Lab, authority: &str, folder: &str) -> Seen {
    let command = format!(
        "etcdctl --cacert={authority} --cert={folder}/healthcheck-client.crt --key={folder}/healthcheck-client.key \
         --endpoints=https://127.0.0.1:2379 --dial-timeout=2s --command-timeout=3s get /registry/health"
    );
    let said = Said::from(lab.machines[0].run(["sh", "-c", &command]).unwrap());
    if said.code == Some(0) {
        return Seen::Answer;
    }
    let of_trust = |line: &&str| ["x509", "tls:", "certificate"].iter().any(|word| line.contains(word));
    match said.err.lines().find(of_trust) {
        Some(line) => Seen::Refusal(line.to_owned()),
        None => Seen::Absence,
    }
}
