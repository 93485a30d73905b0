//! Mutated input for all code that reads foreign data: no panic, at most 256 MiB, no run over a second.
//!
//! A [target](mod@target) is a function that reads bytes and tells how far it came with them, and its result in a few words. What is
//! taken is written and read again where the reader has a writer. The [worker](mod@worker) [mutates](mod@mutate) the
//! [corpus](mod@corpus), files of `fixtures/` and `specs/`: values of JSON, blocks of YAML and fields of messages, so that most
//! inputs keep their syntax; and lines, words and bytes. [Large](mod@large) inputs are run as they are. It keeps each input with a new result. A stable compiler counts no
//! branches, so messages of a parser replace the counts. The [campaign](mod@campaign) runs workers as processes whose memory the
//! kernel limits, and finds the input of one that dies. The [program](mod@program) has the arguments of both.

pub mod campaign;
pub mod corpus;
pub mod large;
pub mod mutate;
pub mod program;
pub mod target;
pub mod worker;

mod last;
mod random;
