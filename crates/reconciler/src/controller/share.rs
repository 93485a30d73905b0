//! How sources share the workers: no source keeps the clusters of the others waiting.

use std::collections::BTreeMap;

use crate::configuration::Source;

/// The workers that are busy, by the number of the source.
#[derive(Debug)]
pub(super) struct Share {
    workers: usize,
    /// Whether each source is one of strangers.
    untrusted: Vec<bool>,
    busy: BTreeMap<usize, usize>,
}

impl Share {
    /// The share of some workers, of which none is busy.
    pub fn new(sources: &[Source], workers: usize) -> Self {
        let untrusted = sources.iter().map(|source| source.trust.is_none()).collect();
        Self { workers, untrusted, busy: BTreeMap::new() }
    }

    /// Counts a worker as busy for a source.
    pub fn begin(&mut self, source: Option<usize>) {
        if let Some(source) = source {
            *self.busy.entry(source).or_default() += 1;
        }
    }

    /// Whether a cluster of a source may get a worker. Among several sources, one worker is kept from each of them, and half
    /// of the workers are kept from all untrusted sources together. A source may always have one worker.
    pub fn has_room(&self, source: Option<usize>) -> bool {
        let Some(source) = source.filter(|_| self.untrusted.len() > 1) else { return true };
        let is_untrusted = |source: usize| self.untrusted.get(source).copied().unwrap_or_default();
        let own = self.busy_for(Some(source)) < self.workers.saturating_sub(1).max(1);
        if !is_untrusted(source) || self.untrusted.iter().all(|untrusted| *untrusted) {
            return own;
        }
        let strangers = self.busy.iter().filter(|(source, _)| is_untrusted(**source));
        own && strangers.map(|(_, busy)| busy).sum::<usize>() < (self.workers / 2).max(1)
    }

    /// The position of the cluster that gets the next worker, among the sources of clusters that are due, the first due first:
    /// that of the source with the fewest busy workers.
    pub fn choose(&self, due: impl Iterator<Item = Option<usize>>) -> Option<usize> {
        let may = due.enumerate().filter(|(_, source)| self.has_room(*source));
        may.min_by_key(|(_, source)| self.busy_for(*source)).map(|(position, _)| position)
    }

    fn busy_for(&self, source: Option<usize>) -> usize {
        source.and_then(|source| self.busy.get(&source)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::configuration::Configuration;

    /// The sources of clusters that get a worker, one after the other.
    fn begun(sources: &[&str], workers: usize, due: &[usize]) -> Vec<usize> {
        let mut text = "data = 'd'\n".to_owned();
        for (number, trust) in sources.iter().enumerate() {
            text += &format!("[[source]]\nname = 's{number}'\nfolder = 'f'\n{trust}\n");
        }
        let read = Configuration::parse(&text, Path::new("c.toml"), Path::new("/")).unwrap();
        let mut share = Share::new(&read.sources, workers);
        let mut due: Vec<Option<usize>> = due.iter().copied().map(Some).collect();
        let mut begun = Vec::new();
        while begun.len() < workers
            && let Some(next) = share.choose(due.iter().copied())
        {
            let source = due.remove(next);
            share.begin(source);
            begun.extend(source);
        }
        begun
    }

    #[test]
    fn a_source_leaves_a_worker_to_the_others() {
        assert_eq!(begun(&["trust = {}"], 4, &[0; 6]), [0; 4], "it is alone");
        assert_eq!(begun(&["trust = {}", "trust = {}"], 4, &[0; 6]), [0; 3]);
        assert_eq!(begun(&["trust = {}", "trust = {}"], 4, &[0, 0, 0, 1, 1]), [0, 1, 0, 1]);
        assert_eq!(begun(&["trust = {}", "trust = {}"], 1, &[0, 1]), [0]);
    }

    #[test]
    fn strangers_have_half_of_the_workers() {
        assert_eq!(begun(&["trust = {}", "", ""], 4, &[1, 1, 1, 2, 2, 2]), [1, 2]);
        assert_eq!(begun(&["trust = {}", "", ""], 4, &[1, 1, 2, 0, 0]), [1, 2, 0, 0]);
        assert_eq!(begun(&["", ""], 4, &[0, 0, 0, 0, 1]), [0, 1, 0, 0], "there is nobody else");
    }
}
