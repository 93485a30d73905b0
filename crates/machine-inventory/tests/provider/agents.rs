//! A real agent on this machine, over TLS.

use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::lab::{Lab, condition, eventually, message};
use crate::objects::{ELEMENTAL_HOST, ELEMENTAL_MACHINE, ELEMENTAL_REGISTRATION, Space};
use crate::processes::{agent, manager};

pub fn life(lab: &Lab) {
    let space = Space::new(lab, "agents");
    let pki = lab.certificates();
    let certificate = |flag: &str, file: &str| format!("--api-{flag}-file={}", pki.join(file).display());
    let arguments = [
        certificate("cert", "apiserver.crt"),
        certificate("key", "apiserver.key"),
        certificate("ca", "ca.crt"),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let manager = manager(lab, &space.name, &arguments);
    let uri = format!(
        "https://127.0.0.1:{}/elemental/v1/namespaces/{}/registrations/rack",
        manager.api_port(),
        space.name
    );
    space.create(
        ELEMENTAL_REGISTRATION,
        "rack",
        json!({"spec": {"config": {"elemental": {"registration": {"uri": uri}}}}}),
    );
    let rack = space.becomes(ELEMENTAL_REGISTRATION, "rack", "is ready", |object| {
        condition(object, "Ready") == "True/Ready"
    });
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let config = json!({
        "registration": rack["spec"]["config"]["elemental"]["registration"],
        "hostname": "agent-1", "workDir": place("work"), "reconciliation": "200ms",
        "sentinelFile": place("run/success"), "ownerFile": place("owner"),
        "addresses": [{"type": "ExternalIP", "address": "198.51.100.7"}],
        "reset": [format!("touch {}", place("was-reset").display())],
    });
    fs::write(place("agent.yaml"), config.to_string()).unwrap();

    // One phase alone, then the agent as a service.
    let mut once = agent(lab, &place("agent.yaml"), &["--phase=register"]);
    assert_eq!(once.ended(), Some(0), "{}", once.log());
    let first = space.becomes(ELEMENTAL_HOST, "agent-1", "is installed", |object| {
        condition(object, "InstallationReady") == "True/Installed"
    });
    assert_eq!(first["status"]["addresses"][0], json!({"type": "ExternalIP", "address": "198.51.100.7"}));
    let mut running = agent(lab, &place("agent.yaml"), &[]);

    space.cluster(json!({"controlPlaneEndpoint": {"host": "api.example.com", "port": 6443}}));
    space.cluster_is_provisioned();
    let data =
        bootstrap_data(&place("etc/kubeadm.yaml").display().to_string(), &place("run").display().to_string());
    space.machine_with_data("m", false, json!({}), &data);
    let bootstrapped = |object: &Json| condition(object, "BootstrapReady") == "True/Bootstrapped";
    space.becomes(ELEMENTAL_HOST, "agent-1", "is bootstrapped", bootstrapped);
    assert_eq!(fs::read_to_string(place("etc/kubeadm.yaml")).unwrap(), "name: agent-1\n");
    let owner: Json = serde_json::from_str(&fs::read_to_string(place("owner")).unwrap()).unwrap();
    assert_eq!(owner, json!({"uid": format!("{uri}/hosts/agent-1"), "cluster": "Cluster API"}));
    space.becomes(ELEMENTAL_MACHINE, "m", "has its host", |object| {
        condition(object, "HostReady") == "True/Bootstrapped"
    });

    // An agent that is killed runs no bootstrap data twice.
    running.signal("KILL");
    assert_eq!(running.ended(), None);
    let running = agent(lab, &place("agent.yaml"), &[]);
    running.says("the host is registered");
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(fs::read_to_string(place("run/count")).unwrap(), "once\n");

    // The machine goes at once; the host is reset, and registers as a new one.
    space.delete(ELEMENTAL_MACHINE, "m");
    space.vanishes(ELEMENTAL_MACHINE, "m");
    let again = space.becomes(ELEMENTAL_HOST, "agent-1", "is registered again", |object| {
        object["metadata"]["uid"] != first["metadata"]["uid"]
            && condition(object, "InstallationReady") == "True/Installed"
    });
    assert!(place("was-reset").exists() && !place("run/success").exists() && !place("owner").exists());
    assert_ne!(again["spec"]["pubKey"], first["spec"]["pubKey"]);
    assert!(again["spec"]["machineRef"].is_null());

    // Data that the agent does not carry out is refused as a whole.
    space.machine_with_data(
        "n",
        false,
        json!({}),
        "#cloud-config\nusers: [{name: a}]\nruncmd: ['touch /nowhere/at/all']\n",
    );
    let failed = |object: &Json| condition(object, "HostReady") == "False/BootstrapFailed";
    space.becomes(ELEMENTAL_MACHINE, "n", "says why", failed);
    eventually("the log says why", || running.log().contains("`users`").then_some(()));
    drop(running);
    let mut once = agent(lab, &place("agent.yaml"), &["--phase=bootstrap"]);
    assert_eq!(once.ended(), Some(1), "a phase that has failed is no success");
    of_slipway(lab, &space, &config, folder.path());
}

/// Machines that are nodes of Slipway: one that is not registered is not offered to Cluster API. One that was registered before runs no
/// bootstrap data, and is not reset.
fn of_slipway(lab: &Lab, space: &Space<'_>, config: &Json, folder: &Path) {
    let place = |name: &str| folder.join(name);
    let mut config = config.clone();
    config["hostname"] = "agent-2".into();
    config["workDir"] = json!(place("work-2"));
    config["ownerFile"] = json!(place("owner-2"));
    config["reset"] = json!([format!("touch {}", place("was-reset-2").display())]);
    fs::write(place("agent-2.yaml"), config.to_string()).unwrap();
    let owner = r#"{"uid":"0b5cf4de","cluster":"demo"}"#;
    fs::write(place("owner-2"), owner).unwrap();
    let mut refused = agent(lab, &place("agent-2.yaml"), &["--phase=register"]);
    assert_eq!(refused.ended(), Some(1));
    assert!(
        refused.log().contains("this machine belongs to the cluster demo (0b5cf4de)"),
        "{}",
        refused.log()
    );
    assert!(space.get(ELEMENTAL_HOST, "agent-2").is_none());

    fs::remove_file(place("owner-2")).unwrap();
    let running = agent(lab, &place("agent-2.yaml"), &[]);
    running.says("the host is registered");
    fs::write(place("owner-2"), owner).unwrap();
    let run = place("run-2").display().to_string();
    let data = bootstrap_data(&place("etc-2/kubeadm.yaml").display().to_string(), &run);
    space.machine_with_data("o", false, json!({}), &data);
    let failed = |object: &Json| condition(object, "HostReady") == "False/BootstrapFailed";
    let machine = space.becomes(ELEMENTAL_MACHINE, "o", "says why", failed);
    assert!(message(&machine, "HostReady").contains("belongs to the cluster demo"), "{machine}");
    space.delete(ELEMENTAL_MACHINE, "o");
    space.vanishes(ELEMENTAL_MACHINE, "o");
    running.says("the commands of the reset do not run");
    space.vanishes(ELEMENTAL_HOST, "agent-2");
    assert!(!place("etc-2").exists() && !place("was-reset-2").exists());
    assert_eq!(fs::read_to_string(place("owner-2")).unwrap(), owner);
}

/// Bootstrap data as the kubeadm provider writes it.
fn bootstrap_data(kubeadm: &str, run: &str) -> String {
    format!(
        "## template: jinja
#cloud-config

write_files:
-   path: {kubeadm}
    owner: root:root
    permissions: '0640'
    content: |
      name: {{{{ ds.meta_data.local_hostname }}}}
-   path: {run}/placeholder
    permissions: '0640'
    content: \"\"
runcmd:
  - \"echo once >> {run}/count\"
  - 'cat {kubeadm} && echo success > {run}/success'
"
    )
}
