//! The one place that reads and writes YAML.
//!
//! The rules are those of YAML 1.2's core schema: `true` and `false` are the only booleans, so a bare `yes` or `on` is
//! text. Anchors, aliases and merge keys (`<<`) work; a key given twice is an error; tags other than the core ones are
//! an error. Depth, size and what aliases expand to have limits, so that a hostile file costs little.

mod emit;
mod node;
mod parse;
mod resolve;

pub use emit::to_string;
pub use node::{Entry, Key, Node, Style, Value};
pub use parse::{ParsedDocument, parse};
