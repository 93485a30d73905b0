//! Output of tasks.

use std::io::Write;

/// Writes a line to standard error, like the output of cargo.
pub fn say(line: &str) {
    // A write to a closed standard error has no reader, so its failure is ignored.
    let _ = writeln!(std::io::stderr(), "{line}");
}
