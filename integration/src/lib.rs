//! Helpers shared by the integration tests: a place of its own for each test, and the program run in it.

pub mod place;
