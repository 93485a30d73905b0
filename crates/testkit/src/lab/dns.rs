//! DNS for machines: the server that AWS has in every network.
//!
//! It knows the records of all hosted zones, load balancers and instances. For every other name it answers at
//! once that the name does not exist.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::emulator::State;
use super::routes::NAME_SERVER;
use super::shared::Shared;

mod message;

use message::{Answer, Data, Kind, Outcome, Question};

/// Maximum length of a chain of aliases before it counts as a cycle.
const DEPTH: usize = 8;

/// Answers requests until the laboratory ends.
///
/// # Errors
/// When the network does not have the address.
pub fn serve(shared: &Arc<Shared>) -> Result<JoinHandle<()>> {
    let address: SocketAddr = format!("{NAME_SERVER}:53").parse()?;
    let socket = shared.inside.run(move || UdpSocket::bind(address))?.context(NAME_SERVER)?;
    socket.set_read_timeout(Some(Duration::from_millis(200)))?;
    let shared = shared.clone();
    let thread = thread::Builder::new().name("dns".to_owned()).spawn(move || {
        while !shared.is_over.load(Ordering::SeqCst) {
            // An unreadable request gets no answer.
            let _ = answer_one(&shared, &socket);
        }
    });
    thread.context("no thread")
}

fn answer_one(shared: &Shared, socket: &UdpSocket) -> io::Result<()> {
    let mut bytes = [0; 1500];
    let (length, client) = socket.recv_from(&mut bytes)?;
    if let Some(question) = Question::read(&bytes[..length]) {
        let outcome = resolve(&shared.state(), &question.name, question.kind);
        socket.send_to(&question.answered(&outcome), client)?;
    }
    Ok(())
}

/// Looks a name up. `kind` is absent for unsupported kinds of records.
fn resolve(state: &State, name: &str, kind: Option<Kind>) -> Outcome {
    let mut outcome = Outcome::default();
    let mut name = name.to_owned();
    for _ in 0..DEPTH {
        let found = lookup(state, &name);
        outcome.exists |= !found.is_empty();
        let mut alias = None;
        for data in found {
            if let Data::Name(other) = &data {
                alias = Some(other.clone());
            }
            if kind == Some(data.kind()) || matches!(data, Data::Name(_)) {
                outcome.answers.push(Answer { name: name.clone(), data });
            }
        }
        match alias.filter(|_| kind != Some(Kind::Cname)) {
            Some(other) => name = other,
            None => break,
        }
    }
    outcome
}

/// The records of one name.
fn lookup(state: &State, name: &str) -> Vec<Data> {
    lookup_below(state, name, DEPTH)
}

fn lookup_below(state: &State, name: &str, depth: usize) -> Vec<Data> {
    let mut found = Vec::new();
    let addresses = |texts: &[String]| -> Vec<Data> {
        texts.iter().filter_map(|text| text.parse().ok().map(Data::Address)).collect()
    };
    for balancer in state.balancers.iter().filter(|balancer| balancer.name.eq_ignore_ascii_case(name)) {
        found.extend(addresses(&balancer.addresses));
    }
    for instance in &state.instances {
        let (_, domain) = instance.host_name.split_once('.').unwrap_or_default();
        let is_meant = instance.host_name == name || name == format!("{}.{domain}", instance.id);
        let primary = instance.primary().ok().filter(|_| is_meant);
        found.extend(primary.and_then(|primary| primary.address.parse::<Ipv4Addr>().ok()).map(Data::Address));
    }
    for record in state.records.iter().filter(|record| record.name == name) {
        // An alias has the addresses of its target, under its own name.
        if let Some(alias) = record.alias.as_deref().filter(|_| depth > 0) {
            let alias = alias.strip_prefix("dualstack.").unwrap_or(alias);
            found.extend(lookup_below(state, alias, depth - 1));
        }
        found.extend(record.values.iter().filter_map(|value| Data::read(&record.kind, value)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::emulator::{Balancer, Instance, Interface, Record};

    fn state() -> State {
        let record = |name: &str, kind: &str, value: &str, alias: Option<&str>| Record {
            name: name.to_owned(),
            kind: kind.to_owned(),
            values: if alias.is_some() { Vec::new() } else { vec![value.to_owned()] },
            alias: alias.map(str::to_owned),
        };
        let balancer = Balancer {
            name: "api-1.elb.amazonaws.com".to_owned(),
            addresses: vec!["10.0.0.9".to_owned()],
            ..Balancer::default()
        };
        let instance = Instance {
            id: "i-1".to_owned(),
            host_name: "ip-10-0-0-4.ec2.internal".to_owned(),
            interfaces: vec![Interface { address: "10.0.0.4".to_owned(), ..Interface::default() }],
            ..Instance::default()
        };
        State {
            instances: vec![instance],
            balancers: vec![balancer],
            records: vec![
                record("a.example.com", "A", "10.0.0.1", None),
                record("www.example.com", "CNAME", "a.example.com.", None),
                record("api.example.com", "A", "", Some("dualstack.api-1.elb.amazonaws.com")),
                record("text.example.com", "TXT", "\"a b\"", None),
                record("circle.example.com", "CNAME", "circle.example.com", None),
            ],
            ..State::default()
        }
    }

    #[test]
    fn records_balancers_and_instances_have_names() {
        let addresses = |name: &str| {
            let outcome = resolve(&state(), name, Some(Kind::A));
            let texts = outcome.answers.iter().map(|answer| format!("{} {:?}", answer.name, answer.data));
            (outcome.exists, texts.collect::<Vec<_>>())
        };
        assert_eq!(addresses("a.example.com").1, ["a.example.com Address(10.0.0.1)"]);
        assert_eq!(addresses("api.example.com").1, ["api.example.com Address(10.0.0.9)"]);
        assert_eq!(addresses("ip-10-0-0-4.ec2.internal").1, ["ip-10-0-0-4.ec2.internal Address(10.0.0.4)"]);
        assert_eq!(addresses("i-1.ec2.internal").1, ["i-1.ec2.internal Address(10.0.0.4)"]);
        let through = ["www.example.com Name(\"a.example.com\")", "a.example.com Address(10.0.0.1)"];
        assert_eq!(addresses("www.example.com").1, through);
        assert_eq!(addresses("text.example.com"), (true, Vec::new()));
        assert_eq!(addresses("other.example.com"), (false, Vec::new()));
        assert_eq!(addresses("circle.example.com").1.len(), DEPTH);
    }
}
