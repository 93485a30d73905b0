//! Machines: their contents, what survives a restart, and that they leave nothing on the host.
#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "what fails in a test ends it; times are told")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use slipway_testkit::machine::{Init, Machine, MachineOptions};
use slipway_testkit::scratch::Scratch;
use slipway_testkit::{Network, cache, wait};

/// Set for a process of `a_killed_test_leaves_nothing`.
const CHILD: &str = "SLIPWAY_TEST_MACHINE";

/// The sysctls that kubelets set.
const SYSCTLS: [&str; 4] =
    ["vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops"];

fn sysctls() -> Vec<String> {
    SYSCTLS.iter().map(|name| fs::read_to_string(format!("/proc/sys/{name}")).unwrap()).collect()
}

/// The traces of a network on the host: mounts, control groups, processes, its folder.
fn traces(id: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    found.extend(mounts.lines().filter(|line| line.contains(id)).map(|line| format!("mount {line}")));
    let groups = Command::new("find").args(["/sys/fs/cgroup", "-name", &format!("*{id}*")]).output().unwrap();
    found.extend(String::from_utf8(groups.stdout).unwrap().lines().map(|line| format!("group {line}")));
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let of = |file: &str| fs::read(process.path().join(file)).unwrap_or_default();
        let text = [of("cmdline"), of("cgroup"), of("environ")].concat();
        if String::from_utf8_lossy(&text).contains(id) {
            found.insert(format!(
                "process {}: {}",
                process.path().display(),
                String::from_utf8_lossy(&of("cmdline"))
            ));
        }
    }
    let folder = slipway_testkit::cache::folder().unwrap().join("machines").join(id);
    if folder.exists() {
        found.insert(format!("folder {}", folder.display()));
    }
    found
}

fn id(network: &Network) -> String {
    network.folder().file_name().unwrap().to_str().unwrap().to_owned()
}

