//! Mutated input for everything that reads what others wrote: no panic, at most 256 MiB, no run over a second.
//!
//! A [target](mod@target) is a function that reads bytes and tells in a few words what became of them. The
//! [worker](mod@worker) mutates the [corpus](mod@corpus), files of `fixtures/` and `specs/`, line by line, token by token
//! and byte by byte, and keeps each input with a new outcome: a stable compiler counts no branches, so messages of a parser stand
//! for them. The [campaign](mod@campaign) runs workers as processes whose memory the kernel
//! limits, and finds the input of one that dies.

pub mod campaign;
pub mod corpus;
pub mod mutate;
pub mod target;
pub mod worker;

mod random;
