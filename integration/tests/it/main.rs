//! Tests of the built program.

mod crash;
