use std::collections::BTreeSet;

use crate::random::Random;

/// Words that parsers of numbers, ranges, times, texts and YAML take wrong.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "1",
    "2147483647",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e309",
    "0x7fffffff",
    "NaN",
    ".inf",
    "1.35",
    "\"\"",
    "''",
    "~",
    "null",
    "true",
    "yes",
    "[]",
    "{}",
    "[[[[[[[[",
    "{{{{{{{{",
    "]",
    "}",
    "- - - - - -",
    "*a",
    "&a ",
    "&b [*a,*a,*a,*a,*a,*a,*a,*a]",
    "<<: *a",
    "<<",
    "? ",
    ": ",
    "---\n",
    "...\n",
    "%YAML 1.2\n---\n",
    "!!python/object:os.system ",
    "!!binary ",
    "!!int ",
    "| \n",
    ">-\n",
    "#",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{0}",
    "\u{1b}[2J",
    "\u{9b}",
    "\u{202e}",
    "\u{10ffff}",
    "ünïcödé",
    "9999999999999999h",
    "99999d",
    "1h1h",
    "-5m",
    "0.0.0.0/0",
    "::/0",
    "fd00::/1",
    "10.0.0.0/33",
    "/64#ffffffffffffffff",
    "/8#0",
    "1Ei",
    "9999999999Ei",
    "100%",
    "101%",
    "../../x",
    "/etc/passwd",
    "env:HOME",
    "file:/dev/zero",
    "sops:a#b",
    "${",
    "$${",
    "\\u0000",
    "\\",
    "\"",
    "'",
    "`",
    "v1.999999999999.0",
    "1.35.0-alpha..0+",
    "2026-02-30T25:61:61Z",
    "9999-12-31T23:59:59Z",
    "-----BEGIN CERTIFICATE-----\n",
    "age1",
    "AGE-SECRET-KEY-1",
    "slipway.dev/v1alpha1",
    "kops.k8s.io/v1alpha2",
    "kubeadm.k8s.io/v1beta4",
    "kind: Cluster\n",
    "apiVersion: v1\n",
];

/// Values of JSON with edges of their types.
pub(super) const VALUES: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1",
    "0.5",
    "4294967296",
    "18446744073709551615",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "1e-7",
    "0.1234567890123456789",
    "\"\"",
    "\"\\u0000\"",
    "\"\\u001b[2J\"",
    "\"${a.b.c}\"",
    "[]",
    "{}",
    "[[]]",
    "[null]",
    "{\"\":null}",
    "{\"$unknown\":true}",
    "{\"$reference\":\"a.b:c\"}",
    "{\"$template\":[\"a\",{\"$reference\":\"a.b:c[0]\"}]}",
    "{\"$secret\":{\"source\":\"env:A\"}}",
    "{\"$$a\":1}",
];

/// The longest word that is taken from an input.
const LONGEST: usize = 40;

/// The largest number of words.
const MOST: usize = 4_096;

/// Words that are put into inputs: names and values of the first inputs, and words that parsers take wrong.
pub(crate) struct Dictionary {
    own: Vec<Vec<u8>>,
}

impl Dictionary {
    /// The dictionary of a corpus.
    pub(crate) fn of(corpus: &[Vec<u8>]) -> Self {
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./:".contains(byte);
        let words = corpus.iter().flat_map(|input| input.split(|byte| !is_part(byte)));
        let own: BTreeSet<&[u8]> =
            words.map(trimmed).filter(|word| (2..=LONGEST).contains(&word.len())).take(64 * MOST).collect();
        Self { own: own.into_iter().take(MOST).map(<[u8]>::to_vec).collect() }
    }

    /// Any word.
    pub(crate) fn word(&self, random: &mut Random) -> &[u8] {
        if random.below(2) == 0 {
            return self.own(random);
        }
        random.pick(WORDS).map(|word| word.as_bytes()).unwrap_or_default()
    }

    /// A name or a value that some input has.
    pub(crate) fn own(&self, random: &mut Random) -> &[u8] {
        random.pick(&self.own).map(Vec::as_slice).unwrap_or(b"name")
    }
}

/// A word without the colon of its key.
fn trimmed(word: &[u8]) -> &[u8] {
    word.strip_suffix(b":").unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_and_values_of_inputs_are_words() {
        let dictionary = Dictionary::of(&[b"apiVersion: v1\nlist: [\"10.0.0.0/8\", x]\n".to_vec()]);
        assert_eq!(dictionary.own, [&b"10.0.0.0/8"[..], b"apiVersion", b"list", b"v1"]);
    }
}
