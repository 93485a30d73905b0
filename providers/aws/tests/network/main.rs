//! Networks over HTTP: each kind made, read, changed and deleted against moto.

#[path = "../support.rs"]
mod support;

mod life;
mod trouble;
