//! The one rule that a run breaks.

use std::sync::Arc;

/// The rule to break, if any.
#[derive(Clone, Debug)]
pub struct Defect(Option<Arc<str>>);

impl Defect {
    /// Breaks a rule.
    pub fn new(rule: Option<String>) -> Self {
        Self(rule.map(Into::into))
    }

    /// Whether it is this rule.
    pub fn breaks(&self, rule: &str) -> bool {
        self.0.as_deref() == Some(rule)
    }
}
