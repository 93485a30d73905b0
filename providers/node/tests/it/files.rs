//! Files and folders: their life, drift, earlier contents, ownership.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use slipway_resource::provider::{Action, Resolution};
use slipway_resource::{ErrorClass, Identity, Observation, Path};

use super::bench::{Bench, secret, value};

fn mode(bench: &Bench, path: &str) -> u32 {
    std::fs::metadata(bench.path(path)).unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn a_file_lives_and_tampering_shows() {
    let bench = Bench::new().await;
    let wanted = value(json!({"path": "/etc/a.conf", "content": "one\n", "mode": "0640"}));
    let made = bench.create("file.a", wanted.clone()).await.unwrap();
    assert_eq!(made.identity.unwrap().as_str(), "/etc/a.conf");
    assert_eq!((bench.text("/etc/a.conf").as_str(), mode(&bench, "/etc/a.conf")), ("one\n", 0o640));
    assert_eq!(bench.changes("file.a", "/etc/a.conf", &wanted).await, [""; 0]);
    assert_eq!(bench.discover().await.len(), 1);

    bench.put("/etc/a.conf", "changed\n");
    std::fs::set_permissions(bench.path("/etc/a.conf"), PermissionsExt::from_mode(0o666)).unwrap();
    let changes = bench.changes("file.a", "/etc/a.conf", &wanted).await;
    assert_eq!(changes, ["content: changed\n -> one\n", "mode: 0666 -> 0640"]);
    bench.update("file.a", "/etc/a.conf", wanted.clone()).await.unwrap();
    assert_eq!(bench.changes("file.a", "/etc/a.conf", &wanted).await, [""; 0]);

    bench.delete("file.a", "/etc/a.conf").await.unwrap();
    assert!(!bench.path("/etc/a.conf").exists());
    assert!(bench.discover().await.is_empty());
    assert!(!bench.path("/var/lib/slipway/owner").exists(), "the last object gives the node back");
}

#[tokio::test]
async fn a_secret_is_compared_and_never_returned() {
    let bench = Bench::new().await;
    let mut wanted = value(json!({"path": "/etc/key", "mode": "0600"}));
    wanted.set(&slipway_resource::Path::key("content"), secret("hunter2"));
    let made = bench.create("file.key", wanted.clone()).await.unwrap();
    assert_eq!((bench.text("/etc/key").as_str(), mode(&bench, "/etc/key")), ("hunter2", 0o600));
    let read = bench.read("file.key", "/etc/key").await;
    for shown in [format!("{made:?}"), format!("{read:?}"), format!("{:?}", bench.discover().await)] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    for entry in std::fs::read_dir(bench.path("/var/lib/slipway/owned")).unwrap() {
        assert!(!std::fs::read_to_string(entry.unwrap().path()).unwrap().contains("hunter2"));
    }
    assert_eq!(bench.changes("file.key", "/etc/key", &wanted).await, [""; 0]);
    bench.put("/etc/key", "hunter3");
    assert_eq!(bench.changes("file.key", "/etc/key", &wanted).await, ["content: (secret) -> (secret)"]);
    bench.update("file.key", "/etc/key", wanted.clone()).await.unwrap();
    assert_eq!(bench.text("/etc/key"), "hunter2");
    let mut other = wanted.clone();
    other.set(&slipway_resource::Path::key("content"), secret("longer one"));
    assert_eq!(bench.changes_since("file.key", "/etc/key", &other, &wanted).await.len(), 1);
}

#[tokio::test]
async fn what_was_there_before_is_kept_replaced_or_refused() {
    let bench = Bench::new().await;
    for name in ["kept", "replaced", "refused"] {
        bench.put(&format!("/etc/{name}"), "before");
    }
    let wanted = |name: &str, more: serde_json::Value| {
        let mut json = json!({"path": format!("/etc/{name}"), "content": "ours"});
        json.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        value(json)
    };
    let refused = bench.create("file.refused", wanted("refused", json!({}))).await.unwrap_err();
    assert_eq!(refused.class, ErrorClass::Conflict);
    assert!(bench.discover().await.is_empty());

    let kept = wanted("kept", json!({"keep_existing": true}));
    bench.create("file.kept", kept.clone()).await.unwrap();
    assert_eq!(bench.text("/etc/kept"), "before");
    assert_eq!(bench.changes("file.kept", "/etc/kept", &kept).await, [""; 0]);
    bench.delete("file.kept", "/etc/kept").await.unwrap();
    assert_eq!(bench.text("/etc/kept"), "before");

    std::fs::set_permissions(bench.path("/etc/replaced"), PermissionsExt::from_mode(0o604)).unwrap();
    let replaced = wanted("replaced", json!({"replace_existing": true}));
    bench.create("file.replaced", replaced.clone()).await.unwrap();
    assert_eq!(bench.text("/etc/replaced"), "ours");
    bench.delete("file.replaced", "/etc/replaced").await.unwrap();
    assert_eq!((bench.text("/etc/replaced").as_str(), mode(&bench, "/etc/replaced")), ("before", 0o604));

    // A file that Slipway did not create is never deleted.
    bench.delete("file.refused", "/etc/refused").await.unwrap();
    assert_eq!(bench.text("/etc/refused"), "before");
}

#[tokio::test]
async fn a_folder_goes_with_what_is_in_it_only_when_it_is_ours() {
    let bench = Bench::new().await;
    let wanted = |path: &str| value(json!({"path": path, "mode": "0700", "purge": true}));
    bench.create("directory.data", wanted("/var/lib/etcd")).await.unwrap();
    bench.put("/var/lib/etcd/data/wal", "data");
    std::os::unix::fs::symlink("/etc/passwd", bench.path("/var/lib/etcd/link")).unwrap();
    bench.put("/var/lib/foreign/other", "data");
    bench.create("directory.foreign", wanted("/var/lib/foreign")).await.unwrap();
    bench.put("/var/lib/foreign/member/wal", "what came later");
    bench.create("directory.swapped", wanted("/var/lib/swapped")).await.unwrap();
    std::fs::rename(bench.path("/var/lib/swapped"), bench.path("/var/lib/aside")).unwrap();
    bench.put("/var/lib/swapped/other", "data");
    bench.create("directory.plain", value(json!({"path": "/var/lib/plain"}))).await.unwrap();
    bench.put("/var/lib/plain/data", "data");
    for name in ["data", "foreign", "swapped", "plain"] {
        let path = if name == "data" { "/var/lib/etcd".to_owned() } else { format!("/var/lib/{name}") };
        bench.delete(&format!("directory.{name}"), &path).await.unwrap();
    }
    assert!(!bench.path("/var/lib/etcd").exists());
    assert_eq!(bench.text("/var/lib/foreign/other"), "data");
    assert!(!bench.path("/var/lib/foreign/member").exists(), "data of a deleted cluster is left");
    assert_eq!(bench.text("/var/lib/swapped/other"), "data");
    assert_eq!(bench.text("/var/lib/plain/data"), "data");
    assert!(std::path::Path::new("/etc/passwd").exists());
}

#[tokio::test]
async fn data_of_another_etcd_is_refused_and_left_as_it_is() {
    let bench = Bench::new().await;
    let wanted = value(json!({"path": "/var/lib/etcd", "mode": "0700", "purge": true}));
    bench.put("/var/lib/etcd/member/snap/db", "data");
    let refused = bench.create("directory.data", wanted.clone()).await.unwrap_err();
    assert_eq!(refused.class, ErrorClass::Conflict);
    assert!(
        refused.message.contains("/var/lib/etcd has data of an etcd whose ids cannot be read"),
        "{refused}"
    );
    assert!(refused.hint.unwrap().contains("mv /var/lib/etcd"));
    // The folder was never adopted, so no reset removes it.
    bench.delete("directory.data", "/var/lib/etcd").await.unwrap();
    assert_eq!(bench.text("/var/lib/etcd/member/snap/db"), "data");
    // An existing empty folder, such as one of a package or a mount, is used. Its new contents are removed,
    // and the folder stays.
    std::fs::rename(bench.path("/var/lib/etcd"), bench.path("/var/lib/aside")).unwrap();
    std::fs::create_dir_all(bench.path("/var/lib/etcd/lost+found")).unwrap();
    bench.create("directory.data", wanted.clone()).await.unwrap();
    bench.put("/var/lib/etcd/member/snap/db", "ours");
    bench.create("directory.data", wanted).await.unwrap();
    bench.delete("directory.data", "/var/lib/etcd").await.unwrap();
    assert!(!bench.path("/var/lib/etcd/member").exists() && bench.path("/var/lib/etcd/lost+found").exists());
}

/// The beginning of the log of etcd's member a in cluster b.
const LOG: &[u8] = b"\x04\0\0\0\0\0\0\x84\x08\x04\x10\0\0\0\0\0\x0a\0\0\0\0\0\0\x86\x08\x01\x10\0\x1a\x04\x08\x0a\x10\x0b\0\0\0\0\0\0";

#[tokio::test]
async fn data_of_etcd_is_known_by_its_cluster_and_deleted_only_when_this_member_wrote_it() {
    let bench = Bench::new().await;
    let wanted = value(json!({"path": "/var/lib/etcd", "purge": true, "fingerprint": "etcd"}));
    let fingerprint = async || match bench.read("directory.data", "/var/lib/etcd").await {
        Observation::Present(read) => read.get("fingerprint").cloned().unwrap_or_default(),
        other => panic!("{other:?}"),
    };
    // The ledger remembers the member of this node, once it has answered.
    let remember = |member: &str| {
        let owned = std::fs::read_dir(bench.path("/var/lib/slipway/owned")).unwrap().flatten();
        let entry =
            owned.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("directory-"));
        let path = entry.unwrap();
        let mut entry: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        entry["memory"]["member"] = member.into();
        std::fs::write(path, entry.to_string()).unwrap();
    };
    for (member, stays) in [("c", true), ("a", false)] {
        bench.create("directory.data", wanted.clone()).await.unwrap();
        assert_eq!(fingerprint().await, slipway_resource::Value::Null, "there is no data yet");
        std::fs::create_dir_all(bench.path("/var/lib/etcd/member/wal")).unwrap();
        std::fs::write(bench.path("/var/lib/etcd/member/wal/0-0.wal"), LOG).unwrap();
        assert_eq!(fingerprint().await, "etcd cluster b".into());
        remember(member);
        bench.delete("directory.data", "/var/lib/etcd").await.unwrap();
        assert_eq!(bench.path("/var/lib/etcd/member/wal/0-0.wal").exists(), stays, "of member {member}");
        if stays {
            assert_eq!(std::fs::read(bench.path("/var/lib/etcd/member/wal/0-0.wal")).unwrap(), LOG);
            std::fs::rename(bench.path("/var/lib/etcd"), bench.path("/var/lib/aside")).unwrap();
        }
    }
}

