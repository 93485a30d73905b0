//! The MAC over a document: SHA-512 of its values in their order, in upper-case hexadecimal, encrypted as a value.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Context, SHA512};

/// The prefix of the MAC when it covers encrypted values only (`mac_only_encrypted`), so that a document
/// cannot be mistaken for one of the other kind.
const ONLY_ENCRYPTED: [u8; 32] = [
    0x8a, 0x3f, 0xd2, 0xad, 0x54, 0xce, 0x66, 0x52, 0x7b, 0x10, 0x34, 0xf3, 0xd1, 0x47, 0xbe, 0x0b, 0x0b,
    0x97, 0x5b, 0x3b, 0xf4, 0x4f, 0x72, 0xc6, 0xfd, 0xad, 0xec, 0x81, 0x76, 0xf2, 0x7d, 0x69,
];

/// A MAC in the making.
pub(super) struct Mac {
    context: Context,
    only_encrypted: bool,
}

impl Mac {
    pub(super) fn new(only_encrypted: bool) -> Self {
        let mut context = Context::new(&SHA512);
        if only_encrypted {
            context.update(&ONLY_ENCRYPTED);
        }
        Self { context, only_encrypted }
    }

    /// Takes the next value.
    pub(super) fn take(&mut self, value: &[u8], is_encrypted: bool) {
        if is_encrypted || !self.only_encrypted {
            self.context.update(value);
        }
    }

    /// Whether it is what the document says.
    pub(super) fn is(self, written: &[u8]) -> bool {
        let digest = self.context.finish();
        let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        verify_slices_are_equal(hex.as_bytes(), written).is_ok()
    }
}
