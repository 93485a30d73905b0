//! Runs the program at a pseudo-terminal, types answers, and reads what the terminal shows.

use std::process::Command;

use anyhow::Result;
use slipway_testkit::Said;

/// Runs a command on a new pseudo-terminal of a width, types when a text is shown, and copies all output.
const SCRIPT: &str = "\
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    columns = int(sys.argv[2])
    if columns:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 50, columns, 0, 0))
    os.execvp(sys.argv[4], sys.argv[4:])
answers, marker = sys.argv[1].encode(), sys.argv[3].encode()
shown = b''
while True:
    if answers and marker in shown:
        os.write(terminal, answers)
        answers = b''
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
    typing_at(command, answers, "", 0)
}

/// The same at a terminal with a number of columns, as soon as it has shown a text. 0 columns are none.
///
/// # Errors
/// When the command cannot be started.
pub fn typing_at(command: &Command, answers: &str, after: &str, columns: usize) -> Result<Said> {
    let mut python = Command::new("python3");
    python.args(["-c", SCRIPT, answers, columns.to_string().as_str(), after]);
    python.arg(command.get_program()).args(command.get_args());
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

/// The rows that a terminal of a width has shown with this output, one after the other, without empty ones: a text that is too
/// wide goes on in the next row. Movements of the cursor begin a row.
#[must_use]
pub fn rows(shown: &str, columns: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let mut row = String::new();
    let mut end = |row: &mut String| {
        let text = std::mem::take(row);
        if !text.trim().is_empty() {
            rows.push(text.trim_end().to_owned());
        }
    };
    let mut letters = shown.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => {
                let last = letters.by_ref().skip(1).find(char::is_ascii_alphabetic);
                if last != Some('m') {
                    end(&mut row);
                }
            }
            '\r' | '\n' => end(&mut row),
            letter => {
                row.push(letter);
                if row.chars().count() == columns {
                    end(&mut row);
                }
            }
        }
    }
    end(&mut row);
    rows
}
