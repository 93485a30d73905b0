//! Commands for users of a cluster: reports, credentials, logs.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value as Json;
use slipway_integration::json_schema::misfits;
use slipway_testkit::Machine;
use slipway_testkit::wait::until;

use crate::lab::{Lab, etcdctl};

/// The published schema of results.
const RESULTS: &str = include_str!("../../../src/commands/schema/results.v1.schema.json");

/// The cluster's health as JSON, with the exit code that tells the same.
fn health(lab: &Lab) -> Json {
    let said = lab.run(&["validate", "hosts-single", "-o", "json"]);
    let health: Json = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    assert_eq!(said.code, Some(if health["healthy"] == true { 0 } else { 1 }), "{said:?}");
    let mut schema: Json = serde_json::from_str(RESULTS).unwrap();
    schema["$ref"] = "#/$defs/health".into();
    assert_eq!(misfits(&schema, &health), [""; 0], "{health}");
    health
}

/// A machine with an obstacle: its node does not register, and the error has its progress and the reason.
pub(crate) fn see_why_a_node_does_not_come(lab: &Lab) {
    let settings = "/var/lib/kubelet/config.yaml";
    lab.machines[0].check(["mkdir", "-p", settings]).unwrap();
    // The obstacle is found before the first step.
    let stopped = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap().err;
    assert!(stopped.contains("CLI0013") && stopped.contains(settings), "{stopped}");
    assert!(!lab.is_claimed("server"));
    lab.run(&["apply", "-f", "spec", "--yes", "--no-preflight"]).wanted(1, "slipway apply").unwrap();
    let health = health(lab);
    assert_eq!(health["healthy"], false);
    assert_eq!(health["api"]["answers"], false);
    let node = &health["nodes"][0];
    assert_eq!(
        (&node["name"], &node["pool"], &node["phase"]),
        (&"server".into(), &"control-plane".into(), &"prepared".into())
    );
    let why = node["error"].as_str().unwrap();
    assert!(why.starts_with("file.server/kubelet-config: ") && why.contains(settings), "{why}");
    let text = lab.run(&["validate", "hosts-single"]).wanted(1, "slipway validate").unwrap().out;
    for said in ["NODE", "PHASE", "LAST ERROR", why, "hosts-single is not healthy."] {
        assert!(text.contains(said), "{said} in {text}");
    }
    lab.machines[0].check(["rmdir", settings]).unwrap();
}

/// A cluster that is well, its logs, and the ways into it.
pub(crate) fn see_how_it_is_and_get_in(lab: &Lab) {
    lab.done(&["validate", "hosts-single", "--wait", "5m"]);
    let health = health(lab);
    assert_eq!((&health["healthy"], &health["nodes"][0]["phase"]), (&true.into(), &"ready".into()));
    let certificates = health["certificates"].as_array().unwrap();
    assert!(certificates.iter().any(|one| one["address"] == "certificate.server/apiserver"), "{health}");
    let text = lab.done(&["validate", "hosts-single"]);
    assert!(text.contains("\nCERTIFICATES  ") && text.contains(", of which the first ends on 20"), "{text}");

    assert!(lab.done(&["logs", "server"]).contains("kubelet"));
    let log = lab.done(&["logs", "server", "kube-apiserver", "--tail", "3"]);
    assert!((1..=3).contains(&log.lines().count()), "{log}");
    let mut follow = lab.command(&["logs", "server", "--tail", "1", "--follow"]);
    let mut follow = follow.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let read = BufReader::new(follow.stdout.take().unwrap()).read_line(&mut line);
    follow.kill().unwrap();
    follow.wait().unwrap();
    assert!(read.is_ok() && !line.trim().is_empty(), "{read:?} {line}");
    let err = lab.run(&["logs", "nobody"]).wanted(1, "slipway logs").unwrap().err;
    assert!(err.contains("no cluster has a node nobody"), "{err}");

    a_person_of_a_group(lab);
    a_kubeconfig_of_several_clusters(lab);
    a_bundle_without_secrets(lab);
}

