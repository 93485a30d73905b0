//! The provider for a node at work below a root of its own.

#![allow(missing_docs, reason = "tests")]

mod it {
    mod bench;
    mod certificates;
    mod crash;
    mod files;
    mod services;
}
