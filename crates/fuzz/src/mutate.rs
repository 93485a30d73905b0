//! Mutations: of bytes, and of the lines and words that texts consist of.

use crate::random::Random;

/// The largest input that is made. Aliases and nesting do their harm in much less.
pub const LONGEST: usize = 64 << 10;

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

/// Changes an input a few times; `other` is one of the same corpus.
pub(crate) fn mutated(random: &mut Random, input: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let most = 1 << random.below(4);
    let rounds = 1 + random.below(most);
    for _ in 0..rounds {
        match random.below(14) {
            0 => flip(random, &mut bytes),
            1 => delete(random, &mut bytes),
            2 => repeat(random, &mut bytes),
            3 => splice(random, &mut bytes, other),
            4 | 5 => word(random, &mut bytes),
            6 | 7 => token(random, &mut bytes),
            8..=11 => lines(random, &mut bytes, other),
            12 => nest(random, &mut bytes),
            _ => number(random, &mut bytes),
        }
        bytes.truncate(LONGEST);
    }
    bytes
}

fn stretch(random: &mut Random, length: usize, most: usize) -> std::ops::Range<usize> {
    let start = random.below(length + 1);
    start..(start + random.below(most)).min(length)
}

fn flip(random: &mut Random, bytes: &mut [u8]) {
    let index = random.below(bytes.len());
    let value = if random.below(2) == 0 { random.byte() } else { 1 << random.below(8) };
    if let Some(byte) = bytes.get_mut(index) {
        *byte ^= value;
    }
}

fn delete(random: &mut Random, bytes: &mut Vec<u8>) {
    let range = stretch(random, bytes.len(), 32);
    bytes.drain(range);
}

fn repeat(random: &mut Random, bytes: &mut Vec<u8>) {
    let range = stretch(random, bytes.len(), 200);
    let at = range.end;
    let times = 1 << random.below(8);
    let piece = bytes[range].repeat(times);
    bytes.splice(at..at, piece);
}

fn splice(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    let (here, there) = (random.below(bytes.len() + 1), random.below(other.len() + 1));
    bytes.truncate(here);
    bytes.extend_from_slice(&other[there..]);
}

fn word(random: &mut Random, bytes: &mut Vec<u8>) {
    let Some(word) = random.pick(WORDS) else { return };
    let range = stretch(random, bytes.len(), 8);
    bytes.splice(range, word.bytes());
}

/// Replaces the whole value after a colon or a hyphen, or a word of JSON.
fn token(random: &mut Random, bytes: &mut Vec<u8>) {
    let Some(word) = random.pick(WORDS) else { return };
    let from = random.below(bytes.len());
    let is_edge = |byte: &u8| matches!(byte, b' ' | b'\n' | b':' | b',' | b'[' | b']' | b'{' | b'}' | b'"');
    let Some(start) = bytes.get(from..).and_then(|rest| rest.iter().position(is_edge)) else { return };
    let start = from + start + 1;
    let rest = bytes.get(start..).unwrap_or_default();
    let end = start + rest.iter().position(is_edge).unwrap_or(rest.len());
    bytes.splice(start.min(bytes.len())..end, word.bytes());
}

fn number(random: &mut Random, bytes: &mut Vec<u8>) {
    let from = random.below(bytes.len());
    let rest = bytes.get(from..).unwrap_or_default();
    let Some(start) = rest.iter().position(u8::is_ascii_digit) else { return };
    let length = rest[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = (random.next() >> random.below(64)).to_string();
    bytes.splice(from + start..from + start + length, text.bytes());
}

fn nest(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len() + 1);
    let depth = 1 << random.below(13);
    let open: &[u8] = [&b"["[..], b"{a: ", b"- ", b"{\"a\":"][random.below(4)];
    bytes.splice(at..at, open.repeat(depth));
}

fn lines(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let theirs: Vec<&[u8]> = other.split_inclusive(|byte| *byte == b'\n').collect();
    let index = random.below(lines.len());
    if lines.is_empty() {
        return;
    }
    let indented;
    match random.below(6) {
        0 => drop(lines.remove(index)),
        1 => lines.insert(index, lines[random.below(lines.len())]),
        2 => {
            let other = random.below(lines.len());
            lines.swap(index, other);
        }
        3 => lines.insert(index, theirs.get(random.below(theirs.len())).copied().unwrap_or_default()),
        4 => {
            let spaces = " ".repeat(random.below(9));
            indented = [spaces.as_bytes(), lines[index].trim_ascii_start()].concat();
            lines[index] = &indented;
        }
        _ => {
            let block = stretch(random, lines.len(), 20);
            let copy = lines[block].to_vec();
            lines.splice(index..index, copy.repeat(1 << random.below(5)));
        }
    }
    *bytes = lines.concat();
}
