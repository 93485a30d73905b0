//! Keys that encrypt other keys and never leave KMS.

use slipway_resource::Form;

use super::builder::{Builder, Named, TEXT};
use super::rate::KMS;

/// How many days AWS keeps a key after its deletion was scheduled: the longest time that KMS allows.
pub const DELETION_WINDOW_DAYS: i32 = 30;

pub(super) fn types() -> Vec<Named> {
    vec![key()]
}

fn key() -> Named {
    Builder::new("aws_kms_key", KMS, "A symmetric key that wraps data keys.")
        .read_by_identity()
        .arn()
        .tags()
        .required("alias", TEXT, "Its name, alias/…, once in a region; its create finds the key again by it.")
        .required("policy", TEXT, "Principals that may administer and use the key: a policy document.")
        .optional("description", TEXT, "Free text that describes the object.")
        .switch("is_enabled", true, "Whether it can be used.")
        .exclusive(["alias"])
        .takes(1_500, 1_000, 1_000)
        .forms(&["policy"], &[Form::Policy])
        .build()
}
