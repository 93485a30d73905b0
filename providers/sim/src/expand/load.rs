//! A load of cheap objects, for benchmarks.

use slipway_resource::{Address, Value};

use super::address;
use super::build::{Builder, id_of};
use crate::config::Load;

const ORIGIN: &str = "provider.config.objects";

/// Adds the objects: chains of `chain` objects each, and one chain of slow ones.
pub(super) fn objects(builder: &mut Builder<'_>, load: &Load) {
    let payload: String =
        std::iter::repeat_n("0123456789abcdef", load.payload_bytes as usize / 16 + 1).collect();
    let payload = payload.get(..load.payload_bytes as usize).unwrap_or_default();
    let mut previous: Option<Address> = None;
    for index in 0..load.count {
        if index % load.chain.max(1) == 0 {
            previous = None;
        }
        let name = format!("{}-{index:06}", load.prefix);
        previous = Some(object(builder, &name, payload, load.sleep_ms, previous.as_ref()));
    }
    let Some(tail) = load.tail else { return };
    let mut previous = None;
    for index in 0..tail.length {
        let name = format!("{}-tail-{index:06}", load.prefix);
        previous = Some(object(builder, &name, "", tail.sleep_ms, previous.as_ref()));
    }
}

fn object(
    builder: &mut Builder<'_>,
    name: &str,
    payload: &str,
    sleep_ms: u64,
    previous: Option<&Address>,
) -> Address {
    let text = if payload.is_empty() { Value::Null } else { Value::from(payload) };
    let draft = builder
        .draft("sim_object", name, ORIGIN)
        .fix("name", name)
        .fix("key", name)
        .fix("text", text)
        .fix("sleep_ms", i64::try_from(sleep_ms).unwrap_or(i64::MAX))
        .fix("links", Value::list(previous.map(id_of)));
    let made = builder.add(draft);
    debug_assert_eq!(made, address("sim_object", name), "the address follows from the name");
    made
}