/// In a purged folder, only the files of its program are removed.
#[tokio::test]
async fn files_of_others_beside_data_and_logs_stay_and_are_named() {
    let bench = Bench::new().await;
    let data = value(json!({"path": "/var/lib/etcd", "purge": true, "fingerprint": "etcd"}));
    let log = value(json!({"path": "/var/log/kubernetes/audit", "purge": true}));
    bench.put("/var/lib/before/lost+found", "before");
    let before = value(json!({"path": "/var/lib/before", "purge": true, "fingerprint": "etcd"}));
    bench.create("directory.data", data).await.unwrap();
    bench.create("directory.before", before).await.unwrap();
    bench.create("directory.log", log).await.unwrap();
    let ours = [
        "/var/lib/etcd/member/snap/db",
        "/var/lib/before/member/snap/db",
        "/var/log/kubernetes/audit/audit.log",
        "/var/log/kubernetes/audit/audit-2026-01-01T00-00-00.000.log.gz",
    ];
    let foreign = [
        "/var/lib/etcd/notes.txt",
        "/var/lib/etcd/backup/monday.db",
        "/var/lib/before/notes.txt",
        "/var/log/kubernetes/audit/notes.txt",
    ];
    ours.iter().for_each(|path| bench.put(path, "ours"));
    foreign.iter().for_each(|path| bench.put(path, "of somebody else"));
    for (name, path) in
        [("data", "/var/lib/etcd"), ("before", "/var/lib/before"), ("log", "/var/log/kubernetes/audit")]
    {
        bench.delete(&format!("directory.{name}"), path).await.unwrap();
    }
    for path in ours {
        assert!(!bench.path(path).exists(), "{path} is left");
    }
    for path in foreign {
        assert_eq!(bench.text(path), "of somebody else", "{path}");
    }
    assert_eq!(bench.text("/var/lib/before/lost+found"), "before");
    assert!(!bench.path("/var/lib/slipway/folders").exists(), "records of folders are left");
}

