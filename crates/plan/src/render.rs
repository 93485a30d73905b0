//! A plan as people and tools read it: text, JSON, markdown, a page of HTML, DOT and SVG.
//!
//! No renderer shows a secret: values are hidden by `screen` before any other code sees them. Nor does one
//! write to a terminal; all of them return text. The same plan gives the same bytes.

mod attribute;
mod block;
mod clean;
mod comparison;
mod decoded;
mod dot;
mod duration;
mod effect;
mod fold;
mod graph;
mod group;
mod html;
mod json;
mod line;
mod markdown;
mod markup;
mod names;
mod ranked;
mod reason;
mod record;
mod roll;
mod screen;
mod section;
mod svg;
mod text;
mod value;
mod verdict;

pub use attribute::change_lines;
pub use comparison::{comparison, comparison_json};
pub use dot::dot;
pub use duration::duration;
pub use group::Counts;
pub use html::html;
pub use json::{json, json_to};
pub use markdown::{COMMENT_LIMIT, code, dangerous, markdown, quoted};
pub use reason::because;
pub use record::{applied, applied_json};
pub use svg::svg;
pub use text::{TextOptions, legend, text};
pub use value::value;
