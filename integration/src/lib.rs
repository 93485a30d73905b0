//! Helpers shared by the integration tests: the libraries in one process, and the program in a place of its own.

pub mod bucket;
pub mod executables;
pub mod host_model;
pub mod json_schema;
pub mod knife;
pub mod lab;
pub mod logged;
pub mod place;
pub mod pretend;
pub mod served;
pub mod terminal;