/// The images by their names. A runtime that has just started adds those by digest one after the other.
fn images_of(machine: &Machine) -> BTreeSet<String> {
    let listed = machine.check(["ctr", "--namespace", "k8s.io", "images", "list", "--quiet"]).unwrap();
    listed.lines().filter(|name| !name.starts_with("sha256:")).map(ToOwned::to_owned).collect()
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_machine_has_a_runtime_images_and_ssh_and_is_gone_afterwards() {
    let before = sysctls();
    let network = Network::new().unwrap();
    // Every kubelet and container runtime needs some of these, and all machines count as one user.
    let watches = fs::read_to_string("/proc/sys/fs/inotify/max_user_instances").unwrap();
    assert!(watches.trim().parse::<u32>().unwrap() >= 2048, "{watches}");
    let id = id(&network);
    let keys = Scratch::new("keys").unwrap();
    let key = keys.path().join("key");
    let made =
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&key).status().unwrap();
    assert!(made.success());
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();

    let start = Instant::now();
    let options = MachineOptions { authorized_key: Some(public), public: true, ..MachineOptions::default() };
    let mut machine = network.machine("cp-0", options).unwrap();
    eprintln!("a machine with containerd: {:.2} s", start.elapsed().as_secs_f64());
    assert!(!traces(&id).is_empty());

    assert_eq!(machine.check(["hostname"]).unwrap(), "cp-0\n");
    assert!(machine.check(["ctr", "version"]).unwrap().contains("Server"));
    let images = images_of(&machine);
    for image in [
        "registry.k8s.io/kube-apiserver:v1.34.4",
        "registry.k8s.io/pause:3.10.1",
        "ghcr.io/flannel-io/flannel:",
    ] {
        assert!(images.iter().any(|name| name.starts_with(image)), "{image}: {images:?}");
    }
    assert!(machine.check(["kubelet", "--version"]).unwrap().contains("1.34.4"));

    // The operator pins the key of the machine itself, and the commands run on the machine.
    let known = keys.path().join("known");
    fs::write(&known, format!("{} {}\n", machine.address(), machine.host_key().unwrap())).unwrap();
    let ssh = |command: &str| {
        let mut ssh = vec!["ssh".to_owned(), "-i".to_owned(), key.display().to_string()];
        let known = format!("UserKnownHostsFile={}", known.display());
        for option in ["StrictHostKeyChecking=yes", "BatchMode=yes", &known] {
            ssh.extend(["-o".to_owned(), option.to_owned()]);
        }
        ssh.extend([format!("root@{}", machine.address()), command.to_owned()]);
        network.run(ssh).unwrap()
    };
    wait::until("sshd answers", || Ok(ssh("true").status.success().then_some(()))).unwrap();
    let said = ssh("hostname; which kubelet; cat /proc/self/cgroup");
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.starts_with("cp-0\n/usr/local/bin/kubelet\n"), "{said}");
    assert!(said.lines().skip(2).all(|line| line.ends_with(":/") || line.starts_with("0::")), "{said}");

    // A container runs, and the machine has two addresses.
    let run = [
        "ctr",
        "--namespace",
        "k8s.io",
        "run",
        "--rm",
        "--snapshotter",
        "overlayfs",
        slipway_testkit::image::BUSYBOX,
    ];
    let said = machine.check(run.into_iter().chain(["one", "echo", "from a container"])).unwrap();
    assert_eq!(said, "from a container\n");
    let public = machine.public_address().unwrap();
    assert!(network.run(["busybox", "ping", "-c1", "-W2", &public]).unwrap().status.success());

    // The disk survives a power cut, processes do not.
    machine.write("/etc/kubernetes/kept", "600", "on disk").unwrap();
    machine.write("/run/lost", "600", "in memory").unwrap();
    let mut running = machine.spawn(["sh", "-c", "echo started; sleep 1000"]).unwrap();
    wait::until("the command has started", || Ok(running.log().contains("started").then_some(()))).unwrap();
    let host_key = machine.host_key().unwrap();
    let start = Instant::now();
    machine.restart().unwrap();
    eprintln!("a restart: {:.2} s", start.elapsed().as_secs_f64());
    assert!(!running.wait().unwrap().success());
    assert_eq!(machine.read("/etc/kubernetes/kept").unwrap(), b"on disk");
    assert!(machine.read("/run/lost").is_err());
    assert_eq!(machine.host_key().unwrap(), host_key);
    assert_eq!(images_of(&machine), images);

    let start = Instant::now();
    machine.stop().unwrap();
    drop((machine, network));
    eprintln!("the end: {:.2} s", start.elapsed().as_secs_f64());
    assert_eq!(traces(&id), BTreeSet::new());
    assert_eq!(sysctls(), before);
}