/// An etcd member that was added and never started: no other member could join.
pub(crate) fn see_a_member_that_never_started(lab: &Lab) {
    let machine = &lab.machines[0];
    let added = etcdctl(machine, "member add ghost --learner --peer-urls=https://192.0.2.99:2380");
    let id = added.split_whitespace().nth(1).unwrap().to_owned();
    let health = health(lab);
    assert_eq!(health["healthy"], false);
    let told = health["etcd"][0].as_str().unwrap();
    for part in ["192.0.2.99", "never started", &format!("`etcdctl member remove {id}` on server")] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let text = lab.run(&["validate", "hosts-single"]).wanted(1, "slipway validate").unwrap().out;
    assert!(text.contains(told) && text.contains("hosts-single is not healthy."), "{text}");
    etcdctl(machine, &format!("member remove {id}"));
    lab.done(&["validate", "hosts-single", "--wait", "1m"]);
}

fn a_person_of_a_group(lab: &Lab) {
    let file = lab.file("../ada");
    let name = file.display().to_string();
    let person = ["kubeconfig", "hosts-single", "--user", "ada", "--group", "developers"];
    lab.done(&[&person[..], &["--valid-for", "1h", "--out", &name]].concat());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let me: Json = serde_json::from_str(&lab.ask(&file, &["auth", "whoami", "-o", "json"]).unwrap()).unwrap();
    assert_eq!(me["status"]["userInfo"]["username"], "ada");
    assert_eq!(me["status"]["userInfo"]["groups"], serde_json::json!(["developers", "system:authenticated"]));
    // A group has the permissions of its role bindings.
    let refused = lab.ask(&file, &["get", "pods", "-A"]).unwrap_err().to_string();
    assert!(refused.contains("forbidden"), "{refused}");
    lab.kubectl(&["create", "clusterrolebinding", "developers", "--clusterrole=view", "--group=developers"]);
    until("the group may look", || Ok(lab.ask(&file, &["get", "pods", "-A"]).ok())).unwrap();

    // Credentials expire by themselves.
    lab.done(&[&person[..], &["--valid-for", "1s", "--out", &name]].concat());
    until("the credentials are good no more", || {
        let refused = lab.ask(&file, &["get", "pods", "-A"]).err().map(|error| error.to_string());
        Ok(refused.filter(|text| text.contains("Unauthorized") || text.contains("provide credentials")))
    })
    .unwrap();
}

fn a_kubeconfig_of_several_clusters(lab: &Lab) {
    let other = "apiVersion: v1\nkind: Config\ncurrent-context: mine\nclusters:\n- name: mine\n  cluster: { server: \"https://192.0.2.1\" }\n\
                 contexts:\n- name: mine\n  context: { cluster: mine, user: me }\nusers:\n- name: me\n  user: { token: kept }\n";
    let file = lab.file("../merged");
    fs::write(&file, other).unwrap();
    lab.done(&["kubeconfig", "hosts-single", "--merge", "--out", &file.display().to_string()]);
    assert!(lab.ask(&file, &["get", "nodes", "-o", "name"]).unwrap().contains("node/server"));
    let contexts = lab.ask(&file, &["config", "get-contexts", "-o", "name"]).unwrap();
    assert_eq!(contexts.lines().count(), 2, "{contexts}");
    assert!(contexts.contains("mine") && fs::read_to_string(&file).unwrap().contains("token: kept"));

    // Once more: new credentials in the same place, and everything else as it was.
    let before = fs::read_to_string(&file).unwrap();
    lab.done(&["kubeconfig", "hosts-single", "--merge", "--out", &file.display().to_string()]);
    let after = fs::read_to_string(&file).unwrap();
    assert_ne!(before, after);
    assert_eq!(before.lines().count(), after.lines().count(), "{after}");
    assert!(lab.ask(&file, &["get", "nodes", "-o", "name"]).unwrap().contains("node/server"));
    assert_eq!(lab.ask(&file, &["config", "get-contexts", "-o", "name"]).unwrap(), contexts);
}

