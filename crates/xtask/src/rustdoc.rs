//! Documentation that is made along with the examples in comments.
//!
//! `cargo doc` checks every dependency for itself, also where the tests are built: as long as a second build. The call of
//! rustdoc that runs the examples of a library has everything that its documentation needs, so this program takes rustdoc's
//! place in it and makes the documentation first.

use std::env;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::Context as _;

use crate::output::say;
use crate::workspace::target;

/// The variable that makes this program take rustdoc's place; its value is the folder of the documentation.
const FOLDER: &str = "SLIPWAY_DOCUMENTATION";

/// Makes a call of `cargo test --doc` write the documentation too; its warnings fail.
///
/// # Errors
/// When the path of this program is not known.
pub fn documents_along(call: &mut Command) -> anyhow::Result<()> {
    let own = env::current_exe().context("the path of this program is not known")?;
    call.env("RUSTDOC", own).env(FOLDER, target().join("doc"));
    Ok(())
}

/// A call of rustdoc that runs the examples of a library.
#[derive(Debug)]
pub struct Rustdoc {
    folder: OsString,
    arguments: Vec<OsString>,
}

impl Rustdoc {
    /// The call that this program was started with, if it is to be rustdoc.
    pub fn asked_for() -> Option<Self> {
        Some(Self { folder: env::var_os(FOLDER)?, arguments: env::args_os().skip(1).collect() })
    }

    /// Makes the documentation and runs the examples, these also where the documentation has findings.
    pub fn run(&self) -> ExitCode {
        let documented = ended_well(Command::new("rustdoc").args(self.documenting()));
        let examples = ended_well(Command::new("rustdoc").args(&self.arguments));
        if documented && examples { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// The arguments that make the documentation.
    fn documenting(&self) -> Vec<OsString> {
        let mut arguments = Vec::new();
        let mut rest = self.arguments.iter();
        while let Some(argument) = rest.next() {
            match argument.to_str() {
                Some("--test") => {}
                // Each is followed by a value.
                Some("--test-run-directory" | "--test-args" | "--test-runtool") => {
                    rest.next();
                }
                _ => arguments.push(argument.clone()),
            }
        }
        arguments.extend(["-D", "warnings", "-o"].map(OsString::from));
        arguments.push(self.folder.clone());
        arguments
    }
}

fn ended_well(call: &mut Command) -> bool {
    call.status()
        .inspect_err(|error| say(&format!("cannot start {call:?}: {error}")))
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_what_the_examples_have() {
        let words = |words: &str| words.split(' ').map(OsString::from).collect::<Vec<_>>();
        let call =
            "--crate-name a --test a.rs --test-run-directory /a --extern b=/b.rlib --error-format human";
        let rustdoc = Rustdoc { folder: "/doc".into(), arguments: words(call) };
        let documenting = "--crate-name a a.rs --extern b=/b.rlib --error-format human -D warnings -o /doc";
        assert_eq!(rustdoc.documenting(), words(documenting));
    }
}
