//! One provider and all rules.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::stream::{self, StreamExt};
use slipway_protocol::{Launch, Running};

use crate::bench::Bench;
use crate::report::{Line, Report, Verdict};
use crate::rule::{Check, RULES, Rule};
use crate::scenario::Scenario;
use crate::stop::{Checked, Stop, fail};

/// A provider to be proved.
#[derive(Debug)]
pub struct Suite {
    name: String,
    executable: PathBuf,
    arguments: Vec<OsString>,
    pub(crate) scenario: Scenario,
    pub(crate) limits: Limits,
    counter: AtomicU64,
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The announcement.
    pub start: Duration,
    /// The end after standard input was closed.
    pub end: Duration,
    /// One check.
    pub check: Duration,
    /// How many checks run at once, each with a process of its own.
    pub parallel: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(10),
            end: Duration::from_secs(15),
            check: Duration::from_secs(180),
            parallel: 4,
        }
    }
}

impl Suite {
    /// A suite for an executable.
    #[must_use]
    pub fn new(name: &str, executable: PathBuf, scenario: Scenario) -> Self {
        Self {
            name: name.to_owned(),
            executable,
            arguments: Vec::new(),
            scenario,
            limits: Limits::default(),
            counter: AtomicU64::new(0),
        }
    }

    /// The same with arguments for the executable.
    #[must_use]
    pub fn with_arguments(mut self, arguments: Vec<OsString>) -> Self {
        self.arguments = arguments;
        self
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Holds the provider against the rules with these ids; against all without any.
    pub async fn run(&self, only: &[String]) -> Report {
        let is_wanted = |rule: &&Rule| only.is_empty() || only.iter().any(|id| id == rule.id);
        let lines = stream::iter(RULES.iter().filter(is_wanted).map(|rule| self.line(rule)))
            .buffered(self.limits.parallel.max(1))
            .collect()
            .await;
        Report { provider: self.name.clone(), rules: lines }
    }

    async fn line(&self, rule: &Rule) -> Line {
        let checked = match tokio::time::timeout(self.limits.check, self.check(rule)).await {
            Ok(checked) => checked,
            Err(_) => fail(format!("not through after {} s", self.limits.check.as_secs())),
        };
        let (verdict, reason) = match checked {
            Ok(()) => (Verdict::Pass, None),
            Err(Stop::Fail(reason)) => (Verdict::Fail, Some(reason)),
            Err(Stop::Skip(reason)) => (Verdict::Skip, Some(reason)),
        };
        Line { rule: rule.id, mandatory: rule.mandatory, verdict, reason }
    }

    async fn check(&self, rule: &Rule) -> Checked {
        match rule.check {
            Check::Process(check) => check(self).await,
            Check::Session(check) => {
                let mut bench = Bench::open(self).await?;
                let checked = check(&mut bench).await;
                bench.end().await;
                checked
            }
        }
    }

    pub(crate) fn launch(&self) -> Launch {
        Launch {
            arguments: self.arguments.clone(),
            timeout: self.limits.start,
            grace: self.limits.end,
            ..Launch::new(&self.name, &self.executable)
        }
    }

    /// Starts a process. One that does not start breaks `handshake` and leaves the rest unproved.
    pub(crate) async fn start(&self) -> Result<Running, Stop> {
        let started = Running::launch(&self.launch()).await;
        started.map_err(|error| Stop::Skip(format!("it does not start: {error}")))
    }

    /// The same with further variables in its environment.
    pub(crate) async fn start_with(&self, variables: Vec<(OsString, OsString)>) -> Result<Running, Stop> {
        let started = Running::launch(&Launch { variables, ..self.launch() }).await;
        started.map_err(|error| Stop::Skip(format!("it does not start: {error}")))
    }

    /// A text that no other check has, in no other run either.
    pub(crate) fn unique(&self) -> String {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("{:x}-{:x}-{number}", since.as_micros(), std::process::id())
    }
}
