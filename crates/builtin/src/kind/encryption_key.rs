//! `encryption_key`: a key for data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_resource::{Attribute, Type, Value};
use zeroize::Zeroizing;

use super::{ENCRYPTION_KEY, Kind, random, with_outputs};
use crate::content::Fields;

pub(super) fn kind() -> Kind {
    let length = Attribute::optional(Type::Integer)
        .immutable()
        .default_to(Value::Integer(32))
        .describe("How many bytes it has: 16, 24 or 32.");
    Kind::new(
        ENCRYPTION_KEY,
        "A random key for data; its field `key` is its bytes in base64. What was encrypted with it cannot be read without it.",
        true,
        vec![("length", length)],
        make,
    )
}

fn make(desired: &Value) -> Result<(Value, Fields), String> {
    let length = desired.get("length").and_then(Value::as_integer).unwrap_or(32);
    let bytes = random::<32>()?;
    let used = match length {
        16 | 24 | 32 => bytes.get(..usize::try_from(length).unwrap_or(32)).unwrap_or(&*bytes),
        other => return Err(format!("cannot be: a key has 16, 24 or 32 bytes, not {other}")),
    };
    Ok((with_outputs(desired, []), vec![("key", Zeroizing::new(STANDARD.encode(used)))]))
}
