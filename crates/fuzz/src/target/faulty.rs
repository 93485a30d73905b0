use super::{Target, Verdict};
use crate::large;
use crate::mutate::Form;
use crate::worker::{LIMIT, processor};

const fn faulty(name: &'static str, run: fn(&[u8]) -> Verdict) -> Target {
    Target { name, form: Form::Bytes, corpus: || Ok(vec![b"input".to_vec()]), large: large::none, run }
}

/// Targets that fail, so that it is known that failures are found.
pub(super) const ALL: &[Target] = &[
    faulty("faulty-panic", index),
    faulty("faulty-memory", memory),
    faulty("faulty-time", time),
    faulty("faulty-law", law),
];

fn index(input: &[u8]) -> Verdict {
    Verdict::taken(input[input.len()].to_string())
}

fn memory(input: &[u8]) -> Verdict {
    let much = vec![input.len(); 64 << 20];
    Verdict::taken(much[input.len()].to_string())
}

fn time(input: &[u8]) -> Verdict {
    let until = processor() + LIMIT + LIMIT / 10;
    while processor() < until {}
    Verdict::taken(input.len().to_string())
}

fn law(input: &[u8]) -> Verdict {
    Verdict::lawful(input.is_empty(), "an input is empty")
}
