//! Settings of the order among clusters, and checks that there can be one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use slipway_resource::pattern::matches;

use super::source::{ClusterPolicy, Source};
use super::{Configuration, duration};
use crate::error::Error;
use crate::order::graph::{self, Waits};

/// How the waves of a source are applied.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Waves {
    /// How many clusters may be applied at once because of a change in the source; without it as many as there are workers.
    pub max_at_once: Option<u16>,
    /// How long all clusters of the lower waves have been in line before a wave begins.
    #[serde(deserialize_with = "duration")]
    pub soak: Duration,
}

/// A rule for clusters: the number of its source, and its number there.
type Rule = (usize, usize);

impl Source {
    /// Whether its clusters are applied in an order.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        let has_after = self.clusters.iter().any(|rule| !rule.after.is_empty());
        has_after || self.has_waves() || self.waves.max_at_once.is_some()
    }

    /// The lowest wave of its rules.
    #[must_use]
    pub fn first_wave(&self) -> i32 {
        self.clusters.iter().map(|rule| rule.wave).min().unwrap_or_default()
    }

    fn has_waves(&self) -> bool {
        self.clusters.iter().any(|rule| rule.wave != self.first_wave())
    }
}

impl Configuration {
    /// Refuses an order in which clusters would wait without an end.
    pub(super) fn check_order(&self) -> Result<(), Error> {
        for source in &self.sources {
            let refused = |reason: &str| {
                Err(Error::Configuration {
                    place: format!("source {}", source.name),
                    reason: reason.to_owned(),
                    hint: None,
                })
            };
            if source.waves.max_at_once == Some(0) {
                return refused("`waves.max-at-once` is at least 1");
            }
            if !source.waves.soak.is_zero() && !source.has_waves() {
                return refused("`waves.soak` needs clusters in more than one `wave`");
            }
        }
        let mut waits: Waits<Rule> = BTreeMap::new();
        for (rule, policy) in self.rules() {
            let mut before: BTreeSet<Rule> = self.lower(rule, policy.wave).collect();
            for entry in &policy.after {
                if !self.rules().any(|(_, other)| meet(entry, &other.name)) {
                    let reason = format!("`after` names `{entry}`, and no rule is for such clusters");
                    return Err(Error::Configuration { place: self.place(rule), reason, hint: None });
                }
                before.extend(self.named(entry));
            }
            waits.insert(rule, before);
        }
        let sorted = graph::sort(&waits);
        let Some(first) = sorted.left.first() else { return Ok(()) };
        let circle = graph::circle(&waits, &sorted.left, first);
        let names: Vec<&str> = circle.iter().map(|rule| self.name(*rule)).collect();
        let reason = match names.as_slice() {
            [_, _] => "`after` names clusters of the rule itself".to_owned(),
            names => {
                format!("`wave` and `after` let clusters wait for each other: {}", names.join(" after "))
            }
        };
        Err(Error::Configuration {
            place: self.place(circle.first().copied().unwrap_or(*first)),
            reason,
            hint: None,
        })
    }

    fn rules(&self) -> impl Iterator<Item = (Rule, &ClusterPolicy)> {
        self.sources.iter().enumerate().flat_map(|(source, of)| {
            of.clusters.iter().enumerate().map(move |(rule, policy)| ((source, rule), policy))
        })
    }

    fn rule(&self, (source, rule): Rule) -> Option<&ClusterPolicy> {
        self.sources.get(source)?.clusters.get(rule)
    }

    fn name(&self, rule: Rule) -> &str {
        self.rule(rule).map_or("", |policy| policy.name.as_str())
    }

    fn place(&self, rule: Rule) -> String {
        let source = self.sources.get(rule.0).map_or("", |source| source.name.as_str());
        format!("source {source}: cluster {}", self.name(rule))
    }

    /// The rules of the same source with a lower wave.
    fn lower(&self, (source, _): Rule, wave: i32) -> impl Iterator<Item = Rule> {
        self.sources
            .get(source)
            .into_iter()
            .flat_map(|source| source.clusters.iter().enumerate())
            .filter(move |(_, other)| other.wave < wave)
            .map(move |(number, _)| (source, number))
    }

    /// The rules of which it is certain that clusters with this name, or that this pattern fits, are treated by them. What
    /// depends on the clusters of a source is looked at when these are known.
    fn named(&self, entry: &str) -> Vec<Rule> {
        if is_pattern(entry) {
            let covered = self.rules().filter(|(_, policy)| covers(entry, &policy.name));
            return covered.map(|(rule, _)| rule).collect();
        }
        let fits = |(number, source): (usize, &Source)| {
            let rule = source.clusters.iter().position(|policy| matches(&policy.name, entry))?;
            Some((number, rule))
        };
        let mut found: Vec<Rule> = self.sources.iter().enumerate().filter_map(fits).collect();
        if found.len() > 1 {
            // Any of these sources may have it.
            found.clear();
        }
        found
    }
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Whether all names that fit the second pattern fit the first one too. `false` where that is not certain.
fn covers(wide: &str, narrow: &str) -> bool {
    matches(wide, narrow) && !(wide.contains('?') && narrow.contains('*'))
}

/// Whether a name can fit both patterns.
fn meet(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    // Whether the rest of `one` from a place on can meet the rest of `other` from each place on.
    let mut below: Vec<bool> = Vec::new();
    for left in (0..=one.len()).rev() {
        let mut row = vec![false; other.len() + 1];
        for right in (0..=other.len()).rev() {
            let (first, second) = (one.get(left), other.get(right));
            let skips_first = below.get(right).copied().unwrap_or(false);
            let skips_second = row.get(right + 1).copied().unwrap_or(false);
            let skips_both = below.get(right + 1).copied().unwrap_or(false);
            let meets = match (first, second) {
                (None, None) => true,
                (Some('*'), _) | (_, Some('*')) => skips_first || skips_second,
                (Some('?'), Some(_)) | (Some(_), Some('?')) => skips_both,
                (Some(first), Some(second)) => first == second && skips_both,
                _ => false,
            };
            if let Some(place) = row.get_mut(right) {
                *place = meets;
            }
        }
        below = row;
    }
    below.first().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_meet_if_a_name_fits_both() {
        for (one, other) in
            [("", ""), ("*", ""), ("prod-*", "*-eu"), ("a?c", "ab*"), ("*a*", "b*b"), ("prod-1", "prod-?")]
        {
            assert!(meet(one, other) && meet(other, one), "{one} {other}");
        }
        for (one, other) in [("a", ""), ("prod-*", "dev-*"), ("a?c", "ac"), ("*a", "*b"), ("a*", "b*a")] {
            assert!(!meet(one, other) && !meet(other, one), "{one} {other}");
        }
    }

    #[test]
    fn a_pattern_covers_another_one_or_does_not_say_so() {
        assert!(covers("*", "prod-*") && covers("prod-*", "prod-eu-*") && covers("prod-*", "prod-1"));
        assert!(!covers("prod-eu-*", "prod-*") && !covers("prod-?", "prod-*") && !covers("prod-1", "prod-?"));
    }
}
