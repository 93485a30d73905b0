//! Leftovers of kubelets and networks are removed with the node; what existed before stays. Needs root, for
//! mounts.

use serde_json::json;

use super::bench::{Bench, value};

fn is_mounted(path: &std::path::Path) -> bool {
    let table = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.lines().any(|line| line.split(' ').nth(4) == path.to_str())
}

fn mount(path: &std::path::Path) {
    std::fs::create_dir_all(path).unwrap();
    let status =
        std::process::Command::new("mount").args(["-t", "tmpfs", "slipway-test"]).arg(path).status().unwrap();
    assert!(status.success(), "this test mounts file systems: it needs root");
}

/// Unmounts at the end of a test that fails, too.
struct Unmounted(std::path::PathBuf);

impl Drop for Unmounted {
    fn drop(&mut self) {
        if is_mounted(&self.0) {
            let _ = std::process::Command::new("umount").arg(&self.0).status();
        }
    }
}

#[tokio::test]
async fn a_kubelets_mounts_and_files_go_and_those_from_before_stay() {
    let bench = Bench::new().await;
    bench.put("/var/lib/kubelet/mine/data", "before");
    let wanted = value(json!({"path": "/var/lib/kubelet"}));
    bench.create("kubelet_state.kubelet", wanted.clone()).await.unwrap();
    let volume = bench.path("/var/lib/kubelet/pods/a/volumes/token");
    mount(&volume);
    let _unmounted = Unmounted(volume.clone());
    std::fs::write(volume.join("token"), "secret").unwrap();
    bench.put("/var/lib/kubelet/cpu_manager_state", "{}");
    assert_eq!(bench.changes("kubelet_state.kubelet", "/var/lib/kubelet", &wanted).await, [""; 0]);
    bench.delete("kubelet_state.kubelet", "/var/lib/kubelet").await.unwrap();
    assert!(!is_mounted(&volume));
    assert!(!bench.path("/var/lib/kubelet/pods").exists());
    assert!(!bench.path("/var/lib/kubelet/cpu_manager_state").exists());
    assert_eq!(bench.text("/var/lib/kubelet/mine/data"), "before");
}

#[tokio::test]
async fn a_folder_with_a_mount_in_it_is_not_emptied() {
    let bench = Bench::new().await;
    bench.create("directory.data", value(json!({"path": "/data", "purge": true}))).await.unwrap();
    bench.put("/data/file", "kept");
    let volume = bench.path("/data/volume");
    mount(&volume);
    let _unmounted = Unmounted(volume.clone());
    std::fs::write(volume.join("file"), "foreign").unwrap();
    let error = bench.delete("directory.data", "/data").await.unwrap_err();
    assert!(matches!(error.class, slipway_resource::ErrorClass::Dependency { .. }), "{error}");
    assert_eq!(bench.text("/data/file"), "kept");
    assert_eq!(std::fs::read_to_string(volume.join("file")).unwrap(), "foreign");
}

#[tokio::test]
async fn files_of_the_network_go_unless_they_were_there() {
    let bench = Bench::new().await;
    bench.put("/etc/cni/net.d/10-mine.conflist", "{}");
    let wanted = value(json!({
        "name": "pods", "files": ["/run/flannel", "/etc/cni/net.d/10-flannel.conflist", "/etc/cni/net.d/10-mine.conflist"],
        "interfaces": ["cni0"], "chains": ["KUBE-"], "tables": ["ip kube-proxy"],
    }));
    bench.create("network_state.pods", wanted).await.unwrap();
    bench.put("/run/flannel/subnet.env", "A=b");
    bench.put("/etc/cni/net.d/10-flannel.conflist", "{}");
    bench.delete("network_state.pods", "pods").await.unwrap();
    assert!(!bench.path("/run/flannel").exists());
    assert!(!bench.path("/etc/cni/net.d/10-flannel.conflist").exists());
    assert!(bench.path("/etc/cni/net.d/10-mine.conflist").exists());
}

#[tokio::test]
async fn empty_folders_go_with_the_last_object_and_those_from_before_stay() {
    let bench = Bench::new().await;
    bench.put("/etc/hosts", "127.0.0.1 localhost");
    std::fs::create_dir_all(bench.path("/etc/systemd/system")).unwrap();
    let paths = [
        "/etc/kubernetes/pki/etcd/ca.crt",
        "/etc/kubernetes/manifests/etcd.yaml",
        "/etc/systemd/system/kubelet.service.d/10-slipway.conf",
    ];
    for (number, path) in paths.iter().enumerate() {
        let wanted = value(json!({"path": path, "content": "ours"}));
        bench.create(&format!("file.f{number}"), wanted).await.unwrap();
    }
    // Another program puts a file into a folder that was made for our files.
    bench.put("/etc/kubernetes/pki/notes.txt", "theirs");
    for (number, path) in paths.iter().enumerate() {
        bench.delete(&format!("file.f{number}"), path).await.unwrap();
    }
    for gone in
        ["/etc/kubernetes/manifests", "/etc/kubernetes/pki/etcd", "/etc/systemd/system/kubelet.service.d"]
    {
        assert!(!bench.path(gone).exists(), "{gone}");
    }
    assert_eq!(bench.text("/etc/kubernetes/pki/notes.txt"), "theirs");
    assert!(bench.path("/etc/systemd/system").is_dir(), "it was there before");
    assert!(
        !bench.path("/var/lib/slipway/folders").exists(),
        "nothing is remembered of a node that is given back"
    );
}
