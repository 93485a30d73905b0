//! The fingerprints of a host's keys, as OpenSSH shows them.

use std::process::Stdio;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use tokio::process::Command;

/// The fingerprint of a public key in the form of a `.pub` file: `ssh-ed25519 SHA256:…`.
pub(super) fn of(key: &str) -> Option<String> {
    let mut words = key.split_whitespace();
    let (kind, text) = (words.next()?, words.next()?);
    let bytes = STANDARD.decode(text).ok()?;
    Some(format!("{kind} SHA256:{}", STANDARD_NO_PAD.encode(digest(&SHA256, &bytes))))
}

/// A key that a host shows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shown {
    /// As people compare it.
    pub fingerprint: String,
    /// As it is pinned.
    pub key: String,
}

/// The keys that a host shows now; none when it cannot be asked.
pub(super) async fn shown(address: &str, port: u16) -> Vec<Shown> {
    let mut command = Command::new("ssh-keyscan");
    command.args(["-T", "5", "-p", &port.to_string(), address]);
    command.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let Ok(Ok(output)) = tokio::time::timeout(Duration::from_secs(10), command.output()).await else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout);
    // `name type key`
    let keys = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
    let one = |key: &str| Some(Shown { fingerprint: of(key)?, key: key.trim().to_owned() });
    let mut shown: Vec<Shown> = keys.filter_map(|(_, key)| one(key)).collect();
    shown.sort();
    shown
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_fingerprint_is_that_of_openssh() {
        let key =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl github.com";
        let fingerprint = "ssh-ed25519 SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU";
        assert_eq!(super::of(key).as_deref(), Some(fingerprint));
        assert_eq!(super::of("ssh-ed25519"), None);
    }
}
