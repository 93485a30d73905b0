//! What clusters wait for, as a graph, and the report of a circle in it.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::pattern::matches;

use super::graph::Waits;
use super::{Member, Wait};

/// A thing that waits for others, or that others wait for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Node {
    /// The moment before a wave of a source: all lower waves are in line.
    Before(String, i32),
    /// All clusters that a name or a pattern fits.
    Named(String),
    /// A cluster.
    Cluster(String),
}

impl Node {
    pub fn cluster(&self) -> Option<&String> {
        match self {
            Self::Cluster(name) => Some(name),
            Self::Before(..) | Self::Named(_) => None,
        }
    }
}

/// What each cluster, wave and name waits for.
pub(super) fn dependencies(members: &BTreeMap<String, Member>) -> Waits<Node> {
    let cluster = |name: &String| Node::Cluster(name.clone());
    let mut waves: BTreeMap<(&str, i32), Vec<&String>> = BTreeMap::new();
    for (name, member) in members {
        waves.entry((member.source.as_str(), member.wave)).or_default().push(name);
    }
    let mut waits: Waits<Node> = BTreeMap::new();
    let mut lower: Option<((&str, i32), &Vec<&String>)> = None;
    for (&(source, wave), names) in &waves {
        let mut before = BTreeSet::new();
        if let Some(((_, last), names)) = lower.filter(|((of, _), _)| *of == source) {
            before.insert(Node::Before(source.to_owned(), last));
            before.extend(names.iter().map(|name| Node::Cluster((*name).clone())));
        }
        waits.insert(Node::Before(source.to_owned(), wave), before);
        lower = Some(((source, wave), names));
    }
    for (name, member) in members {
        let mut before = BTreeSet::from([Node::Before(member.source.clone(), member.wave)]);
        for entry in &member.after {
            before.insert(Node::Named(entry.clone()));
            waits
                .entry(Node::Named(entry.clone()))
                .or_insert_with(|| members.keys().filter(|name| matches(entry, name)).map(cluster).collect());
        }
        waits.insert(cluster(name), before);
    }
    waits
}

/// Why a cluster waits without an end: the names of the circle that it is in or waits for, the first one also at the end.
pub(super) fn in_circle(cluster: &str, names: &[&str]) -> Wait {
    let correct = "correct `wave` or `after` in the configuration of the controller";
    match names {
        [] => Wait::new(cluster, format!("it waits for itself; {correct}")),
        [only] | [only, _] if *only == cluster => {
            Wait::new(cluster, format!("`after` names the cluster itself; {correct}"))
        }
        [first, ..] => {
            let next = names.iter().find(|name| **name != cluster).unwrap_or(first);
            let circle = names.join(" after ");
            Wait::new(*next, format!("clusters wait for each other ({circle}); {correct}"))
        }
    }
}
