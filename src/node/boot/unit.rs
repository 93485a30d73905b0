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

/// The unit with which a control plane gives machines their credentials.
const IDENTITY: Unit = Unit {
    name: "slipway-identity.service",
    path: "/etc/systemd/system/slipway-identity.service",
    wanted: "/etc/systemd/system/multi-user.target.wants/slipway-identity.service",
};

/// A unit of ours.
struct Unit {
    name: &'static str,
    path: &'static str,
    /// The link by which it is enabled.
    wanted: &'static str,
}

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

/// Writes the unit that gives machines their credentials, enables it and starts it anew.
pub(super) async fn install_identity(root: &Path) -> Result<(), CommandError> {
    let program = std::env::current_exe()
        .map_err(|error| CommandError::internal("the path of this program is not known", &error))?;
    let path = below(root, IDENTITY.path);
    let text = format!(
        "[Unit]\n\
         Description=Slipway: give machines of the cluster the credential of their node\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         \n\
         [Service]\n\
         Type=exec\n\
         ExecStart={} node identity\n\
         Environment=HOME=/root\n\
         Environment=PATH={}\n\
         EnvironmentFile=-{ENVIRONMENT}\n\
         Restart=always\n\
         RestartSec=2\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        quoted(&program.display().to_string()),
        super::programs::PATH
    );
    files::write(&path, text.as_bytes(), Readers::AsUsual)
        .map_err(|error| CommandError::file("the unit", &path, &error))?;
    for words in
        [&["daemon-reload"][..], &["enable", IDENTITY.name], &["restart", "--no-block", IDENTITY.name]]
    {
        systemctl(words).await?;
    }
    Ok(())
}

/// Stops the unit that gives machines their credentials, on a machine that leaves its cluster.
pub(crate) async fn stop_identity(root: &Path) -> Result<(), CommandError> {
    match below(root, IDENTITY.path).exists() {
        true => systemctl(&["stop", IDENTITY.name]).await,
        false => Ok(()),
    }
}

/// Removes the units from a machine that left its cluster, so that it does not join again when it starts.
pub(crate) fn remove(root: &Path) -> Result<(), CommandError> {
    for path in [WANTED, PATH, IDENTITY.wanted, IDENTITY.path] {
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