/// A node with a stopped kubelet: health reports it, and the next apply starts the kubelet.
pub(crate) fn see_a_kubelet_that_stopped(lab: &Lab) {
    lab.machines[0].check(["systemctl", "stop", "kubelet"]).unwrap();
    let node = until("the node is given up", || {
        let health = health(lab);
        let node = health["nodes"][0].clone();
        // Other parts may be unhealthy before: a busy machine is slow to report its pods.
        Ok((health["healthy"] == false && node["phase"] == "registered").then_some(node))
    })
    .unwrap();
    assert_eq!((&node["name"], &node["phase"]), (&"server".into(), &"registered".into()), "{node}");
    let why = node["error"].as_str().unwrap();
    assert!(why.contains("Kubelet stopped posting node status"), "{why}");
    let text = lab.run(&["validate", "hosts-single"]).wanted(1, "slipway validate").unwrap().out;
    assert!(text.contains(why) && text.contains("registered"), "{text}");
    lab.changes("a kubelet that had stopped", &["~ service.server/kubelet"]);
    lab.done(&["validate", "hosts-single", "--wait", "5m"]);
}

/// Another cluster that uses the machine of this one: the error names the owner, and nothing changes.
pub(crate) fn see_whose_a_machine_is(lab: &Lab) {
    let folder = lab.file("../other");
    fs::create_dir(&folder).unwrap();
    fs::copy(lab.file("hosts.yaml"), folder.join("hosts.yaml")).unwrap();
    let spec = fs::read_to_string(lab.file("cluster.yaml")).unwrap();
    fs::write(folder.join("cluster.yaml"), spec.replace("name: hosts-single", "name: another")).unwrap();
    for verb in [&["plan"][..], &["apply", "--yes"]] {
        let said = lab.run(&[verb, &["-f", "other"]].concat()).wanted(1, "slipway plan").unwrap();
        assert!(said.err.contains("server belongs to cluster hosts-single"), "{said:?}");
    }
    assert!(!lab.done(&["get", "clusters"]).contains("another"));
}

fn a_bundle_without_secrets(lab: &Lab) {
    let variable = "a-password-in-a-variable";
    let pod = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{ name: careless }}\nspec:\n  schedulerName: nobody\n  containers:\n  - name: one\n    \
         image: example.com/none\n    env: [ {{ name: PASSWORD, value: {variable} }} ]\n"
    );
    let file = lab.file("../pod.yaml");
    fs::write(&file, pod).unwrap();
    lab.kubectl(&["apply", "-f", &file.display().to_string()]);
    let folder = lab.file("../bundle");
    lab.done(&["support-bundle", "hosts-single", "--out", &folder.display().to_string()]);
    let mut secrets = secrets(&lab.machines[0]);
    secrets.push(variable.to_owned());
    secrets.extend(key_lines(&fs::read_to_string(lab.file("../id")).unwrap()));
    assert!(secrets.len() > 20, "{} secrets", secrets.len());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        for secret in &secrets {
            assert!(!text.contains(secret.as_str()), "{} has a secret", path.display());
        }
        names.push(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    for name in
        ["spec.json", "health.json", "resources.txt", "pods.json", "events.json", "server-kubelet.log"]
    {
        assert!(names.iter().any(|found| found == name), "{name} in {names:?}");
    }
    assert!(fs::read_to_string(folder.join("pods.json")).unwrap().contains("careless"));
    lab.kubectl(&["delete", "pod", "careless", "--wait=false"]);
}

/// The secrets on a machine: private keys, keys for encryption at rest, tokens.
pub(crate) fn secrets(machine: &Machine) -> Vec<String> {
    let found = machine.check(["find", "/etc/kubernetes", "/var/lib/kubelet/pki", "-type", "f"]).unwrap();
    let mut secrets = Vec::new();
    for path in found.lines() {
        let text = String::from_utf8_lossy(&machine.read(path).unwrap()).into_owned();
        let path = Path::new(path);
        if path.extension().is_some_and(|extension| extension == "key" || extension == "pem") {
            secrets.extend(key_lines(&text));
        }
        for line in text.lines() {
            for field in ["client-key-data: ", "secret: ", "token: "] {
                let value = line.trim_start_matches([' ', '-']).strip_prefix(field);
                secrets.extend(value.map(|value| value.trim_matches('"').to_owned()));
            }
        }
    }
    secrets
}

/// The lines of private keys.
fn key_lines(text: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        match line {
            line if line.contains("-----BEGIN") => inside = line.contains("PRIVATE KEY"),
            line if line.contains("-----END") => inside = false,
            line if inside => lines.push(line.to_owned()),
            _ => {}
        }
    }
    lines
}
