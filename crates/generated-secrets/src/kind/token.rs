//! `token`: a text that authenticates its holder.

use slipway_resource::{Attribute, Type, Value};
use zeroize::Zeroizing;

use super::{Kind, TOKEN, random_text, with_outputs};
use crate::content::Fields;

const LOWER: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const HEXADECIMAL: &[u8] = b"0123456789abcdef";
const PASSWORD: &[u8] = b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";

pub(super) fn kind() -> Kind {
    let attributes = vec![
        (
            "form",
            Attribute::optional(Type::String).immutable().default_to("bootstrap").describe(
                "Form of the token: `bootstrap` (a bootstrap token, six and sixteen characters), `hex32` (64 hexadecimal digits), `password` (24 letters and digits).",
            ),
        ),
        (
            "token_id",
            Attribute::optional_computed(Type::String)
                .immutable()
                .describe("The public part of a bootstrap token: six lower-case letters and digits."),
        ),
    ];
    Kind::new(
        TOKEN,
        "A random text that grants access; its fields are `token`, and `token_secret` of a bootstrap token.",
        attributes,
        make,
    )
}

fn make(desired: &Value) -> Result<(Value, Fields), String> {
    match desired.get("form").and_then(Value::as_str).unwrap_or("bootstrap") {
        "bootstrap" => {
            let id = match desired.get("token_id").and_then(Value::as_str) {
                Some(id) if id.len() == 6 && id.bytes().all(|byte| LOWER.contains(&byte)) => {
                    Zeroizing::new(id.to_owned())
                }
                Some(id) => return Err(format!("cannot be: `{id}` is not an id of a bootstrap token")),
                None => random_text(LOWER, 6)?,
            };
            let secret = random_text(LOWER, 16)?;
            let token = Zeroizing::new(format!("{}.{}", *id, *secret));
            let attributes = with_outputs(desired, [("token_id", id.as_str().into())]);
            Ok((attributes, vec![("token", token), ("token_secret", secret)]))
        }
        "hex32" => Ok((with_outputs(desired, []), vec![("token", random_text(HEXADECIMAL, 64)?)])),
        "password" => Ok((with_outputs(desired, []), vec![("token", random_text(PASSWORD, 24)?)])),
        other => Err(format!("cannot be: its form is bootstrap, hex32 or password, not `{other}`")),
    }
}
