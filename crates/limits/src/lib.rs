//! How large, how many and how long what Slipway reads may be, each limit with its reason, and the means to keep to them.
//!
//! A spec comes from a pull request, an answer from a provider, a log from a host: none of them may cost Slipway more
//! than it is worth. Every limit of input is here and nowhere else.
//!
//! - [`size`] and [`count`] are the limits.
//! - [`file`](mod@file) reads files of a bounded size, and nothing that is not a file.
//! - [`replace`] writes files completely or not at all.
//! - [`text`] makes texts of others fit to be shown on a terminal.

pub mod count;
pub mod file;
pub mod replace;
pub mod size;
pub mod text;

mod exceeded;

pub use exceeded::{Exceeded, NOT_A_FILE, TOO_LARGE};
pub use size::Size;
