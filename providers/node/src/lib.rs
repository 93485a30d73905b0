//! The provider for what is inside one node: files, certificates, static pods, services, members of etcd.
//!
//! It works below one root folder: `/` on a running machine, another one for an image.
