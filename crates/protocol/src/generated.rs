//! Generated from `proto/slipway/provider/v1alpha1/provider.proto` by `cargo xtask codegen`.

#![allow(
    missing_docs,
    clippy::doc_markdown,
    clippy::large_enum_variant,
    clippy::default_trait_access,
    clippy::derive_partial_eq_without_eq,
    unused_qualifications,
    rust_2018_idioms,
    reason = "generated: the words are in the .proto file, the form is the generator's"
)]

include!("generated/slipway.provider.v1alpha1.rs");
