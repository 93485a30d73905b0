//! Real components for tests, started on loopback ports and ended with the test.
//!
//! Each is a value: the component runs until the value is dropped, and not longer than the process that holds it, also
//! when that process is killed.

pub mod http;
pub mod moto;
pub mod server;

pub use moto::Moto;
pub use server::Server;
