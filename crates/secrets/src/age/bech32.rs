//! Bech32 (BIP 173) without its limit of length: how age writes keys.

const CHARACTERS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";

/// Writes bytes under a prefix, in lower case.
pub(super) fn encode(prefix: &str, bytes: &[u8]) -> String {
    let mut groups = regroup(bytes.iter().copied(), 8, 5, true).unwrap_or_default();
    let check = checksum(prefix, &groups, 1);
    groups.extend((0..6).map(|index| ((check >> (5 * (5 - index))) & 31) as u8));
    let letters = groups.iter().filter_map(|group| CHARACTERS.get(usize::from(*group)).copied());
    format!("{prefix}1{}", letters.map(char::from).collect::<String>())
}

/// The prefix in lower case and the bytes; nothing when the text is mistyped.
pub(super) fn decode(text: &str) -> Option<(String, Vec<u8>)> {
    let lower = text.to_ascii_lowercase();
    if text != lower && text != text.to_ascii_uppercase() {
        return None;
    }
    let (prefix, data) = lower.rsplit_once('1')?;
    let groups: Vec<u8> = data
        .bytes()
        .map(|letter| CHARACTERS.iter().position(|known| *known == letter).map(|place| place as u8))
        .collect::<Option<_>>()?;
    if prefix.is_empty() || groups.len() < 6 || checksum(prefix, &groups, 0) != 0 {
        return None;
    }
    let payload = groups.get(..groups.len() - 6)?;
    Some((prefix.to_owned(), regroup(payload.iter().copied(), 5, 8, false)?))
}

/// The checksum over prefix and groups; to make one, over six more empty groups, with `flip` 1.
fn checksum(prefix: &str, groups: &[u8], flip: u32) -> u32 {
    let high = prefix.bytes().map(|byte| byte >> 5);
    let low = prefix.bytes().map(|byte| byte & 31);
    let room = if flip == 1 { 6 } else { 0 };
    let all = high.chain([0]).chain(low).chain(groups.iter().copied()).chain(std::iter::repeat_n(0, room));
    let sum = all.fold(1_u32, |sum, value| {
        let top = sum >> 25;
        let mixed = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
        let generators = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
        generators.iter().enumerate().fold(
            mixed,
            |sum, (bit, generator)| {
                if top >> bit & 1 == 1 { sum ^ generator } else { sum }
            },
        )
    });
    sum ^ 1
}

fn regroup(values: impl Iterator<Item = u8>, from: u32, to: u32, pad: bool) -> Option<Vec<u8>> {
    let (mut gathered, mut bits, mut regrouped) = (0_u32, 0, Vec::new());
    let most = (1 << to) - 1;
    for value in values {
        gathered = (gathered << from | u32::from(value)) & 0xffff;
        bits += from;
        while bits >= to {
            bits -= to;
            regrouped.push((gathered >> bits & most) as u8);
        }
    }
    let rest = gathered << (to - bits) & most;
    match (pad, bits) {
        (true, 1..) => regrouped.push(rest as u8),
        (false, _) if bits >= from || rest != 0 => return None,
        _ => {}
    }
    Some(regrouped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for length in 0..80 {
            let bytes: Vec<u8> = (0..length).map(|value| (value as u8).wrapping_mul(37)).collect();
            let text = encode("age", &bytes);
            assert_eq!(decode(&text), Some(("age".to_owned(), bytes.clone())));
            assert_eq!(decode(&text.to_ascii_uppercase()), Some(("age".to_owned(), bytes)));
        }
    }

    #[test]
    fn the_vectors_of_bip_173() {
        for good in [
            "A12UEL5L",
            "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
            "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w",
        ] {
            assert!(decode(good).is_some(), "{good}");
        }
        for bad in ["", "1qzzfhee", "A12UEL5l", "A12UEL5M", "pzry9x0s0muk", "x1b4n0q5v", "li1dgmt3"] {
            assert!(decode(bad).is_none(), "{bad}");
        }
    }
}