#[test]
#[ignore = "needs root and namespaces"]
fn services_run_are_restarted_and_enabled() {
    let network = Network::new().unwrap();
    let mut machine = network.machine("one", MachineOptions::default()).unwrap();
    let unit = "[Service]\nEnvironment=\"A=b c\"\nExecStart=/bin/sh -c 'echo \"said $A\"; exec sleep 1000'\nRestart=always\n";
    machine.write("/etc/systemd/system/one.service", "644", unit).unwrap();
    machine.check(["systemctl", "daemon-reload"]).unwrap();
    machine.check(["systemctl", "enable", "--now", "one"]).unwrap();
    assert_eq!(machine.check(["systemctl", "is-active", "one.service"]).unwrap(), "active\n");
    let process = |machine: &slipway_testkit::Machine| {
        machine
            .check(["systemctl", "show", "--property=MainPID", "--value", "one"])
            .unwrap()
            .trim()
            .to_owned()
    };
    let said =
        || machine.check(["journalctl", "-u", "one"]).map(|log| log.contains("said b c").then_some(()));
    wait::until("what it says is kept", said).unwrap();
    let first = process(&machine);
    machine.check(["kill", "-9", &first]).unwrap();
    wait::until("it runs again", || Ok(Some(process(&machine)).filter(|id| *id != first && id != "0")))
        .unwrap();

    machine
        .write(
            "/etc/systemd/system/one.service.d/a.conf",
            "644",
            "[Service]\nExecStart=\nExecStart=/bin/sleep 2000\n",
        )
        .unwrap();
    machine.check(["systemctl", "restart", "one"]).unwrap();
    let line = |machine: &slipway_testkit::Machine| {
        machine.check(["cat", &format!("/proc/{}/cmdline", process(machine))]).unwrap()
    };
    wait::until("the drop-in counts", || Ok((line(&machine) == "/bin/sleep\x002000\0").then_some(())))
        .unwrap();
    machine.restart().unwrap();
    assert_eq!(machine.check(["systemctl", "is-active", "one"]).unwrap(), "active\n");
    machine.check(["systemctl", "disable", "--now", "one"]).unwrap();
    let output = machine.run(["systemctl", "is-active", "one"]).unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(3), b"inactive\n".as_slice()));
    assert_eq!(machine.run(["systemctl", "start", "two"]).unwrap().status.code(), Some(5));

    let none =
        network.machine("two", MachineOptions { init: Init::None, ..MachineOptions::default() }).unwrap();
    assert!(!none.run(["sh", "-c", "command -v systemctl"]).unwrap().status.success());
    assert!(none.run(["busybox", "ping", "-c1", "-W2", &machine.address()]).unwrap().status.success());
    machine.disconnect().unwrap();
    assert!(!none.run(["busybox", "ping", "-c1", "-W1", &machine.address()]).unwrap().status.success());
}

#[test]
#[ignore = "a process of a_killed_test_leaves_nothing, which never ends by itself"]
fn child() {
    if std::env::var_os(CHILD).is_some() {
        let network = Network::new().unwrap();
        let machine = network.machine("one", MachineOptions::default()).unwrap();
        eprintln!("network {}", id(machine.network()));
        std::thread::sleep(std::time::Duration::from_secs(1000));
    }
}

fn start_child() -> (Child, String) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child", "--ignored", "--nocapture"]).env(CHILD, "1");
    let mut child = child.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let id = lines.filter_map(|line| Some(line.strip_prefix("network ")?.to_owned())).next().unwrap();
    (child, id)
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_killed_test_leaves_nothing() {
    let (mut child, id) = start_child();
    // While it lives, no other network removes its network, and another network is separate from it.
    let other = Network::new().unwrap();
    assert!(traces(&id).len() > 5, "{:?}", traces(&id));
    drop(other);
    child.kill().unwrap();
    child.wait().unwrap();
    wait::until("all is gone", || Ok(traces(&id).is_empty().then_some(()))).unwrap();
}

#[test]
#[ignore = "needs root and namespaces"]
fn what_a_killed_guard_leaves_goes_with_the_next_network() {
    let (mut child, id) = start_child();
    // Test and guard are killed at once, as at the end of a whole container.
    let guard =
        Command::new("pgrep").args(["--parent", &child.id().to_string(), "--full", &id]).output().unwrap();
    let guards = String::from_utf8(guard.stdout).unwrap();
    assert!(!guards.is_empty());
    // With the lock, no other test makes a network and cleans up before this test has seen the traces.
    let alone = cache::lock("machines").unwrap();
    let killed = Command::new("kill")
        .arg("-KILL")
        .arg(child.id().to_string())
        .args(guards.split_whitespace())
        .status();
    assert!(killed.unwrap().success());
    child.wait().unwrap();
    let processes = || traces(&id).into_iter().filter(|trace| trace.starts_with("process")).count();
    wait::until("no process is left", || Ok((processes() == 0).then_some(()))).unwrap();
    assert!(!traces(&id).is_empty(), "nobody was there to clear up");
    drop(alone);
    drop(Network::new().unwrap());
    assert_eq!(traces(&id), BTreeSet::new());
}
