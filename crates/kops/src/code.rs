//! The stable codes of this crate. A code is never given a second meaning.

use slipway_spec::diagnostic::Code;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $title:literal;)*) => {
        $($(#[$doc])* pub const $name: Code = Code { id: $id, title: $title };)*

        /// Every code of this crate, in order.
        pub const ALL: &[Code] = &[$($name),*];
    };
}

codes! {
    /// A field that kOps has is refused.
    REFUSED = "KOPS0001", "a kOps field is refused";
    /// A field has no effect, and nothing is different without it.
    HARMLESS = "KOPS0002", "a kOps field has no effect";
    /// A field has no effect, and something is different without it.
    LOST = "KOPS0003", "a kOps field has no effect, and the cluster differs without it";
    /// A value is assumed that the document does not give.
    ASSUMED = "KOPS0004", "a missing value is assumed";
    /// Two settings of kOps become one, and differ.
    MERGED = "KOPS0005", "two kOps fields become one setting";
    /// The cluster is in a cloud for which Slipway has no provider.
    NO_PROVIDER = "KOPS0006", "there is no provider for this cloud";
}

/// The hint of notes on fields that Slipway ignores, with the code [`HARMLESS`].
pub const HARMLESS_HINT: &str = "no action is needed: Slipway ignores this field";

#[cfg(test)]
mod tests {
    #[test]
    fn codes_are_unique_and_ordered() {
        assert!(super::ALL.windows(2).all(|pair| pair[0].id < pair[1].id));
    }
}
