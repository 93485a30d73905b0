//! How fast calls may begin, by rate class.

use std::collections::BTreeMap;
use std::time::Duration;

use slipway_resource::provider::RateClass;
use tokio::time::Instant;

/// Pace limits of a run: a number of calls a second, and no call while a rate class has to wait.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    classes: BTreeMap<String, ClassPace>,
}

#[derive(Debug, Default)]
struct ClassPace {
    pause: Duration,
    next: Option<Instant>,
}

impl Pace {
    pub fn new(rate_classes: &BTreeMap<String, RateClass>) -> Self {
        let pace = |class: &RateClass| {
            let pause =
                class.per_second.filter(|rate| *rate > 0.0).map(|rate| Duration::from_secs_f64(1.0 / rate));
            ClassPace { pause: pause.unwrap_or_default(), next: None }
        };
        Self { classes: rate_classes.iter().map(|(name, class)| (name.clone(), pace(class))).collect() }
    }

    /// Whether a call of a class may begin now.
    pub fn is_open(&self, class: &str, now: Instant) -> bool {
        self.classes.get(class).and_then(|pace| pace.next).is_none_or(|next| next <= now)
    }

    /// Counts a call that begins.
    pub fn begin(&mut self, class: &str, now: Instant) {
        if let Some(pace) = self.classes.get_mut(class)
            && !pace.pause.is_zero()
        {
            // From when it was due, so that late wake-ups do not slow the class down; not further back than one pause.
            let due = pace.next.unwrap_or(now).max(now.checked_sub(pace.pause).unwrap_or(now));
            pace.next = Some(due + pace.pause);
        }
    }

    /// Holds a rate class back, because the provider asks for fewer calls.
    pub fn hold(&mut self, class: &str, until: Instant) {
        let pace = self.classes.entry(class.to_owned()).or_default();
        pace.next = Some(pace.next.map_or(until, |next| next.max(until)));
    }

    /// When the next class opens that is closed now.
    pub fn next_opening(&self, now: Instant) -> Option<Instant> {
        self.classes.values().filter_map(|pace| pace.next).filter(|next| *next > now).min()
    }
}