#[tokio::test]
async fn another_cluster_is_refused() {
    let mut bench = Bench::new().await;
    let wanted = || value(json!({"path": "/etc/a", "content": "a"}));
    bench.create("file.a", wanted()).await.unwrap();
    bench.uid = "uid-b";
    let refused = bench.create("file.b", value(json!({"path": "/etc/b", "content": "b"}))).await.unwrap_err();
    assert_eq!(refused.class, ErrorClass::Conflict);
    assert!(refused.message.contains("uid-a") && refused.message.contains("uid-b"), "{refused}");
    assert_eq!(bench.delete("file.a", "/etc/a").await.unwrap_err().class, ErrorClass::Conflict);
    assert!(bench.path("/etc/a").exists() && !bench.path("/etc/b").exists());
    bench.uid = "uid-a";
    bench.delete("file.a", "/etc/a").await.unwrap();
    bench.uid = "uid-b";
    bench.create("file.b", wanted()).await.unwrap();
}

#[tokio::test]
async fn a_lost_answer_is_found_again() {
    let bench = Bench::new().await;
    let mut wanted = value(json!({"path": "/etc/key", "mode": "0600"}));
    wanted.set(&slipway_resource::Path::key("content"), secret("hunter2"));
    let request = bench.request("file.key", Action::Create { desired: wanted });
    assert_eq!(bench.resume(request.clone()).await, Resolution::NotDone);
    bench.apply(request.clone()).await.unwrap();
    // The journal keeps no text of a secret.
    let mut stripped = request.clone();
    if let Action::Create { desired } = &mut stripped.action {
        let text = serde_json::to_string(&desired).unwrap();
        *desired = serde_json::from_str(&text).unwrap();
    }
    assert!(matches!(bench.resume(stripped).await, Resolution::Done(_)));
    let again = bench.apply(request).await.unwrap();
    assert_eq!(again.identity, Some(Identity::new("/etc/key")));
}

