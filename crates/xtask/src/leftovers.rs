//! Processes that tests leave behind.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Marks the processes that a run of tests starts, and what these start.
pub const RUN: &str = "SLIPWAY_TEST_RUN";

/// How long processes have to end after the tests.
const PATIENCE: Duration = Duration::from_secs(60);

/// Checks that no process is left that was started with this mark.
///
/// # Errors
/// With the processes that have not ended after [`PATIENCE`].
pub fn check(mark: &str) -> Result<()> {
    let begun = Instant::now();
    let mut left = with_mark(mark)?;
    while !left.is_empty() && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(500));
        left = with_mark(mark)?;
    }
    ensure!(left.is_empty(), "tests have left these processes running:\n{}", left.join("\n"));
    Ok(())
}

/// The processes whose environment has the mark, with the beginnings of their command lines. Processes that have ended while
/// they are looked at, and those of other users, are not among them.
#[cfg(target_os = "linux")]
fn with_mark(mark: &str) -> Result<Vec<String>> {
    let wanted = format!("{RUN}={mark}");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let folder = entry?.path();
        let is_marked = std::fs::read(folder.join("environ")).is_ok_and(|environment| {
            environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
        });
        if is_marked {
            found.push(shown(&folder));
        }
    }
    Ok(found)
}

#[cfg(not(target_os = "linux"))]
fn with_mark(_: &str) -> Result<Vec<String>> {
    Ok(Vec::new())
}

fn shown(folder: &Path) -> String {
    let process = folder.file_name().unwrap_or_default().to_string_lossy();
    let line = std::fs::read(folder.join("cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ");
    format!("  {process} {}", line.chars().take(200).collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_with_the_mark_is_found_until_it_ends() {
        let mark = format!("test-{}", std::process::id());
        let mut child = Command::new("sleep").arg("60").env(RUN, &mark).spawn().unwrap();
        // Its environment can be read a moment after it has started.
        let begun = Instant::now();
        let mut found = with_mark(&mark).unwrap();
        while found.is_empty() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
            found = with_mark(&mark).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.len() == 1 && found[0].contains("sleep 60"), "{found:?}");
        check(&mark).unwrap();
    }
}
