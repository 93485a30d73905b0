//! Machines, an example spec for them, and operations of tests on them.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use slipway_testkit::hosts::Hosts;
use slipway_testkit::machine::Running;
use slipway_testkit::wait::until;
use slipway_testkit::{Machine, Said};

const PROGRAM: &str = env!("CARGO_BIN_EXE_slipway-under-test");

pub(crate) struct Lab {
    hosts: Hosts,
}

impl Deref for Lab {
    type Target = Hosts;

    fn deref(&self) -> &Hosts {
        &self.hosts
    }
}

impl DerefMut for Lab {
    fn deref_mut(&mut self) -> &mut Hosts {
        &mut self.hosts
    }
}

impl Lab {
    /// Machines of these names, and an example of `specs/` for them.
    pub fn new(example: &str, names: &[&str]) -> Self {
        let hosts = Hosts::new(Path::new(PROGRAM), example, names);
        Self { hosts: hosts.unwrap_or_else(|error| panic!("needs root and namespaces: {error:#}")) }
    }

    /// Changes the spec.
    pub fn edit(&self, from: &str, to: &str) {
        self.hosts.edit(from, to).unwrap();
    }

    /// Changes the documents of the hosts.
    pub fn edit_hosts(&self, change: impl Fn(String) -> String) {
        let path = self.file("hosts.yaml");
        let before = fs::read_to_string(&path).unwrap();
        let after = change(before.clone());
        assert_ne!(before, after);
        fs::write(&path, after).unwrap();
    }

    /// Starts an agent on a machine, and makes the spec connect by that alone. The socket is reached through
    /// `/proc` of the agent's process.
    pub fn by_agent(&self, name: &str) -> Running {
        let machine = self.machines.iter().find(|machine| machine.name() == name).unwrap();
        machine.copy_in(&self.program(), "/usr/local/bin/slipway").unwrap();
        let agent = machine.spawn(["slipway", "node", "serve", "--socket", "/run/agent.sock"]).unwrap();
        let find = ["pgrep", "-f", "^slipway node serve --socket"];
        let process = until("the agent", || {
            let found = Said::by(&mut self.network().command_in(Path::new("/"), find))?.out;
            let is_there = machine.run(["test", "-S", "/run/agent.sock"])?.status.success();
            Ok(found.lines().next().map(str::to_owned).filter(|_| is_there))
        });
        let process = process.unwrap();
        let entered = |document: &str| {
            let is_it = document.contains(&format!("name: {name},"));
            let lines = document.lines().map(|line| match line.starts_with("  ssh: ") && is_it {
                true => format!("  agent: {{ socket: /proc/{process}/root/run/agent.sock }}\n"),
                false => format!("{line}\n"),
            });
            lines.collect::<String>()
        };
        self.edit_hosts(|hosts| hosts.split("---\n").map(entered).collect::<Vec<_>>().join("---\n"));
        // A spec may only name sockets in folders that the user's configuration allows.
        let configuration = self.file("../config/slipway");
        fs::create_dir_all(&configuration).unwrap();
        let trusted = format!("[trust]\nfile-roots = [\"/proc/{process}/root/run\"]\n");
        fs::write(configuration.join("config.toml"), trusted).unwrap();
        agent
    }

    /// Removes a host from the inventory.
    pub fn forget_host(&self, name: &str) {
        let stays = |document: &&str| !document.contains(&format!("name: {name},"));
        self.edit_hosts(|hosts| hosts.split("---\n").filter(stays).collect::<Vec<_>>().join("---\n"));
    }

    /// Marks a host in the spec as lost for ever.
    pub fn lose_host(&self, name: &str) {
        self.edit_hosts(|hosts| {
            let lost = |document: &str| match document.contains(&format!("name: {name},")) {
                true => document.replace("spec:\n", "spec:\n  lost: true\n"),
                false => document.to_owned(),
            };
            hosts.split("---\n").map(lost).collect::<Vec<_>>().join("---\n")
        });
    }

    /// The machine of a name.
    pub fn machine(&mut self, name: &str) -> &mut Machine {
        self.machines.iter_mut().find(|machine| machine.name() == name).unwrap()
    }

    /// Installs a machine anew. Its address and its host key stay.
    pub fn reinstall(&mut self, name: &str) {
        self.machine(name).reinstall().unwrap();
    }

    /// The address of a machine.
    pub fn address(&self, name: &str) -> String {
        self.machines.iter().find(|machine| machine.name() == name).unwrap().address()
    }

    /// Runs the program in the machines' network.
    pub fn run(&self, arguments: &[&str]) -> Said {
        self.run_with(&[], arguments)
    }

    /// The same with variables of its environment.
    pub fn run_with(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Said {
        Said::by(self.command(arguments).envs(variables.iter().copied())).unwrap()
    }

    /// Runs the program, which has to succeed.
    pub fn done(&self, arguments: &[&str]) -> String {
        self.expect(0, arguments).unwrap()
    }

    /// Applies the spec, and prints how long it took.
    pub fn apply(&self, what: &str) {
        let start = Instant::now();
        self.done(&["apply", "-f", "spec", "--yes"]);
        eprintln!("{what}: {:.1} s", start.elapsed().as_secs_f64());
    }

    /// Plans, which has to find something to do, and this among it.
    pub fn pending(&self, changes: &[&str]) -> String {
        let plan = self.expect(2, &["plan", "-f", "spec"]).unwrap();
        for change in changes {
            assert!(plan.contains(change), "{change} in\n{plan}");
        }
        plan
    }

    /// There is nothing left to do.
    pub fn is_as_wanted(&self) {
        self.done(&["plan", "-f", "spec"]);
    }

    /// A change that is previewed, carried out, and leaves nothing to do.
    pub fn changes(&self, what: &str, previewed: &[&str]) {
        self.pending(previewed);
        self.apply(what);
        self.is_as_wanted();
    }

    /// The server in the kubeconfig for users.
    pub fn server(&self) -> String {
        let kubeconfig = self.done(&["kubeconfig", &self.cluster()]);
        let line = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("server: "));
        line.unwrap().to_owned()
    }