#[tokio::test]
async fn paths_are_refused_when_planned() {
    let bench = Bench::new().await;
    for path in ["relative", "/a/../b", "/a//b"] {
        let refused = bench.planned("file.a", value(json!({"path": path, "content": ""}))).await;
        assert_eq!(refused.unwrap_err().class, ErrorClass::Invalid, "{path}");
    }
    for json in [
        json!({"path": "/a"}),
        json!({"path": "/a", "content": "a", "content_base64": "YQ=="}),
        json!({"path": "/a", "content": "a", "mode": "abc"}),
    ] {
        let refused = bench.planned("file.a", value(json.clone())).await;
        assert_eq!(refused.unwrap_err().class, ErrorClass::Invalid, "{json}");
    }
}

#[tokio::test]
async fn a_setting_comes_back_as_it_was() {
    let bench = Bench::new().await;
    bench.put("/proc/sys/net/ipv4/ip_forward", "0\n");
    let wanted = value(json!({"name": "net.ipv4.ip_forward", "value": "1"}));
    bench.create("sysctl.a", wanted.clone()).await.unwrap();
    assert_eq!(bench.text("/proc/sys/net/ipv4/ip_forward"), "1");
    bench.put("/proc/sys/net/ipv4/ip_forward", "0\n");
    let changes = bench.changes("sysctl.a", "net.ipv4.ip_forward", &wanted).await;
    assert_eq!(changes, ["value: 0 (after a restart 1) -> 1"]);
    bench.update("sysctl.a", "net.ipv4.ip_forward", wanted).await.unwrap();
    bench.delete("sysctl.a", "net.ipv4.ip_forward").await.unwrap();
    assert_eq!(bench.text("/proc/sys/net/ipv4/ip_forward"), "0");
    assert_eq!(bench.read("sysctl.a", "net.ipv4.ip_forward").await, Observation::Absent);
}

