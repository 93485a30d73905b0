//! Which spec a cluster has, and what keeps the spec from being applied.

use std::collections::BTreeMap;

use tokio::time::Instant;

use crate::configuration::Source;
use crate::controller::{Controller, Recall};
use crate::entry::{Entry, Place};
use crate::ownership;
use crate::status::{Problem, Reason, Status};

impl Controller {
    /// Finds the spec of each cluster, and what keeps it from being applied. A cluster whose spec or problem changed is looked at.
    pub(super) fn assign(&mut self, now: Instant) {
        if self.recall != Recall::Done {
            return;
        }
        let found = self.places();
        for name in
            found.keys().filter(|name| !self.clusters.contains_key(*name)).cloned().collect::<Vec<_>>()
        {
            let entry = Entry::new(now, self.is_mine(&name));
            self.clusters.insert(name, entry);
        }
        let names: Vec<String> = self.clusters.keys().cloned().collect();
        for name in names {
            let places = found.get(&name).map_or(&[][..], Vec::as_slice);
            let Some(judged) = self.judge(&name, places) else { continue };
            let Some(entry) = self.clusters.get_mut(&name) else { continue };
            let (place, blocked) = judged;
            let digest = |place: &Option<Place>| {
                place.as_ref().map(|place| (place.source, place.path.clone(), place.digest.clone()))
            };
            if digest(&entry.place) != digest(&place) || entry.blocked != blocked {
                entry.due = entry.due.min(now);
                // A problem that came or went does not change the digest in the status.
                entry.forced |= entry.blocked != blocked;
            }
            (entry.place, entry.blocked, entry.is_known) = (place, blocked, true);
        }
        self.arrange();
    }

    /// The places with a spec, by cluster.
    fn places(&self) -> BTreeMap<String, Vec<Place>> {
        let mut found: BTreeMap<String, Vec<Place>> = BTreeMap::new();
        for (source, content) in
            self.sources.iter().enumerate().filter_map(|(at, state)| Some((at, state.content.as_ref()?)))
        {
            let revision = &content.revision;
            for (path, clusters) in &content.units {
                for cluster in clusters.iter().flatten() {
                    found.entry(cluster.clone()).or_default().push(Place {
                        source,
                        path: path.clone(),
                        digest: revision.units.get(path).cloned().unwrap_or_default(),
                        revision: revision.id.clone(),
                        folder: revision.folder.clone(),
                    });
                }
            }
        }
        found
    }

    /// Where the spec of a cluster is, and what keeps it from being applied; `None` as long as its source was not read.
    ///
    /// A cluster belongs to the source that its status names, whatever other sources contain: who can write to one source cannot
    /// take a cluster of another one over, or stop it.
    #[allow(clippy::type_complexity, reason = "the two fields of an entry")]
    fn judge(&self, name: &str, places: &[Place]) -> Option<(Option<Place>, Option<(Reason, Problem)>)> {
        let sources = &self.shared.configuration.sources;
        let status = self.clusters.get(name).and_then(|entry| entry.status.as_ref());
        let owner = status.and_then(|status| sources.iter().position(|source| source.name == status.source));
        let is_named = |place: &Place| sources.get(place.source).is_some_and(|source| source.names(name));
        let is_owners = |place: &&Place| Some(place.source) == owner;
        let keeps = |owner| self.may_have(owner, status) || places.iter().any(|place| is_owners(&place));
        let candidates: Vec<&Place> = match owner {
            Some(owner) if keeps(owner) => places.iter().filter(is_owners).collect(),
            // Where nobody has the cluster, the source comes first for which the operator has named it.
            _ => {
                let named: Vec<&Place> = places.iter().filter(|place| is_named(place)).collect();
                if named.is_empty() { places.iter().collect() } else { named }
            }
        };
        if let [first, second, ..] = candidates.as_slice() {
            let shown = |place: &Place| format!("{}:{}", self.source_name(place.source), place.path);
            let message = format!("the spec of {name} is in {} and in {}", shown(first), shown(second));
            let problem = Problem { code: None, message, hints: vec!["remove one of them".to_owned()] };
            return Some((None, Some((Reason::Duplicate, problem))));
        }
        let place = candidates.first().copied();
        let number = place.map(|place| place.source).or(owner);
        let Some(state) = number.and_then(|number| self.sources.get(number)) else {
            // Its source is not configured any more.
            return Some((None, None));
        };
        if let Some(error) =
            state.failed.as_ref().filter(|error| !error.may_pass() || state.content.is_none())
        {
            return Some((place.cloned(), Some((Reason::SourceProblem, Problem::of_source(error)))));
        }
        let content = state.content.as_ref()?;
        let Some(place) = place else {
            // The specs of a path that cannot be read are not gone.
            return Some(match status.and_then(|status| content.units.get(&status.path)) {
                Some(Err(problem)) => (None, Some((Reason::SpecInvalid, problem.clone()))),
                _ => (None, None),
            });
        };
        let blocked = match owner {
            Some(owner) => {
                ownership::refusal(&self.shared.configuration, name, self.source_name(owner), place.source)
            }
            None => self.unread(name, place.source)?.map(|problem| (Reason::SourceProblem, problem)),
        };
        Some(match blocked {
            Some(blocked) => (None, Some(blocked)),
            None => (Some(place.clone()), None),
        })
    }

    /// Whether a source may have the spec of a cluster although it does not show it: it was not read, or the path of the cluster
    /// cannot be read.
    fn may_have(&self, owner: usize, status: Option<&Status>) -> bool {
        let Some(content) = self.sources.get(owner).and_then(|state| state.content.as_ref()) else {
            return true;
        };
        status.and_then(|status| content.units.get(&status.path)).is_some_and(Result::is_err)
    }

    /// What keeps a new cluster waiting that a source has: another source with a policy for its name that cannot be read may have its
    /// spec too. The outer `None` says that such a source is being read. A cluster that the operator has named for its source waits
    /// only for others for which it is named too: a pattern does not get it.
    #[allow(clippy::option_option, reason = "not known yet, and nothing, are two answers")]
    fn unread(&self, name: &str, has: usize) -> Option<Option<Problem>> {
        let configured = &self.shared.configuration.sources;
        let is_named = configured.get(has).is_some_and(|source| source.names(name));
        let may_get =
            |source: &Source| if is_named { source.names(name) } else { source.rule(name).is_some() };
        let unread = configured
            .iter()
            .zip(&self.sources)
            .filter(|(source, state)| state.content.is_none() && may_get(source));
        let mut problem = None;
        for (source, state) in unread {
            let error = state.failed.as_ref()?;
            let mut of_source = Problem::of_source(error);
            of_source.message =
                format!("the source {} may have this spec too: {}", source.name, of_source.message);
            if !is_named {
                of_source.hints.push(format!(
                    "to let it not wait for that source, write a `[[source.cluster]]` with `name = \"{name}\"` into the source {} of the configuration",
                    self.source_name(has)
                ));
            }
            problem.get_or_insert(of_source);
        }
        Some(problem)
    }
}
