//! Node-local balancers: the API through the loopback address of a node.

use std::time::{Duration, Instant};

use slipway_testkit::Machine;
use slipway_testkit::machine::Running;
use slipway_testkit::wait::until;

use crate::lab::Lab;

/// Where the components of a node reach the API.
pub(crate) const LOCAL: &str = "https://127.0.0.1:6444";

/// The time between two polls.
const PAUSE: Duration = Duration::from_millis(100);

/// A client on a node that asks the API every 100 ms by the identity of the node. Each question has a connection of its own and
/// needs etcd.
pub(crate) struct Poll(Running);

/// What the polls found.
pub(crate) struct Polled {
    pub answered: usize,
    /// The failed polls: status and seconds.
    pub failed: Vec<String>,
    /// How long the API was refused in all.
    pub refused: Duration,
}

impl Poll {
    pub fn start(machine: &Machine) -> Self {
        let kubelet = "/var/lib/kubelet/pki/kubelet-client-current.pem";
        let ask = format!(
            "curl --silent --max-time 5 --cacert /etc/kubernetes/pki/ca.crt --cert {kubelet} --key {kubelet} --output /dev/null \
             --write-out '%{{http_code}} %{{time_total}}\\n' {LOCAL}/api/v1/nodes/{}",
            machine.name()
        );
        let pause = PAUSE.as_secs_f64();
        Self(machine.spawn(["sh", "-c", &format!("while :; do {ask}; sleep {pause}; done")]).unwrap())
    }

    pub fn end(mut self) -> Polled {
        self.0.kill();
        let log = self.0.log();
        let (answered, failed): (Vec<&str>, Vec<&str>) =
            log.lines().partition(|line| line.starts_with("200 "));
        let seconds = |line: &&str| line.split(' ').nth(1).and_then(|time| time.parse().ok()).unwrap_or(5.0);
        let refused = failed.iter().map(|line| Duration::from_secs_f64(seconds(line)) + PAUSE).sum();
        let failed = failed.into_iter().map(str::to_owned).collect();
        Polled { answered: answered.len(), failed, refused }
    }
}

/// The components of a machine that use its balancer.
pub(crate) fn uses_its_balancer(machine: &Machine) {
    let all = "grep -h server: /etc/kubernetes/kubelet.conf; \
               for name in controller-manager scheduler; do grep -hs server: /etc/kubernetes/$name.conf; done; true";
    let servers = machine.check(["sh", "-c", all]).unwrap();
    let is_local = |line: &str| line.trim().trim_start_matches("server: ") == LOCAL;
    assert!(!servers.is_empty() && servers.lines().all(is_local), "{}: {servers}", machine.name());
}

/// The nodes report that they live, after this moment.
pub(crate) fn nodes_live_on(lab: &Lab, nodes: &[&str]) {
    let begun = Instant::now();
    let leases = || {
        let renewed = |node: &&str| {
            let lease = ["-n", "kube-node-lease", "get", "lease", node, "-o", "jsonpath={.spec.renewTime}"];
            lab.kubectl_at("cp-1", &lease)
        };
        nodes.iter().map(renewed).collect::<Vec<String>>()
    };
    let before = leases();
    until("every node renews its lease", || {
        let all = leases().iter().zip(&before).all(|(now, before)| now != before);
        Ok(all.then_some(()))
    })
    .unwrap();
    eprintln!("nodes renewed their leases within {:.1} s", begun.elapsed().as_secs_f64());
}
