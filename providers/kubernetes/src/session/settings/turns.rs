//! The order and the time of a roll of settings.
//!
//! One machine is changed first, then a tenth of the machines at a time. So a roll of any size has at most eleven turns, and the
//! time that its step may take is limited by the time of a turn.

/// How long a turn usually takes, in milliseconds: a machine looks at its Node every 10 to 20 s, and starts its kubelet again.
const USUAL_MS: u64 = 60_000;
/// How long a turn may take, in milliseconds, since its machines change at the same time: the kubelet of a machine is started,
/// watched, and started again with the previous settings if need be. A step may take ten times as long as the plan expects, so
/// that all turns of it may take this long.
pub(super) const LONGEST_MS: u64 = 10 * USUAL_MS;

/// How many machines change at once, when some of `all` have changed.
pub(super) fn size(all: usize, changed: usize) -> usize {
    if changed == 0 { 1 } else { all.div_ceil(10).max(1) }
}

/// How long the settings usually take to reach some machines, in milliseconds.
pub(in crate::session) fn estimate_ms(machines: u64) -> u64 {
    let Some(others) = machines.checked_sub(1) else { return 0 };
    (1 + others.div_ceil(machines.div_ceil(10))) * USUAL_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_machine_changes_first_then_a_tenth_at_a_time() {
        assert_eq!([size(1, 0), size(1000, 0)], [1, 1]);
        assert_eq!([size(2, 1), size(11, 1), size(1000, 1)], [1, 2, 100]);
    }

    #[test]
    fn the_time_grows_with_the_machines_up_to_eleven_turns() {
        let turns = |machines| estimate_ms(machines) / USUAL_MS;
        assert_eq!([turns(0), turns(1), turns(2), turns(10), turns(11)], [0, 1, 2, 10, 6]);
        assert!((0..5000).all(|machines| turns(machines) <= 11));
    }
}
