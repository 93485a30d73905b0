//! The results of the suite.

use std::fmt::Write;

use serde::Serialize;

/// The result of one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The rule is kept.
    Pass,
    /// The rule is broken.
    Fail,
    /// The rule cannot be checked: the scenario or the provider does not offer what it needs.
    Skip,
}

/// One rule's line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The rule.
    pub rule: &'static str,
    /// Whether every provider has to keep it.
    pub mandatory: bool,
    /// The result.
    pub verdict: Verdict,
    /// Why, unless it passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The provider's name.
    pub provider: String,
    /// One line for each rule, in the order of the contract.
    pub rules: Vec<Line>,
}

impl Report {
    /// Whether no mandatory rule is broken.
    #[must_use]
    pub fn conforms(&self) -> bool {
        !self.rules.iter().any(|line| line.mandatory && line.verdict == Verdict::Fail)
    }

    /// The rules with a verdict.
    #[must_use]
    pub fn with(&self, verdict: &Verdict) -> Vec<&'static str> {
        let lines = self.rules.iter().filter(|line| line.verdict == *verdict);
        lines.map(|line| line.rule).collect()
    }

    /// The report for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let width = self.rules.iter().map(|line| line.rule.len()).max().unwrap_or(0);
        let mut text = String::new();
        for line in &self.rules {
            let verdict = match (&line.verdict, line.mandatory) {
                (Verdict::Pass, _) => "pass",
                (Verdict::Fail, true) => "FAIL",
                (Verdict::Fail, false) => "warn",
                (Verdict::Skip, _) => "skip",
            };
            // Writing to a text cannot fail.
            let _ = write!(text, "{verdict}  {:width$}", line.rule);
            if let Some(reason) = &line.reason {
                let _ = write!(text, "  {}", reason.replace('\n', "\n      "));
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        let count = |verdict| self.with(&verdict).len();
        let _ = writeln!(
            text,
            "\nprovider {}: {} passed, {} failed, {} skipped",
            self.provider,
            count(Verdict::Pass),
            count(Verdict::Fail),
            count(Verdict::Skip)
        );
        text
    }
}
