//! Looks for source files that have grown beyond one subject.

use anyhow::bail;

use crate::output::say;
use crate::workspace;

/// From here on a file is named.
const SELDOM: usize = 500;

/// From here on it is refused.
const NEVER: usize = 800;

/// Names source files over 500 lines and refuses those over 800; generated ones do not count.
#[derive(clap::Args)]
pub struct Lengths;

impl Lengths {
    /// Runs the task.
    ///
    /// # Errors
    /// When a file cannot be read or is too long.
    pub fn run(&self) -> anyhow::Result<()> {
        let mut refused = Vec::new();
        for path in workspace::files("rs")? {
            let text = workspace::read(&path)?;
            let lines = text.lines().count();
            if text.starts_with("// Generated") || lines <= SELDOM {
                continue;
            }
            let found = format!("{} has {lines} lines", path.display());
            if lines > NEVER {
                refused.push(found);
            } else {
                say(&format!("{found}: more than {SELDOM} should be seldom"));
            }
        }
        if !refused.is_empty() {
            bail!("{}; a file has one subject and at most {NEVER} lines", refused.join(", "));
        }
        Ok(())
    }
}
