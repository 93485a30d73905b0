//! Which rules hit a call.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use slipway_limits::file::read_plain;
use slipway_limits::size;
use slipway_resource::ProviderError;

use super::{Call, FILE, Kind, Rule};
use crate::hash;

/// The rules of one session, and how often each has matched.
#[derive(Debug)]
pub(crate) struct Faults {
    seed: u64,
    file: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    configured: Vec<Rule>,
    written: Option<(Stamp, Vec<Rule>)>,
    matched: HashMap<String, u64>,
}

type Stamp = (SystemTime, u64);

impl Faults {
    pub(crate) fn new(seed: u64, directory: &Path, configured: Vec<Rule>) -> Self {
        Self {
            seed,
            file: directory.join(FILE),
            state: Mutex::new(State { configured, written: None, matched: HashMap::new() }),
        }
    }

    /// The rules that hit a call. Each question counts.
    pub(crate) fn of(&self, call: Call<'_>) -> Vec<Rule> {
        self.select(call, |kind| kind != Kind::NeverReady && kind != Kind::Unreadable)
    }

    /// Whether a rule makes this type or address unreadable.
    pub(crate) fn unreadable(&self, call: Call<'_>) -> Option<ProviderError> {
        let rule = self.select(call, |kind| kind == Kind::Unreadable).into_iter().next()?;
        Some(rule.error(call, ""))
    }

    /// Whether a machine that is launched now never becomes ready.
    pub(crate) fn never_ready(&self, call: Call<'_>) -> bool {
        !self.select(call, |kind| kind == Kind::NeverReady).is_empty()
    }

    /// The rules that would hit every such call, without counting this question as one.
    pub(crate) fn standing(&self, call: Call<'_>) -> Vec<Rule> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.refresh(&mut state);
        let always = |rule: &&Rule| rule.nth.is_none() && rule.times.is_none() && rule.probability.is_none();
        state.rules().iter().filter(always).filter(|rule| rule.matches(call)).cloned().collect()
    }

    /// Whether any rule is of this kind.
    pub(crate) fn any(&self, kind: Kind) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.refresh(&mut state);
        state.rules().iter().any(|rule| rule.kind == kind)
    }

    fn select(&self, call: Call<'_>, wanted: impl Fn(Kind) -> bool) -> Vec<Rule> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.refresh(&mut state);
        let candidates: Vec<(usize, Rule)> = state
            .rules()
            .iter()
            .enumerate()
            .filter(|(_, rule)| wanted(rule.kind) && rule.matches(call))
            .map(|(index, rule)| (index, rule.clone()))
            .collect();
        candidates
            .into_iter()
            .filter(|(index, rule)| {
                let key = serde_json::to_string(rule).unwrap_or_default();
                let count = state.matched.entry(format!("{index} {key}")).or_default();
                *count += 1;
                self.hits(*index, rule, *count, call)
            })
            .map(|(_, rule)| rule)
            .collect()
    }

    fn hits(&self, index: usize, rule: &Rule, count: u64, call: Call<'_>) -> bool {
        let first = rule.nth.unwrap_or(1);
        let within = match (rule.nth, rule.times) {
            (None, None) => true,
            (Some(nth), None) => count == nth,
            (_, Some(times)) => (first..first.saturating_add(times)).contains(&count),
        };
        within
            && rule.probability.is_none_or(|probability| {
                let (index, count) = (index.to_string(), count.to_string());
                let words = ["fault", &index, call.method, call.type_name, call.name, &count];
                hash::fraction(self.seed, &words) < probability
            })
    }

    /// Fails every call, so that a misspelt fault is not mistaken for a cloud without faults.
    fn unusable(&self, problem: &str) -> Rule {
        Rule {
            class: Some("invalid".to_owned()),
            message: Some(format!(
                "the rules for faults in {} cannot be used: {problem}",
                self.file.display()
            )),
            ..Rule::new(Kind::FailBefore)
        }
    }

    fn refresh(&self, state: &mut State) {
        let stamp = std::fs::symlink_metadata(&self.file)
            .ok()
            .and_then(|metadata| Some((metadata.modified().ok()?, metadata.len())));
        match (stamp, &state.written) {
            (None, _) => state.written = None,
            (Some(stamp), Some((known, _))) if stamp == *known => {}
            (Some(stamp), _) => {
                let rules = match read_plain(&self.file, size::FAULTS) {
                    Ok(text) => match serde_json::from_slice::<Vec<Rule>>(&text) {
                        Ok(rules) => match rules.iter().find_map(Rule::problem) {
                            Some(problem) => vec![self.unusable(&problem)],
                            None => rules,
                        },
                        // A file that is being written is read again at the next call.
                        Err(error) if error.is_eof() => return,
                        Err(error) => vec![self.unusable(&error.to_string())],
                    },
                    // It was removed since.
                    Err(error) if error.kind() == ErrorKind::NotFound => return,
                    Err(error) => vec![self.unusable(&error.to_string())],
                };
                state.written = Some((stamp, rules));
            }
        }
    }
}

impl State {
    fn rules(&self) -> &[Rule] {
        match &self.written {
            Some((_, rules)) => rules,
            None => &self.configured,
        }
    }
}
