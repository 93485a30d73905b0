//! The result of a program: its exit code, its output, its errors.

use std::process::{Command, Output};

use anyhow::{Context as _, Result, bail};

/// The result of an ended program.
#[derive(Clone, Debug)]
pub struct Said {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

impl Said {
    /// The result of a program with UTF-8 output.
    ///
    /// # Errors
    /// When its output is not UTF-8.
    pub fn of(output: Output) -> Result<Self> {
        Ok(Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout)?,
            err: String::from_utf8(output.stderr)?,
        })
    }

    /// Runs a program to its end.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn by(command: &mut Command) -> Result<Self> {
        let output =
            command.output().with_context(|| format!("{:?} cannot be started", command.get_program()))?;
        Ok(output.into())
    }

    /// The same, if it ended with this code.
    ///
    /// # Errors
    /// When it ended otherwise, with all that it said. `what` was called.
    pub fn wanted(self, code: i32, what: &str) -> Result<Self> {
        if self.code != Some(code) {
            bail!(
                "{what} ended with {:?}, wanted {code}\n--- out\n{}\n--- err\n{}",
                self.code,
                self.out,
                self.err
            );
        }
        Ok(self)
    }
}

/// Invalid UTF-8 is replaced.
impl From<Output> for Said {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_how_it_ended() {
        let mut command = Command::new("sh");
        let said = Said::by(command.args(["-c", "echo out; echo err >&2; exit 3"])).unwrap();
        assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(3), "out\n", "err\n"));
        let refused = said.clone().wanted(0, "the script").unwrap_err().to_string();
        for part in ["the script ended with Some(3), wanted 0", "out", "err"] {
            assert!(refused.contains(part), "{refused}");
        }
        said.wanted(3, "the script").unwrap();
        assert!(Said::by(&mut Command::new("/nobody/has/this")).is_err());
    }
}
