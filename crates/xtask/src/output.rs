//! What tasks say.

use std::io::Write;

/// Writes a line to standard error, where the output of cargo goes too.
pub fn say(line: &str) {
    // Nobody is left to be told when standard error is closed.
    let _ = writeln!(std::io::stderr(), "{line}");
}