    fn cluster(&self) -> String {
        let spec = fs::read_to_string(self.file("cluster.yaml")).unwrap();
        let name = spec.lines().find_map(|line| line.strip_prefix("  name: "));
        name.unwrap().to_owned()
    }

    /// Credentials of an administrator.
    pub fn administrator(&self) -> PathBuf {
        self.hosts.kubeconfig(&self.cluster()).unwrap()
    }

    /// Runs kubectl with credentials that the program makes.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        self.ask(&self.administrator(), arguments).unwrap()
    }

    /// Runs kubectl at the API server of one machine.
    pub fn kubectl_at(&self, machine: &str, arguments: &[&str]) -> String {
        let server = format!("https://{}:6443", self.address(machine));
        let all = [&["--server", server.as_str()][..], arguments].concat();
        self.ask(&self.administrator(), &all).unwrap()
    }

    /// The nodes, in the order of their names.
    pub fn nodes(&self) -> Vec<String> {
        let listed = self.kubectl(&["get", "nodes", "-o", "name"]);
        listed.lines().map(|line| line.trim_start_matches("node/").to_owned()).collect()
    }

    /// Since when a node is ready.
    pub fn ready_since(&self, node: &str) -> String {
        let condition =
            "{range .status.conditions[?(@.type==\"Ready\")]}{.status} {.lastTransitionTime}{end}";
        let ready = self.kubectl(&["get", "node", node, "-o", &format!("jsonpath={condition}")]);
        assert!(ready.starts_with("True "), "{node}: {ready}");
        ready
    }

    /// Waits until the API answers a question that needs etcd, at any of these machines; returns how long that took.
    pub fn answers(&self, administrator: &Path, machines: &[&str]) -> Duration {
        let start = Instant::now();
        let servers: Vec<String> =
            machines.iter().map(|name| format!("https://{}:6443", self.address(name))).collect();
        until("the API answers", || {
            for server in &servers {
                let question =
                    ["--server", server, "--request-timeout=2s", "get", "configmaps", "-A", "-o", "name"];
                if self.hosts.kubectl(administrator, &question)?.output()?.status.success() {
                    return Ok(Some(()));
                }
            }
            Ok(None)
        })
        .unwrap();
        start.elapsed()
    }

    /// The longest that the API answered on none of these machines while something was done.
    pub fn longest_gap(&self, machines: &[&str], work: impl FnOnce()) -> Duration {
        let administrator = self.administrator();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                let mut longest = Duration::ZERO;
                while !done.load(Ordering::Relaxed) {
                    longest = longest.max(self.answers(&administrator, machines));
                }
                longest
            });
            let finished = Finished(&done);
            work();
            drop(finished);
            watch.join().unwrap()
        })
    }

    /// The names of the members of etcd that vote, as a machine's own member has them.
    pub fn voters(&mut self, machine: &str) -> Vec<String> {
        let listed = etcdctl(self.machine(machine), "member list");
        // id, status, name, peer URLs, client URLs, whether it is a learner
        let fields = listed.lines().map(|line| line.split(", ").collect::<Vec<_>>());
        let mut names: Vec<String> = fields
            .filter(|fields| fields[1] == "started" && fields[5] == "false")
            .map(|fields| fields[2].to_owned())
            .collect();
        names.sort();
        names
    }

    /// The machines and their network.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Whether a host is claimed in the inventory.
    pub fn is_claimed(&self, host: &str) -> bool {
        let hosts = self.file("../state/hosts");
        ["home", "rack"].iter().any(|inventory| hosts.join(inventory).join(host).exists())
    }

    /// A machine is as it was: no file of a node, no container, no network of pods.
    pub fn nothing_is_left(&self, machine: &Machine) {
        let folders = "/etc/kubernetes /var/lib/kubelet /var/lib/etcd /var/lib/slipway /var/log/kubernetes";
        let files = format!("find {folders} -type f -exec tail -v -n 1 {{}} + 2>/dev/null");
        let left = machine.run(["sh", "-c", &files]).unwrap();
        assert_eq!(String::from_utf8_lossy(&left.stdout), "", "files of {}", machine.name());
        let containers = machine.check(["ctr", "-n", "k8s.io", "containers", "ls", "-q"]).unwrap();
        assert_eq!(containers.trim(), "", "containers of {}", machine.name());
        let links = machine.check(["ip", "-brief", "link"]).unwrap();
        assert!(
            !links.contains("cni0") && !links.contains("flannel"),
            "links of {}: {links}",
            machine.name()
        );
        let mounts = machine.check(["cat", "/proc/mounts"]).unwrap();
        assert!(!mounts.contains("/var/lib/kubelet/pods"), "mounts of {}: {mounts}", machine.name());
    }
}

/// Asks a machine's own member of etcd.
pub(crate) fn etcdctl(machine: &Machine, words: &str) -> String {
    let pki = "/etc/kubernetes/pki/etcd";
    let certificates = format!(
        "--cacert={pki}/ca.crt --cert={pki}/healthcheck-client.crt --key={pki}/healthcheck-client.key"
    );
    let command = format!("etcdctl {certificates} --endpoints=https://127.0.0.1:2379 {words}");
    machine.check(["sh", "-c", &command]).unwrap()
}

/// Sets a flag when it is dropped, also after a failure.
struct Finished<'a>(&'a AtomicBool);

impl Drop for Finished<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
