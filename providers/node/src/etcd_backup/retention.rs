//! Which snapshots are kept.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// For so long every snapshot is kept.
const ALL: SignedDuration = SignedDuration::from_hours(24);

/// The snapshots that are not kept, of those that can be restored, by name and time. All of the last 24 hours are kept, then
/// the last one of each day (UTC) until they are older than the retention. The newest one is kept however old it is.
pub(crate) fn expired(snapshots: &[(String, Timestamp)], retention: Duration, now: Timestamp) -> Vec<String> {
    let retention = SignedDuration::try_from(retention).unwrap_or(SignedDuration::MAX);
    let mut newest_first: Vec<&(String, Timestamp)> = snapshots.iter().collect();
    newest_first.sort_by_key(|(name, taken)| std::cmp::Reverse((*taken, name)));
    let mut days = BTreeSet::new();
    let mut expired = Vec::new();
    for (position, (name, taken)) in newest_first.into_iter().enumerate() {
        let age = now.duration_since(*taken);
        let is_last_of_day = days.insert(taken.to_zoned(TimeZone::UTC).date());
        let is_kept = position == 0 || (age <= retention && (age <= ALL || is_last_of_day));
        if !is_kept {
            expired.push(name.clone());
        }
    }
    expired
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> (String, Timestamp) {
        (text.to_owned(), text.parse().unwrap())
    }

    fn kept(snapshots: &[&str], days: u64, now: &str) -> Vec<String> {
        let all: Vec<_> = snapshots.iter().map(|text| at(text)).collect();
        let gone = expired(&all, Duration::from_secs(days * 86_400), now.parse().unwrap());
        all.into_iter().map(|(name, _)| name).filter(|name| !gone.contains(name)).collect()
    }

    #[test]
    fn a_day_is_kept_whole_and_then_one_snapshot_of_each_day() {
        let now = "2026-11-26T12:00:00Z";
        let today = ["2026-11-25T12:00:00Z", "2026-11-26T00:00:00Z", "2026-11-26T11:45:00Z"];
        assert_eq!(kept(&today, 90, now), today);
        let older = ["2026-11-01T00:15:00Z", "2026-11-01T10:00:00Z", "2026-11-02T06:00:00Z", today[2]];
        assert_eq!(kept(&older, 90, now), &older[1..], "the last of its day");
        assert_eq!(kept(&older, 25, now), &older[2..], "older than the retention");
    }

    #[test]
    fn a_short_retention_counts_within_the_day_too() {
        let two = ["2026-11-26T10:00:00Z", "2026-11-26T11:00:00Z"];
        let all: Vec<_> = two.iter().map(|text| at(text)).collect();
        let now = "2026-11-26T11:30:00Z".parse().unwrap();
        assert_eq!(expired(&all, Duration::from_secs(3_600), now), [two[0]]);
    }

    #[test]
    fn the_newest_is_never_removed() {
        assert_eq!(kept(&["2020-01-01T00:00:00Z"], 1, "2026-11-26T12:00:00Z"), ["2020-01-01T00:00:00Z"]);
        let none: [&str; 0] = [];
        assert!(kept(&none, 1, "2026-11-26T12:00:00Z").is_empty());
    }
}
