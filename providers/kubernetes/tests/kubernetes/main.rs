//! The provider against a real API server.

mod budget;
mod conflict;
mod lab;
mod life;
