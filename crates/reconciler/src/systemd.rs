//! The systemd unit of a controller.

use std::path::Path;

/// The unit that runs a command in a folder, at which relative paths in specs start. `path` is where `git` and `ssh` are looked for,
/// `data` the folder that is written to.
///
/// A stop waits until the steps that run are done; a controller that was killed goes on where it was.
#[must_use]
pub fn unit(command: &[String], folder: &Path, path: &str, data: &Path) -> String {
    let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    format!(
        "[Unit]\n\
         Description=Slipway: keep clusters in line with their specs\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         \n\
         [Service]\n\
         Type=exec\n\
         ExecStart={}\n\
         ExecReload=/bin/kill -HUP $MAINPID\n\
         Environment={}\n\
         EnvironmentFile=-/etc/slipway/controller.env\n\
         WorkingDirectory={}\n\
         Restart=always\n\
         RestartSec=5\n\
         KillMode=mixed\n\
         TimeoutStopSec=15min\n\
         NoNewPrivileges=yes\n\
         PrivateTmp=yes\n\
         ProtectSystem=full\n\
         ReadWritePaths=-{}\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        command.join(" "),
        quoted(&format!("PATH={path}")),
        folder.display().to_string().replace('%', "%%"),
        quoted(&data.display().to_string()),
    )
}

/// A word of a unit file: `%` and `$` stand for themselves.
fn quoted(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%").replace('$', "$$");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/.-_=:,@+%".contains(&byte);
    if !escaped.is_empty() && escaped.bytes().all(is_plain) { escaped } else { format!("\"{escaped}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_systemd_reads_them_otherwise() {
        assert_eq!(quoted("/usr/bin/slipway"), "/usr/bin/slipway");
        assert_eq!(quoted("s3://b/50%"), "s3://b/50%%");
        assert_eq!(quoted("a b$c"), "\"a b$$c\"");
        let text = unit(
            &["slipway".into(), "my file".into()],
            Path::new("/etc/my slipway"),
            "/usr/bin",
            Path::new("/var/lib/s"),
        );
        assert!(text.contains("\nWorkingDirectory=/etc/my slipway\n"));
        assert!(
            text.contains("ExecStart=slipway \"my file\"\n") && text.contains("ReadWritePaths=-/var/lib/s\n")
        );
    }
}
