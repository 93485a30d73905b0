//! Runs the program at a pseudo-terminal and types answers.

use std::process::Command;

use anyhow::Result;
use slipway_testkit::Said;

/// Runs a command on a new pseudo-terminal, types, and copies all output.
const SCRIPT: &str = "\
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
os.write(terminal, sys.argv[1].encode())
shown = b''
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    if not part:
        break
    shown += part
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(status) & 255)
";

/// Runs a command to its end at a terminal, and types these lines. The output has all that the terminal
/// shows.
///
/// # Errors
/// When the command cannot be started.
pub fn typing(command: &Command, answers: &str) -> Result<Said> {
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT, answers]).arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        python.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => python.env(name, value),
            None => python.env_remove(name),
        };
    }
    Said::of(python.output()?)
}
