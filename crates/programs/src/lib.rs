//! Programs of a machine, fetched by digest and put in their places.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod archive;
#[allow(clippy::disallowed_methods, reason = "files and mirrors that the caller names")]
mod download;
#[allow(clippy::disallowed_methods, reason = "files that the caller names")]
mod place;

pub use archive::{Contents, unpack};
pub use download::{LARGEST, NoOthers, Others, digest, fetch, fetch_with};
pub use place::write;
