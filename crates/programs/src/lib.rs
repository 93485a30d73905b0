//! Programs of a machine, fetched by digest and put in their places.

mod download;
mod place;

pub use download::{digest, fetch};
pub use place::write;