#[tokio::test]
async fn what_was_taken_over_stays_as_it_was_found() {
    let bench = Bench::new().await;
    let put = |path: &str, text: &str| {
        bench.put(path, text);
        std::fs::set_permissions(bench.path(path), std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    let (key, public) = ("/etc/kubernetes/pki/ca.key", "/etc/kubernetes/pki/sa.pub");
    put(key, "a key");
    put(public, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n");
    // A secret that Slipway did not write: only its existence is known, which is enough.
    let mut wanted = value(json!({"path": key, "mode": "0600"}));
    wanted.set(&Path::key("content"), secret("a key"));
    let found = bench.attributes("file.key", key).await;
    assert!(!format!("{found:?}").contains("a key"), "{found:?}");
    assert_eq!(bench.changes_since("file.key", key, &wanted, &found).await, [""; 0]);
    // When another attribute changes, the whole file is written.
    let mut other = wanted.clone();
    other.set(&Path::key("mode"), "0400".into());
    let changes = bench.changes_since("file.key", key, &other, &found).await;
    assert_eq!(changes, ["content: (secret) -> (secret)", "mode: 0600 -> 0400"]);
    bench.update("file.key", key, other.clone()).await.unwrap();
    assert_eq!(bench.changes("file.key", key, &other).await, [""; 0]);
    // A public content is not a secret because of the file's mode.
    let text = bench.text(public);
    let wanted = value(json!({"path": public, "content": text, "mode": "0600"}));
    assert_eq!(bench.changes("file.public", public, &wanted).await, [""; 0]);
}

/// An authority with its key, as texts.
fn authority() -> (String, String) {
    use slipway_bootstrap::configuration::EncryptionAlgorithm;
    use slipway_bootstrap::pki::{PrivateKey, Template};
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    let validity = std::time::Duration::from_secs(3_600);
    let template = Template::authority("kubernetes", jiff::Timestamp::now(), validity).unwrap();
    let certificate = template.self_signed(&key).unwrap().to_pem();
    (certificate, key.to_pem().unwrap().expose().to_owned())
}

#[tokio::test]
async fn a_key_is_never_overwritten_by_another_one() {
    let bench = Bench::new().await;
    let encryption = |key: &str| {
        format!("apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources: [{key}]\n")
    };
    let ((ca, key), (other_ca, other_key)) = (authority(), authority());
    let cases = [
        ("/etc/kubernetes/pki/ca.crt", ca, other_ca),
        ("/etc/kubernetes/pki/etcd/ca.key", key.clone(), other_key.clone()),
        ("/etc/kubernetes/pki/sa.key", key, other_key),
        ("/etc/kubernetes/apiserver/encryption.yaml", encryption("a"), encryption("b")),
    ];
    for (path, ours, other) in cases {
        let address = format!("file.{}", path.rsplit('/').next().unwrap());
        let wanted = |content: &str, more: serde_json::Value| {
            let mut wanted = value(json!({"path": path, "mode": "0600"}));
            wanted.set(&Path::key("content"), secret(content));
            for (name, text) in more.as_object().unwrap() {
                wanted.set(&Path::key(name.as_str()), text.as_str().unwrap().into());
            }
            wanted
        };
        bench.create(&address, wanted(&ours, json!({}))).await.unwrap();
        let Observation::Present(read) = bench.read(&address, path).await else {
            panic!("{path} is not there")
        };
        let print = read.get("fingerprint").and_then(slipway_resource::Value::as_str).unwrap().to_owned();
        assert!(print.starts_with("sha256:"), "{print}");

        // Nothing is written over it but the same key, whatever the step says of itself.
        let refused = bench.update(&address, path, wanted(&other, json!({}))).await.unwrap_err();
        assert_eq!(refused.class, ErrorClass::Conflict, "{refused}");
        assert!(refused.message.contains(&format!("{path} holds the key {print}")), "{refused}");
        let wrong = wanted(&other, json!({"replaces": "sha256:00"}));
        assert_eq!(bench.update(&address, path, wrong).await.unwrap_err().class, ErrorClass::Conflict);
        let garbage = bench.update(&address, path, wanted("garbage", json!({}))).await.unwrap_err();
        assert_eq!(garbage.class, ErrorClass::Conflict, "{garbage}");
        assert_eq!(bench.text(path), ours, "byte for byte");

        // The same key may be written again; another one only when the step names the lost key.
        bench.update(&address, path, wanted(&ours, json!({"fingerprint": print}))).await.unwrap();
        bench.update(&address, path, wanted(&other, json!({"replaces": print}))).await.unwrap();
        assert_eq!(bench.text(path), other);
    }
}

/// A configuration is replaced by one that decrypts what it has encrypted, and by no other.
#[tokio::test]
async fn an_encryption_configuration_may_get_a_second_key() {
    let bench = Bench::new().await;
    let path = "/etc/kubernetes/apiserver/encryption.yaml";
    let content = |keys: &[&str]| {
        let keys = keys.iter().map(|key| format!("      - name: {key}\n        secret: {key}{key}\n"));
        let keys = keys.collect::<String>();
        format!(
            "kind: EncryptionConfiguration\nresources:\n- providers:\n  - secretbox:\n      keys:\n{keys}"
        )
    };
    let wanted = |keys: &[&str]| {
        let mut wanted = value(json!({"path": path, "mode": "0600"}));
        wanted.set(&Path::key("content"), secret(&content(keys)));
        wanted
    };
    bench.create("file.encryption", wanted(&["a"])).await.unwrap();
    let skipped = bench.update("file.encryption", path, wanted(&["b"])).await.unwrap_err();
    assert_eq!(skipped.class, ErrorClass::Conflict);
    for keys in [&["a", "b"][..], &["b", "a"], &["b"]] {
        bench.update("file.encryption", path, wanted(keys)).await.unwrap();
        assert_eq!(bench.text(path), content(keys));
    }
    let back = bench.update("file.encryption", path, wanted(&["a"])).await.unwrap_err();
    assert_eq!(back.class, ErrorClass::Conflict);
}

#[tokio::test]
async fn a_secret_key_is_compared_by_its_public_fingerprint() {
    let bench = Bench::new().await;
    let (_, key) = authority();
    let (path, address) = ("/etc/kubernetes/pki/ca.key", "file.ca");
    let keyed = |fingerprint: &str| {
        let slipway_resource::Value::Secret(secret) = secret(&key) else { panic!("a secret") };
        let fingerprint = Some(fingerprint.to_owned());
        slipway_resource::Value::from(slipway_resource::Secret { fingerprint, ..*secret })
    };
    let mut wanted = value(json!({"path": path, "mode": "0600"}));
    wanted.set(&Path::key("content"), keyed("hmac-sha256:old:1"));
    bench.create(address, wanted.clone()).await.unwrap();
    let Observation::Present(read) = bench.read(address, path).await else { panic!("it is not there") };
    // The cluster's key for comparing is another one, as after the state was lost: the contents cannot be compared.
    wanted.set(&Path::key("content"), keyed("hmac-sha256:new:2"));
    let changes = bench.changes(address, path, &wanted).await;
    assert!(changes.iter().any(|change| change.starts_with("content: ")), "{changes:?}");
    wanted.set(&Path::key("fingerprint"), read.get("fingerprint").cloned().unwrap());
    assert_eq!(bench.changes(address, path, &wanted).await, [""; 0]);
}
