//! The systemd unit that boots a machine now, and again after each restart until it is a node.

use std::path::Path;

use crate::error::CommandError;
use crate::files::{self, Readers};
use crate::node::facts::below;

/// The name of the unit.
pub(crate) const NAME: &str = "slipway-boot.service";
/// Where it is.
const PATH: &str = "/etc/systemd/system/slipway-boot.service";
/// The link by which it is enabled.
const WANTED: &str = "/etc/systemd/system/multi-user.target.wants/slipway-boot.service";
/// Variables of the environment for the program, where there are some.
const ENVIRONMENT: &str = "/etc/slipway/boot.env";

/// The text of the unit that runs a command. Exit code 1 means that a repetition cannot succeed
/// before a person changes something.
pub(crate) fn text(command: &[String]) -> String {
    let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    format!(
        "[Unit]\n\
         Description=Slipway: make this machine a node of its cluster\n\
         Wants=network-online.target\n\
         After=network-online.target containerd.service\n\
         \n\
         [Service]\n\
         Type=exec\n\
         ExecStart={}\n\
         Environment=HOME=/root\n\
         Environment=PATH={}\n\
         EnvironmentFile=-{ENVIRONMENT}\n\
         Restart=on-failure\n\
         RestartSec=2\n\
         RestartPreventExitStatus=1\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        command.join(" "),
        super::programs::PATH
    )
}

/// A word of a command as systemd reads it (systemd.service(5), systemd.unit(5)).
fn quoted(word: &str) -> String {
    let mut text = String::from("\"");
    for letter in word.chars() {
        match letter {
            '"' | '\\' => {
                text.push('\\');
                text.push(letter);
            }
            '%' => text.push_str("%%"),
            '$' => text.push_str("$$"),
            other => text.push(other),
        }
    }
    text.push('"');
    text
}

/// Writes the unit, enables it and starts it. A unit that runs already is left running.
pub(crate) async fn install(root: &Path, command: &[String]) -> Result<(), CommandError> {
    let path = below(root, PATH);
    files::write(&path, text(command).as_bytes(), Readers::AsUsual)
        .map_err(|error| CommandError::file("the unit", &path, &error))?;
    for words in [&["daemon-reload"][..], &["enable", NAME], &["start", "--no-block", NAME]] {
        systemctl(words).await?;
    }
    Ok(())
}

/// Removes the unit from a machine that left its cluster, so that it does not join again when it starts.
pub(crate) fn remove(root: &Path) -> Result<(), CommandError> {
    for path in [WANTED, PATH] {
        let path = below(root, path);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(CommandError::file("the unit", &path, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) async fn systemctl(words: &[&str]) -> Result<(), CommandError> {
    let failed = |cause: String| {
        CommandError::new("NODE0019", format!("`systemctl {}` failed", words.join(" ")))
            .cause(cause)
            .hint("`--foreground` boots the machine without a unit")
    };
    let output = tokio::process::Command::new("systemctl")
        .args(words)
        .stdin(std::process::Stdio::null())
        .output()
        .await
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_the_program_as_they_are() {
        let command = ["/usr/bin/slipway", "--document", r#"/a b/100%/"c"\d$e"#].map(str::to_owned);
        let text = text(&command);
        let line = text.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
        assert_eq!(line, r#"ExecStart="/usr/bin/slipway" "--document" "/a b/100%%/\"c\"\\d$$e""#);
        assert!(text.contains("RestartPreventExitStatus=1\n"));
    }
}
