//! A machine whose image has neither a container runtime nor a kubelet installs them from mirrors.

use anyhow::{Result, ensure};
use serde_json::{Value as Json, json};
use slipway_resource::Digest;
use slipway_testkit::machine::Machine;
use slipway_testkit::network::Network;
use slipway_testkit::{kubernetes, wait::until};

use super::state::State;
use super::{CLUSTER, STATE, boot, document, started_with, status};
use crate::place::{become_ready, unchanged};

/// Removes from a machine the files that an image without Kubernetes does not have.
const STRIP: &str = "systemctl stop containerd kubelet; systemctl disable containerd kubelet
rm -rf /usr/bin/containerd* /usr/bin/ctr /usr/bin/runc /usr/sbin/runc /usr/local/bin/kubelet \
  /usr/lib/systemd/system/containerd.service /usr/lib/systemd/system/kubelet.service* /lib/systemd/system/containerd.service \
  /etc/systemd/system/multi-user.target.wants/* /etc/containerd /opt/cni/bin /usr/lib/cni /run/containerd/containerd.sock";

/// Settings of containerd for test machines.
const EXTRA: &str = "[plugins.\"io.containerd.grpc.v1.cri\"]
disable_apparmor = true
restrict_oom_score_adj = true
[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]
SystemdCgroup = false
";

#[test]
#[ignore = "needs root and namespaces"]
fn a_machine_installs_what_its_image_lacks() -> Result<()> {
    let network = Network::new()?;
    let (folder, files) = release(&network)?;
    // One mirror is down, one serves other bytes, and the last one has the files.
    std::fs::create_dir(folder.join("other"))?;
    for file in &files {
        std::fs::write(
            folder.join("other").join(file["path"].as_str().unwrap_or_default()),
            "another program",
        )?;
    }
    let _server = network.serve(&folder)?;
    install(&network, &files)
}

fn install(network: &Network, files: &[Json]) -> Result<()> {
    let address = network.address();
    let mut wanted: Json = serde_json::from_str(&document("controlPlane", &format!("file://{STATE}")))?;
    wanted["runtime"] = json!({"extraConfig": EXTRA});
    wanted["programs"] = json!({
        "mirrors": [format!("http://{address}:1"), format!("http://{address}:8000/other"), format!("http://{address}:8000")],
        "files": files,
    });
    let (machine, words) = started_with(network, "n1", wanted.to_string(), "")?;
    machine.check(["sh", "-c", STRIP])?;
    ensure!(!machine.run(["sh", "-c", "command -v kubelet || command -v containerd"])?.status.success());
    State::new(CLUSTER)?.copy_to(&machine, STATE)?;
    let endpoint = machine.address();
    boot(&machine, &words, &["--endpoint", &endpoint])?;
    until("the first program is there", || {
        Ok(machine.run(["test", "-e", "/usr/local/bin/containerd"])?.status.success().then_some(()))
    })?;
    status(&machine, "done", "this machine is the node n1")?;
    let log = machine.check(["journalctl", "-u", "slipway-boot"])?;
    for reason in [":1/kubelet: ", "/other/kubelet: it serves other bytes"] {
        ensure!(log.contains(reason), "{reason} is not in {log}");
    }
    become_ready(&machine, &machine)?;
    unchanged(&machine)?;
    nothing_is_left_over(&machine)
}

fn nothing_is_left_over(machine: &Machine) -> Result<()> {
    let drafts = machine.check(["find", "/usr/local/bin", "/opt/cni/bin", "-name", ".slipway*"])?;
    let downloads = machine.check(["find", "/var/lib/slipway/boot/downloads", "-type", "f"])?;
    ensure!(drafts.is_empty() && downloads.is_empty(), "{drafts}{downloads}");
    Ok(())
}

/// Files in the layout of releases, copied from this host: their folder, and their entries for the document.
fn release(network: &Network) -> Result<(std::path::PathBuf, Vec<Json>)> {
    let folder = network.folder().join("release");
    std::fs::create_dir(&folder)?;
    let script = r#"set -e
mkdir bin
cp /usr/bin/containerd /usr/bin/containerd-shim-runc-v2 /usr/bin/ctr bin/
tar -czf containerd.tar.gz bin
cp "$(command -v runc || echo /usr/sbin/runc)" runc
tar -czf plugins.tar.gz -C /usr/lib/cni .
cp "$1" kubelet
rm -r bin"#;
    let kubelet = kubernetes::install()?.join("kubelet");
    let made = std::process::Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(kubelet)
        .current_dir(&folder)
        .status()?;
    ensure!(made.success(), "the release cannot be made");
    let file = |name: &str, path: &str| -> Result<Json> {
        let digest = Digest::of_bytes(&std::fs::read(folder.join(path))?);
        let sha256 = digest.hex().to_owned();
        Ok(json!({"name": name, "path": path, "sha256": sha256}))
    };
    let files = vec![
        file("containerd", "containerd.tar.gz")?,
        file("runc", "runc")?,
        file("cniPlugins", "plugins.tar.gz")?,
        file("kubelet", "kubelet")?,
    ];
    Ok((folder, files))
}
