//! Durations as people say them.

/// A duration in milliseconds for people: `850 ms`, `12 s`, `6 min 30 s`, `2 h 5 min`.
#[must_use]
pub fn duration(milliseconds: u64) -> String {
    if milliseconds > 0 && milliseconds < 1000 {
        return format!("{milliseconds} ms");
    }
    let seconds = milliseconds.saturating_add(500) / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => pair(seconds / 60, "min", seconds % 60, "s"),
        _ => {
            let minutes = (seconds + 30) / 60;
            pair(minutes / 60, "h", minutes % 60, "min")
        }
    }
}

fn pair(large: u64, large_unit: &str, small: u64, small_unit: &str) -> String {
    if small == 0 {
        format!("{large} {large_unit}")
    } else {
        format!("{large} {large_unit} {small} {small_unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_it_in_two_units_at_most() {
        let cases = [
            (0, "0 s"),
            (850, "850 ms"),
            (12_000, "12 s"),
            (59_600, "1 min"),
            (390_000, "6 min 30 s"),
            (3_599_900, "1 h"),
            (7_500_000, "2 h 5 min"),
            (u64::MAX, "5124095576030 h 26 min"),
        ];
        for (milliseconds, text) in cases {
            assert_eq!(duration(milliseconds), text);
        }
    }
}
