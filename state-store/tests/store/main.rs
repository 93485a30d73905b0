//! The store as a whole, over real backends, with faults, and with other processes.
#![cfg(test)]

mod conformance;
mod credentials;
mod emulators;
mod fencing;
mod history;
mod journal;
mod lease;
mod linearizable;
mod processes;
mod records;
mod remote;
mod requests;
mod support;
