use super::*;
use serde_json::json;

fn patches(files: &[(&str, &str)]) -> Result<Patches, PatchError> {
    Patches::read(&files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
}

#[test]
fn names_say_what_and_how() {
    let read = patches(&[
        ("kube-apiserver.yaml", "a: 1"),
        ("kube-apiserver0+merge.json", "{}"),
        ("etcd+json.yaml", "[]"),
        ("etcd.txt", "a: 1"),
        ("other.yaml", "a: 1"),
        ("etcdempty.yaml", ""),
    ])
    .unwrap();
    assert_eq!(read.ignored, ["etcd.txt", "etcdempty.yaml", "other.yaml"]);
    let kinds: Vec<(Target, Kind)> = read.patches.iter().map(|patch| (patch.target, patch.kind)).collect();
    assert_eq!(
        kinds,
        [(Target::Etcd, Kind::Json), (Target::ApiServer, Kind::Strategic), (Target::ApiServer, Kind::Merge)]
    );
    assert_eq!(patches(&[("etcd+wrong.yaml", "a: 1")]).unwrap_err().code(), "EXPAND0001");
    assert_eq!(patches(&[("etcd.yaml", "{")]).unwrap_err().code(), "EXPAND0002");
}

#[test]
fn operations_change_places() {
    let patch = r#"
- {op: test, path: /a~1b, value: 1}
- {op: add, path: /list/1, value: x}
- {op: add, path: /list/-, value: z}
- {op: remove, path: /gone}
- {op: replace, path: /a~1b, value: 2}
- {op: copy, from: /list/0, path: /first}
- {op: move, from: /first, path: /moved}
"#;
    let read = patches(&[("etcd+json.yaml", patch)]).unwrap();
    let value = json!({"a/b": 1, "list": ["w", "y"], "gone": true});
    assert_eq!(
        read.apply(Target::Etcd, value.clone()).unwrap(),
        json!({"a/b": 2, "list": ["w", "x", "y", "z"], "moved": "w"})
    );
    let wrong = patches(&[("etcd+json.yaml", "- {op: remove, path: /nothing}")]).unwrap();
    assert_eq!(wrong.apply(Target::Etcd, value).unwrap_err().code(), "EXPAND0003");
}

#[test]
fn lists_of_known_objects_are_merged_by_key() {
    let patch = r#"
spec:
  hostNetwork: null
  containers:
  - name: etcd
    env: [{name: B, value: "2"}, {name: A, value: "1"}]
    volumeMounts: [{mountPath: /b, $patch: delete}]
    command: [replaced]
  - name: sidecar
    image: side
  volumes:
  - name: new
    hostPath: {path: /new}
"#;
    let read = patches(&[("etcd.yaml", patch)]).unwrap();
    let value = json!({"spec": {"hostNetwork": true, "containers": [{
        "name": "etcd", "command": ["etcd"], "env": [{"name": "A", "value": "0"}, {"name": "C"}],
        "volumeMounts": [{"mountPath": "/a", "name": "a"}, {"mountPath": "/b", "name": "b"}],
    }], "volumes": [{"name": "a"}]}});
    assert_eq!(
        read.apply(Target::Etcd, value).unwrap(),
        json!({"spec": {"containers": [
            {"name": "etcd", "command": ["replaced"],
             "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}, {"name": "C"}],
             "volumeMounts": [{"mountPath": "/a", "name": "a"}]},
            {"name": "sidecar", "image": "side"}],
            "volumes": [{"name": "new", "hostPath": {"path": "/new"}}, {"name": "a"}]}})
    );
}

#[test]
fn a_kubelets_lists_are_replaced() {
    let read = patches(&[("kubeletconfiguration.yaml", "clusterDNS: [10.0.0.2]\nmaxPods: null")]).unwrap();
    let value = json!({"clusterDNS": ["10.96.0.10"], "maxPods": 7});
    assert_eq!(read.apply(Target::Kubelet, value).unwrap(), json!({"clusterDNS": ["10.0.0.2"]}));
}
