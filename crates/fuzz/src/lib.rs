//! Mutated input for all code that reads foreign data: no panic, at most 256 MiB, no run over a second.
//!
//! A [target](mod@target) is a function that reads bytes and describes its result in a few words. The
//! [worker](mod@worker) mutates the [corpus](mod@corpus), files of `fixtures/` and `specs/`, line by line,
//! token by token and byte by byte, and keeps each input with a new result. A stable compiler counts no
//! branches, so messages of a parser replace the counts. The [campaign](mod@campaign) runs workers as
//! processes whose memory the kernel limits, and finds the input of one that dies.

pub mod campaign;
pub mod corpus;
pub mod mutate;
pub mod target;
pub mod worker;

mod random;
