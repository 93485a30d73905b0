//! Compares the results of all specs with the expected ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use slipway_testkit::suite::{Spec, State};

use crate::output::say;
use crate::workspace;

/// Where the names are kept of those that pass, and of those that are left out with the reason.
const FOLDER: &str = "fixtures/conformance";

/// All specs that ran, and those that did not with the reason.
pub(super) struct Verdict {
    specs: Vec<Spec>,
    left_out: BTreeMap<String, String>,
}

impl Verdict {
    /// Nothing ran yet.
    pub(super) fn new(left_out: BTreeMap<String, String>) -> Self {
        Self { specs: Vec::new(), left_out }
    }

    /// The names of those that do not run.
    pub(super) fn left_out(&self) -> impl Iterator<Item = &str> {
        self.left_out.keys().map(String::as_str)
    }

    /// Adds what ran.
    pub(super) fn add(&mut self, specs: Vec<Spec>) {
        self.specs.extend(specs);
    }

    fn of(&self, state: State) -> impl Iterator<Item = &Spec> {
        self.specs.iter().filter(move |spec| spec.state == state)
    }

    /// Prints every spec, slowest first within what came of it.
    pub(super) fn tell(&self) {
        for (state, word) in
            [(State::Passed, "passed "), (State::Skipped, "skipped"), (State::Failed, "FAILED ")]
        {
            let mut specs: Vec<&Spec> = self.of(state).collect();
            specs.sort_by_key(|spec| std::cmp::Reverse(spec.took));
            for spec in specs {
                let why = first_line(&spec.message);
                let why = if why.is_empty() { String::new() } else { format!("\n                 {why}") };
                say(&format!("{word} {:6.1} s {}{why}", spec.took.as_secs_f64(), spec.name));
            }
        }
        for (name, reason) in &self.left_out {
            say(&format!("left out         {name}\n                 {reason}"));
        }
        let count = |state| self.of(state).count();
        say(&format!(
            "{} passed, {} failed, {} skipped by themselves, {} left out",
            count(State::Passed),
            count(State::Failed),
            count(State::Skipped),
            self.left_out.len()
        ));
    }

    /// Says whether all passed that has to; `all` when everything ran. `update` writes down what passed.
    ///
    /// # Errors
    /// When something failed, or did not pass that did before.
    pub(super) fn judge(&self, update: bool, all: bool) -> Result<()> {
        let mut passed: Vec<&str> = self.of(State::Passed).map(|spec| spec.name.as_str()).collect();
        passed.sort_unstable();
        let file = file("passed.txt");
        if update {
            let mut text = String::new();
            passed.iter().try_for_each(|name| writeln!(text, "{name}"))?;
            fs::write(&file, text)?;
        } else if all {
            let known = read(&file)?;
            let missing: Vec<&str> = known.lines().filter(|name| !passed.contains(name)).collect();
            if !missing.is_empty() {
                bail!("these passed before: {missing:#?}");
            }
        }
        match self.of(State::Failed).count() {
            0 => Ok(()),
            failed => bail!("{failed} specs failed"),
        }
    }
}

/// The names of specs that are left out, with the reason.
///
/// # Errors
/// When the file cannot be read, or a line has no reason.
pub(super) fn left_out() -> Result<BTreeMap<String, String>> {
    let text = read(&file("left-out.tsv"))?;
    let lines = text.lines().map(|line| line.split_once('\t').context("a line without a reason"));
    lines.map(|line| line.map(|(name, reason)| (name.to_owned(), reason.to_owned()))).collect()
}

/// A message's first line.
pub(super) fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

fn file(name: &str) -> PathBuf {
    workspace::root().join(FOLDER).join(name)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}
