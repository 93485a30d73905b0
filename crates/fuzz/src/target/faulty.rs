use super::Target;
use crate::worker::{MILLISECONDS, processor};

/// Targets that fail, so that it is known that failures are found.
pub(super) const ALL: &[Target] = &[
    Target { name: "faulty-panic", corpus: || Ok(vec![b"input".to_vec()]), run: index },
    Target { name: "faulty-memory", corpus: || Ok(vec![b"input".to_vec()]), run: memory },
    Target { name: "faulty-time", corpus: || Ok(vec![b"input".to_vec()]), run: time },
];

fn index(input: &[u8]) -> String {
    input[input.len()].to_string()
}

fn memory(input: &[u8]) -> String {
    let much = vec![input.len(); 64 << 20];
    much[input.len()].to_string()
}

fn time(input: &[u8]) -> String {
    let until = processor() + MILLISECONDS + 100;
    while processor() < until {}
    input.len().to_string()
}
