//! Numbers that look random and follow from a seed and some words, so that a simulation can be repeated.

/// A number that depends on the seed and every word, the same on every machine and in every version.
pub(crate) fn mix(seed: u64, words: &[&str]) -> u64 {
    let mut state = seed ^ 0xcbf2_9ce4_8422_2325;
    for word in words {
        for byte in word.bytes() {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        state = (state ^ 0xff).wrapping_mul(0x0000_0100_0000_01b3);
    }
    // The end of SplitMix64, since the low bits of FNV-1a alone are weak.
    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// A number in `0.0..1.0` that depends on the seed and every word.
#[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
pub(crate) fn fraction(seed: u64, words: &[&str]) -> f64 {
    (mix(seed, words) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_do_not_run_together() {
        assert_ne!(mix(1, &["ab", "c"]), mix(1, &["a", "bc"]));
        assert_ne!(mix(1, &["a"]), mix(2, &["a"]));
        assert!((0..1000).all(|seed| (0.0..1.0).contains(&fraction(seed, &["x"]))));
    }
}
