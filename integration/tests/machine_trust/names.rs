//! Names whose DNS server changes its answer: the program connects only to addresses that it has checked.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::PROGRAM;

/// The address of a server.
const GOOD: &str = "203.0.113.7";

/// The address of the cloud's metadata service, which has the credentials of machines.
const METADATA: &str = "169.254.169.254";

const CLUSTER: &str = "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: { name: rebound }\nspec:\n";

/// A plan in a network in which a name resolves to these addresses, one after the other.
struct Plan {
    said: String,
    /// The addresses of connections.
    connected: Vec<String>,
}

fn plan(files: &[(&str, String)], arguments: &str, addresses: &[&str]) -> Plan {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for folder in ["repo", "state", "home"] {
        fs::create_dir(at(folder)).unwrap();
    }
    for (name, text) in files {
        fs::write(at("repo").join(name), text).unwrap();
    }
    fs::write(at("resolv.conf"), "nameserver 127.0.0.1\noptions timeout:1 attempts:2\n").unwrap();
    fs::write(at("nsswitch.conf"), "hosts: files dns\n").unwrap();
    fs::write(at("notes"), "").unwrap();
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machine_trust/rebinding.py");
    let script = format!(
        "set -e\nip link set lo up\nip address add {GOOD}/32 dev lo\nip address add {METADATA}/32 dev lo\n\
         mount --bind \"$PLACE/resolv.conf\" /etc/resolv.conf\nmount --bind \"$PLACE/nsswitch.conf\" /etc/nsswitch.conf\n\
         python3 {server} \"$PLACE/notes\" {addresses} &\nserver=$!\ntrap 'kill $server' EXIT\n\
         until grep -q ready \"$PLACE/notes\"; do sleep 0.05; done\ncd \"$PLACE/repo\"\n\
         timeout 120 {PROGRAM} plan -f . --state \"$PLACE/state\" {arguments} </dev/null || true\n",
        server = server.display(),
        addresses = addresses.join(" "),
    );
    let output = Command::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", &script])
        .env("PLACE", place.path())
        .env("HOME", at("home"))
        .env_remove("KUBECONFIG")
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let notes = fs::read_to_string(at("notes")).unwrap();
    Plan {
        said: String::from_utf8_lossy(&said).into_owned(),
        connected: notes.lines().filter(|line| *line != "ready").map(str::to_owned).collect(),
    }
}

/// A name that resolves to a server first and then to the metadata service, and one that resolves to the
/// latter at once.
fn is_never_connected_to(name: &str, files: &[(&str, String)], arguments: &str, port: u16) {
    let changed = plan(files, arguments, &[GOOD, METADATA]);
    assert_eq!(changed.connected.first(), Some(&format!("{GOOD}:{port}")), "{}", changed.said);
    let is_refused = |plan: &Plan| {
        plan.said.contains(&format!("{name} resolves to {METADATA}, which the trust policy does not allow"))
    };
    // A host that was not reached once is not asked again in the same plan.
    assert!(is_refused(&changed) || changed.connected.len() == 1, "{}", changed.said);
    let at_once = plan(files, arguments, &[METADATA]);
    assert!(is_refused(&at_once), "{}", at_once.said);
    for plan in [changed, at_once] {
        let elsewhere = plan.connected.iter().find(|place| !place.starts_with(GOOD));
        assert_eq!(elsewhere, None, "{}", plan.said);
    }
    // With the caller's permission, the same name may resolve there, so the refusal above is what stopped it.
    let allowed = format!("{arguments} --trust host-network={METADATA}/32");
    let allowed = plan(files, &allowed, &[METADATA]);
    assert!(allowed.connected.contains(&format!("{METADATA}:{port}")), "{}", allowed.said);
}

#[test]
#[ignore = "needs root and namespaces"]
fn the_api_of_a_kubeconfig_is_at_an_address_that_was_checked() {
    slipway_testkit::packages::install().unwrap();
    let spec = format!(
        "{CLUSTER}  provider: {{ name: kubernetes, config: {{ kubeconfig: kc.conf }} }}\n  kubernetesVersion: 1.35.2\n\
         ---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: control-plane }}\n\
         spec: {{ role: controlPlane, machineType: any }}\n"
    );
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: a\n\
        contexts: [ { name: a, context: { cluster: a, user: a } } ]\n\
        clusters: [ { name: a, cluster: { server: 'https://api.evil.test:6443' } } ]\n\
        users: [ { name: a, user: { token: x } } ]\n";
    let files = [("cluster.yaml", spec), ("kc.conf", kubeconfig.to_owned())];
    is_never_connected_to("api.evil.test", &files, "", 6443);
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_host_is_entered_at_an_address_that_was_checked() {
    slipway_testkit::packages::install().unwrap();
    let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdZ5Z7c0mWkqvD1QlPOyL0vZQ7c9e7nqj0o1m3Jp3aA";
    let spec = format!(
        "{CLUSTER}  provider: {{ name: hosts }}\n  kubernetesVersion: 1.34.4\n\
         {indent}controlPlane: {{ endpoint: {{ elected: {{}} }}, schedulable: true }}\n\
         ---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: control-plane }}\n\
         spec: {{ role: controlPlane, hosts: {{ inventory: rack, matchLabels: {{ role: cp }} }} }}\n\
         ---\napiVersion: slipway.dev/v1alpha1\nkind: Host\nmetadata: {{ name: cp-0, labels: {{ role: cp }} }}\n\
         spec: {{ inventory: rack, addresses: [ {{ address: 192.0.2.10 }} ], \
         ssh: {{ address: cp-0.evil.test, hostKeys: [ '{key}' ] }} }}\n",
        indent = "  ",
    );
    is_never_connected_to("cp-0.evil.test", &[("cluster.yaml", spec)], "", 22);
}
