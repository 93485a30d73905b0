//! Programs of a machine, fetched by digest and put in their places.

mod archive;
mod download;
mod place;

pub use archive::{Contents, unpack};
pub use download::{digest, fetch};
pub use place::write;
