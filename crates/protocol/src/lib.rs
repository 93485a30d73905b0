//! The provider contract over gRPC: generated code, handshake, discovery and client.
//!
//! [`Client`] is a [`slipway_resource::Provider`] that lives in another process. What runs on the other side is
//! built with `slipway-provider-sdk`, or in any language from the `.proto` file.
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]
#![allow(
    clippy::result_large_err,
    reason = "the error is that of the provider trait; one is made for a call over a socket at most"
)]

mod answer;
mod client;
pub mod convert;
mod error;
pub mod generated;
mod group;
pub mod handshake;
mod life;
#[allow(clippy::disallowed_methods, reason = "the lock file that the policy names")]
mod lock;
#[allow(clippy::disallowed_methods, reason = "beside a provider's executable, in a folder of the caller")]
mod manifest;
#[allow(clippy::disallowed_methods, reason = "providers that the policy has granted")]
mod process;
mod running;
#[allow(clippy::disallowed_methods, reason = "folders that the caller names")]
mod search;
mod tunnel;
pub mod wire;

pub use answer::Answer;
pub use client::{Client, Deadlines, Recorded, recorded};
pub use error::Error;
pub use life::Life;
pub use lock::{LockFile, Locked};
pub use manifest::{Installed, Manifest};
pub use process::{Launch, Process};
pub use running::{Description, Running, describe, lock};
pub use search::{PATH_VARIABLE, SearchPath};
pub use tunnel::{Tunnel, TunnelError};

/// The largest message that either side accepts, in bytes.
pub const MESSAGE_LIMIT: usize = 64 << 20;

/// How large a page of a stream or a batch of requests gets before the next one begins, in bytes of its content.
///
/// Large enough that the cost of a message does not matter, small enough that its memory is used again for the
/// next one and stays in the processor's caches: a megabyte costs a tenth more.
pub const PAGE_BYTES: usize = 128 << 10;

/// How large a frame of HTTP/2 may be, in bytes: that of most pages, which then go out in one piece.
pub const FRAME_BYTES: u32 = 128 << 10;
