//! Network load balancers: they forward connections to targets that accept connections.
//!
//! A target sees the network as its caller, not the client. Without a healthy target, a balancer tries all of a group, as
//! AWS' do.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;

use super::emulator::{Health, State, Target};
use super::listener::{Listener, Place, join};
use super::shared::Shared;

/// How often targets are checked, whatever interval their group has: tests do not wait for minutes.
const PAUSE: Duration = Duration::from_millis(300);

/// How long a target may take to accept a connection.
const PATIENCE: Duration = Duration::from_millis(1000);

/// So many checks in a row with the same result change the health of a target, as with Slipway's groups.
const THRESHOLD: u32 = 2;

/// Serves load balancers until all is over.
///
/// # Errors
/// When there is no thread.
pub fn run(shared: &Arc<Shared>) -> Result<JoinHandle<Result<()>>> {
    let served = shared.clone();
    shared.inside.spawn("balancers", move || {
        let mut listeners = BTreeMap::new();
        let mut checks = Checks::default();
        while !served.is_over.load(Ordering::SeqCst) {
            let state = served.state();
            follow(&served, &state, &mut listeners);
            served.report(checks.run(&state));
            thread::sleep(PAUSE);
        }
    })
}

/// Makes listeners those of the balancers. What cannot be served now is tried again.
fn follow(shared: &Arc<Shared>, state: &State, listeners: &mut BTreeMap<SocketAddr, Listener>) {
    let mut wanted = BTreeSet::new();
    for balancer in &state.balancers {
        for address in balancer.addresses.iter().filter_map(|address| address.parse::<IpAddr>().ok()) {
            wanted.extend(balancer.listeners.iter().map(|listener| SocketAddr::new(address, listener.port)));
        }
    }
    listeners.retain(|address, _| wanted.contains(address));
    for address in wanted {
        if !listeners.contains_key(&address) {
            listeners.extend(serve(shared, address).ok().map(|listener| (address, listener)));
        }
    }
}

fn serve(shared: &Arc<Shared>, address: SocketAddr) -> Result<Listener> {
    shared.network.configure(&format!("ip address replace {}/32 dev br0\n", address.ip()))?;
    let (shared, turn) = (shared.clone(), AtomicUsize::new(0));
    Listener::start(&shared.clone().inside, address, Place::Network, move |client| {
        let turn = turn.fetch_add(1, Ordering::Relaxed);
        for target in targets(&shared.state(), address, turn) {
            if let Ok(server) = TcpStream::connect_timeout(&target, PATIENCE) {
                return join(client, server);
            }
        }
    })
}

/// The targets behind an address of a balancer, in the order in which this connection tries them.
fn targets(state: &State, address: SocketAddr, turn: usize) -> Vec<SocketAddr> {
    let ip = address.ip().to_string();
    let balancers = state.balancers.iter().filter(|balancer| balancer.addresses.contains(&ip));
    let listeners =
        balancers.flat_map(|balancer| &balancer.listeners).filter(|listener| listener.port == address.port());
    let groups: Vec<_> = listeners.flat_map(|listener| &listener.groups).collect();
    let all = state.target_groups.iter().filter(|group| groups.contains(&&group.arn));
    let all: Vec<&Target> = all.flat_map(|group| &group.targets).collect();
    let mut chosen: Vec<&Target> =
        all.iter().copied().filter(|target| target.healthy == Some(true)).collect();
    if chosen.is_empty() {
        chosen = all;
    }
    if !chosen.is_empty() {
        let first = turn % chosen.len();
        chosen.rotate_left(first);
    }
    chosen.into_iter().filter_map(|target| target.address(target.port)).collect()
}

/// The last results of checks, by group, id and port: the result, and how often it came in a row.
#[derive(Default)]
struct Checks {
    results: BTreeMap<(String, String, u16), (bool, u32)>,
}

impl Checks {
    /// Checks all targets once, and gives those whose health is another one.
    fn run(&mut self, state: &State) -> Vec<Health> {
        let mut changed = Vec::new();
        let mut results = BTreeMap::new();
        for group in &state.target_groups {
            for target in &group.targets {
                let key = (group.arn.clone(), target.id.clone(), target.port);
                let address = target.address(target.health_port);
                let accepts =
                    address.is_some_and(|address| TcpStream::connect_timeout(&address, PATIENCE).is_ok());
                let count = match self.results.get(&key) {
                    Some((last, count)) if *last == accepts => count + 1,
                    _ => 1,
                };
                if count >= THRESHOLD && target.healthy != Some(accepts) {
                    let (group, target) = (group.arn.clone(), target.clone());
                    changed.push(Health { group, target: target.id, port: target.port, healthy: accepts });
                }
                results.insert(key, (accepts, count));
            }
        }
        self.results = results;
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::emulator::{Balancer, BalancerListener, TargetGroup};

    fn target(number: u8, healthy: Option<bool>) -> Target {
        Target { address: format!("10.0.0.{number}"), port: 443, healthy, ..Target::default() }
    }

    #[test]
    fn healthy_targets_take_turns_and_all_are_tried_without_one() {
        let listener = BalancerListener { port: 80, groups: vec!["a".to_owned()] };
        let addresses = vec!["10.0.0.9".to_owned()];
        let balancer = Balancer { name: "b".to_owned(), addresses, listeners: vec![listener] };
        let targets_of = |registered: Vec<Target>, turn| {
            let group = TargetGroup { arn: "a".to_owned(), targets: registered };
            let state =
                State { balancers: vec![balancer.clone()], target_groups: vec![group], ..State::default() };
            let found = targets(&state, "10.0.0.9:80".parse().unwrap(), turn);
            found.iter().map(SocketAddr::to_string).collect::<Vec<_>>()
        };
        let mixed = || vec![target(1, Some(true)), target(2, Some(false)), target(3, Some(true))];
        assert_eq!(targets_of(mixed(), 0), ["10.0.0.1:443", "10.0.0.3:443"]);
        assert_eq!(targets_of(mixed(), 1), ["10.0.0.3:443", "10.0.0.1:443"]);
        assert_eq!(targets_of(vec![target(1, None), target(2, Some(false))], 0).len(), 2);
        assert!(targets_of(Vec::new(), 5).is_empty());
    }
}
