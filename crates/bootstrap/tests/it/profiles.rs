//! The files of nodes in each profile, compared with reviewed ones in `fixtures/profiles`; and what the profile `hardened`
//! says about a spec. `UPDATE_FIXTURES=1` writes the files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use slipway_bootstrap::expand::Facts;
use slipway_bootstrap::from_cluster::{Expanded, Founder, Machine, Placement, expand};
use slipway_cluster_input::ClusterInput;
use slipway_resource::{Desired, Value};
use slipway_spec::source::SourceFile;

const PROFILES: [&str; 3] = ["hardened", "kubeadm", "slipway"];

/// A cluster with a control plane and a worker, and these further lines in its spec.
fn cluster(profile: &str, further: &str) -> ClusterInput {
    let text = format!(
        "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{name: demo}}\nspec:\n  profile: {profile}\n  \
         provider: {{name: hosts}}\n  kubernetesVersion: 1.34.4\n  network: {{podCidrs: [100.96.0.0/11]}}\n{further}---\n\
         apiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{name: control-plane}}\nspec:\n  role: controlPlane\n  \
         hosts: {{count: 1}}\n---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{name: workers}}\nspec:\n  \
         role: worker\n  hosts: {{count: 1}}\n"
    );
    let loaded = slipway_spec::load::load_files(vec![SourceFile::new("cluster.yaml", text)], &[]);
    loaded.clusters.first().unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics)).into()
}

fn machine(name: &str, pool: &str, address: &str) -> Machine {
    Machine {
        rejoins: false,
        name: name.to_owned(),
        pool: pool.to_owned(),
        address: address.parse().unwrap(),
        zone: None,
        region: None,
        node_labels: BTreeMap::new(),
        founding: true,
        facts: Facts { hostname: name.to_owned(), ..Facts::default() },
        cri_sockets: vec!["unix:///run/containerd/containerd.sock".to_owned()],
        kubelet_is_named: false,
        programs_from_start: None,
        found: None,
    }
}

fn expanded(profile: &str, further: &str) -> Expanded {
    let placement = Placement {
        machines: vec![
            machine("cp-0", "control-plane", "192.0.2.1"),
            machine("worker-0", "workers", "192.0.2.2"),
        ],
        founders: vec![Founder { name: "cp-0".to_owned(), address: "192.0.2.1".parse().unwrap() }],
        elected: Some("cp-0".to_owned()),
        ..Placement::default()
    };
    expand(&cluster(profile, further), &placement, &[]).unwrap()
}

/// The text files of the nodes, each with its mode in the first line.
fn files(resources: &[Desired]) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for desired in resources {
        let text = |name: &str| desired.attributes.get(name).and_then(Value::as_str);
        let Some(content) = text("content").or(text("manifest")) else { continue };
        let (Some(host), Some(path)) = (text("host"), text("path")) else { continue };
        let mode = text("mode").unwrap_or("static pod");
        files.insert(format!("{host}{path}"), format!("# {mode}\n{content}"));
    }
    files
}

fn folder(profile: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/profiles").join(profile)
}

fn reviewed(folder: &Path, below: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(below).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            reviewed(folder, &path, found);
        } else {
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn the_files_of_each_profile_are_the_reviewed_ones() {
    for profile in PROFILES {
        let folder = folder(profile);
        let made = files(&expanded(profile, "").resources);
        if std::env::var_os("UPDATE_FIXTURES").is_some() {
            let _ = fs::remove_dir_all(&folder);
            for (name, text) in &made {
                let path = folder.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
        }
        let mut known = BTreeMap::new();
        reviewed(&folder, &folder, &mut known);
        assert_eq!(made.keys().collect::<Vec<_>>(), known.keys().collect::<Vec<_>>(), "{profile}");
        for (name, text) in &made {
            assert_eq!(text, &known[name], "{profile}: {name}");
        }
    }
}

/// The plan says which settings of a spec are weaker than the profile, and takes them.
#[test]
fn weaker_settings_are_named() {
    let weaker = "  audit: {maxAgeDays: 7}\n  podSecurity: {enforce: privileged}\n  encryption: {}\n  kubelet: {extraConfig: \
                  {seccompDefault: false}}\n  components: {apiServer: {extraArgs: {profiling: 'true', \
                  enable-admission-plugins: 'NodeRestriction'}}}\n";
    let weak = expanded("hardened", weaker);
    let fields: Vec<&str> = weak
        .notes
        .iter()
        .filter(|note| note.message.starts_with("weaker than the profile `hardened`"))
        .map(|note| note.field.as_str())
        .collect();
    assert_eq!(
        fields,
        [
            "components.apiServer.extraArgs.enable-admission-plugins",
            "components.apiServer.extraArgs.profiling",
            "kubelet.extraConfig.seccompDefault",
            "audit.maxAgeDays",
            "encryption.atRest",
            "podSecurity.enforce",
        ]
    );
    let files = files(&weak.resources);
    assert!(files["cp-0/etc/kubernetes/manifests/kube-apiserver.yaml"].contains("--profiling=true\n"));
    assert!(files["worker-0/var/lib/kubelet/config.yaml"].contains("seccompDefault: false\n"));
    // The rest of the log's settings is the profile's.
    assert!(
        files["cp-0/etc/kubernetes/manifests/kube-apiserver.yaml"].contains("--audit-log-maxbackup=10\n")
    );
    let strict = expanded("hardened", "");
    assert!(strict.notes.iter().all(|note| !note.message.contains("weaker")), "{:#?}", strict.notes);
}

/// The standards of a spec reach the API server in every profile.
#[test]
fn pod_security_does_not_need_the_profile() {
    let text = "  podSecurity: {enforce: restricted, exemptNamespaces: [storage]}\n";
    let files = files(&expanded("slipway", text).resources);
    let admission = &files["cp-0/etc/kubernetes/apiserver/admission.yaml"];
    assert!(admission.contains("enforce: restricted\n") && admission.contains("- storage\n"), "{admission}");
    assert!(!admission.contains("EventRateLimit"), "{admission}");
}

/// Machines change one after another, and the API server starts again when a file changes that it reads once.
#[test]
fn a_change_of_the_profile_takes_turns() {
    let resources = expanded("hardened", "").resources;
    let find = |address: &str| {
        let found = resources.iter().find(|desired| desired.address.to_string() == address);
        found.unwrap_or_else(|| panic!("no {address}"))
    };
    let turn = |address: &str| find(address).lifecycle.turn.as_ref().unwrap_or_else(|| panic!("{address}"));
    assert_eq!(turn("file.cp-0/admission-configuration").unit, turn("static_pod.cp-0/kube-apiserver").unit);
    assert!(turn("static_pod.cp-0/etcd").rank < turn("sysctl.worker-0/kernel.panic").rank);
    assert_eq!(turn("sysctl.worker-0/kernel.panic").unit, turn("service.worker-0/kubelet").unit);
    let api = find("static_pod.cp-0/kube-apiserver");
    let read_once = api.attributes.get("volatile_inputs").and_then(Value::as_map).unwrap();
    assert_eq!(read_once.keys().collect::<Vec<_>>(), ["admission-configuration", "audit-policy"]);
    let folder = find("directory.cp-0/etcd-data");
    assert_eq!(folder.attributes.get("owner").and_then(Value::as_str), Some("etcd"));
    assert!(folder.depends_on.iter().any(|before| before.to_string() == "system_account.cp-0/etcd"));
}
