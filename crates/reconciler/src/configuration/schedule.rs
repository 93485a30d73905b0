//! When a plan may be applied: maintenance windows and freezes.

use std::time::Duration;

use cronexpr::{Crontab, MakeTimestamp};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde::Deserialize;

use super::duration;
use super::source::ClusterPolicy;

/// A window that opens again and again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Window {
    /// When it opens: minute, hour, day of the month, month, day of the week, as in `crontab(5)`.
    pub cron: String,
    /// How long it stays open. A run that began in it goes on after its end.
    #[serde(deserialize_with = "duration")]
    pub lasts: Duration,
}

/// Days on which nothing is applied.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Freeze {
    /// The first day, as `"2026-12-20"`.
    pub from: Date,
    /// The last day.
    pub until: Date,
    /// Why, for messages.
    pub reason: Option<String>,
}

/// The windows and freezes of a policy, ready for use.
#[derive(Clone, Debug)]
pub struct Schedule {
    zone: TimeZone,
    windows: Vec<(Crontab, Duration)>,
    freezes: Vec<Freeze>,
}

/// Whether a plan may be applied at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// It may.
    Open,
    /// No window is open; the next one opens then, if there is one within four years.
    Closed(Option<Timestamp>),
    /// A freeze, which ends then, with its reason.
    Frozen(Option<Timestamp>, Option<String>),
}

impl Schedule {
    /// Reads the windows and freezes of a policy.
    ///
    /// # Errors
    /// What is wrong, in a sentence.
    pub fn of(policy: &ClusterPolicy) -> Result<Self, String> {
        let name = &policy.time_zone;
        let zone = TimeZone::get(name).map_err(|_| format!("the time zone `{name}` is not known"))?;
        let window = |window: &Window| {
            let cron = &window.cron;
            let parsed = cronexpr::parse_crontab(&format!("{cron} {name}"))
                .map_err(|error| format!("the cron expression `{cron}` is not understood: {error}"))?;
            match window.lasts.is_zero() {
                true => Err(format!("the window `{cron}` lasts no time")),
                false => Ok((parsed, window.lasts)),
            }
        };
        let windows = policy.windows.iter().map(window).collect::<Result<_, _>>()?;
        if let Some(freeze) = policy.freezes.iter().find(|freeze| freeze.until < freeze.from) {
            return Err(format!(
                "the freeze from {} ends on {}, before it begins",
                freeze.from, freeze.until
            ));
        }
        Ok(Self { zone, windows, freezes: policy.freezes.clone() })
    }

    /// Whether a plan may be applied at a moment.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Opening {
        let today = now.to_zoned(self.zone.clone()).date();
        if let Some(freeze) = self.freezes.iter().find(|freeze| freeze.from <= today && today <= freeze.until)
        {
            let end = freeze.until.checked_add(1.day()).ok();
            let end = end.and_then(|day| day.to_zoned(self.zone.clone()).ok()).map(|zoned| zoned.timestamp());
            return Opening::Frozen(end, freeze.reason.clone());
        }
        if self.windows.is_empty() {
            return Opening::Open;
        }
        let is_open = |(cron, lasts): &(Crontab, Duration)| {
            let opened = now.checked_sub(*lasts).ok().and_then(|since| next(cron, since));
            opened.is_some_and(|opened| opened <= now)
        };
        if self.windows.iter().any(is_open) {
            return Opening::Open;
        }
        Opening::Closed(self.windows.iter().filter_map(|(cron, _)| next(cron, now)).min())
    }
}

/// The first moment after another one at which a window opens.
fn next(cron: &Crontab, after: Timestamp) -> Option<Timestamp> {
    cron.find_next(MakeTimestamp(after)).ok().map(|zoned| zoned.timestamp())
}
