//! The systemd units of a machine that boots: one makes it a node, one gives others their credentials on a control plane, one
//! follows the settings of its pool.

use std::path::Path;

use slipway_limits::replace::{self, Readers};

use crate::code;
use crate::error::Error;
use crate::facts::below;

/// Variables of the environment for the program, where there are some.
const ENVIRONMENT: &str = "/etc/slipway/boot.env";
/// Where units of the machine's own are.
const FOLDER: &str = "/etc/systemd/system";

/// The unit that boots the machine now, and again after each restart until it is a node. Exit code 1 means that a repetition
/// cannot succeed before a person changes something. A unit that runs already is left running.
pub const BOOT: Unit = Unit {
    name: "slipway-boot.service",
    description: "make this machine a node of its cluster",
    after: "network-online.target containerd.service",
    restart: "on-failure\nRestartSec=2\nRestartPreventExitStatus=1",
    start: "start",
};
/// The unit with which a control plane gives machines their credentials. It is restarted with the installed
/// program.
pub(super) const IDENTITY: Unit = Unit {
    name: "slipway-identity.service",
    description: "give machines of the cluster the credential of their node",
    after: "network-online.target",
    restart: "always\nRestartSec=2",
    start: "restart",
};

/// The unit that brings changed settings of the pool to the machine. It is restarted with the installed program.
pub(super) const SETTINGS: Unit = Unit {
    name: "slipway-settings.service",
    description: "follow the settings of the pool of this machine",
    after: "network-online.target slipway-boot.service",
    restart: "always\nRestartSec=5",
    start: "restart",
};

/// A unit of ours.
pub struct Unit {
    /// Its name, with the suffix `.service`.
    pub name: &'static str,
    description: &'static str,
    after: &'static str,
    /// When and how systemd starts the command again.
    restart: &'static str,
    /// The verb of systemctl with which it begins.
    start: &'static str,
}

impl Unit {
    /// The text of the unit that runs a command.
    fn text(&self, command: &[String]) -> String {
        let Self { description, after, restart, .. } = self;
        let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
        format!(
            "[Unit]\n\
             Description=Slipway: {description}\n\
             Wants=network-online.target\n\
             After={after}\n\
             \n\
             [Service]\n\
             Type=exec\n\
             ExecStart={}\n\
             Environment=HOME=/root\n\
             Environment=PATH={}\n\
             EnvironmentFile=-{ENVIRONMENT}\n\
             Restart={restart}\n\
             \n\
             [Install]\n\
             WantedBy=multi-user.target\n",
            command.join(" "),
            slipway_bootstrap::container_runtime::PATH
        )
    }

    /// Writes the unit, enables it and starts it.
    pub async fn install(&self, root: &Path, command: &[String]) -> Result<(), Error> {
        let path = below(root, &format!("{FOLDER}/{}", self.name));
        replace::write(&path, self.text(command).as_bytes(), Readers::AsUsual)
            .map_err(|error| Error::file("the unit", &path, &error))?;
        for words in [&["daemon-reload"][..], &["enable", self.name], &[self.start, "--no-block", self.name]]
        {
            systemctl(words).await?;
        }
        Ok(())
    }

    /// The link by which it is enabled, and the unit.
    fn paths(&self) -> [String; 2] {
        [format!("{FOLDER}/multi-user.target.wants/{}", self.name), format!("{FOLDER}/{}", self.name)]
    }
}

/// The path of this program, as a unit runs it.
pub fn own_program() -> Result<String, Error> {
    let program = std::env::current_exe()
        .map_err(|error| Error::internal("the path of this program is not known", &error))?;
    Ok(program.display().to_string())
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

/// Stops and removes the units of a machine that left its cluster, so that it does not join again when it starts. The unit that
/// boots it may be the one that runs this.
pub async fn remove(root: &Path) -> Result<(), Error> {
    for unit in [IDENTITY, SETTINGS] {
        if below(root, &format!("{FOLDER}/{}", unit.name)).exists() {
            systemctl(&["stop", unit.name]).await?;
        }
    }
    for path in [BOOT, IDENTITY, SETTINGS].iter().flat_map(Unit::paths) {
        let path = below(root, &path);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file("the unit", &path, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) async fn systemctl(words: &[&str]) -> Result<(), Error> {
    let failed = |cause: String| {
        Error::new(code::BOOT_UNIT, format!("`systemctl {}` failed", words.join(" ")))
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
        let text = BOOT.text(&command);
        let line = text.lines().find(|line| line.starts_with("ExecStart=")).unwrap();
        assert_eq!(line, r#"ExecStart="/usr/bin/slipway" "--document" "/a b/100%%/\"c\"\\d$$e""#);
        assert!(text.contains("RestartPreventExitStatus=1\n"));
    }
}
