//! The announcement of a provider's process: one line of JSON on its standard output.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use slipway_resource::Digest;

use crate::Error;

/// First word of every announcement.
pub const MAGIC: &str = "slipway-provider";

/// The version of the contract that this crate implements.
pub const PROTOCOL: &str = "v1alpha1";

/// The only transport.
pub const TRANSPORT: &str = "unix";

/// Environment variable with a text that the announcement must repeat.
pub const NONCE: &str = "SLIPWAY_PROVIDER_NONCE";

/// Environment variable with the private directory for the provider's socket.
pub const DIRECTORY: &str = "SLIPWAY_PROVIDER_DIRECTORY";

/// Maximum length of an announcement in bytes, including its line feed.
pub const ANNOUNCEMENT_BYTES: usize = 8 << 10;

/// The announcement of a provider that listens. Unknown fields are ignored: a later provider may send more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// [`MAGIC`].
    pub magic: String,
    /// The supported versions of the contract, as `v1alpha1`.
    pub protocol: Vec<String>,
    /// [`TRANSPORT`].
    pub transport: String,
    /// The path of its socket.
    pub address: PathBuf,
    /// Its process.
    pub pid: u32,
    /// Its name, as in `slipway-provider-<name>`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The digest of its schema.
    pub schema_digest: Digest,
    /// The text of [`NONCE`].
    pub nonce: String,
}

impl Announcement {
    /// Parses the line and compares it with the expected name, nonce and directory.
    ///
    /// # Errors
    /// When it is not an announcement, or not one of the expected provider.
    pub fn parse(line: &str, provider: &str, nonce: &str, directory: &Path) -> Result<Self, Error> {
        let refused = |reason: String| Error::Handshake { provider: provider.to_owned(), reason };
        let announcement: Self = serde_json::from_str(line)
            .map_err(|error| refused(format!("its first line is not an announcement: {error}")))?;
        if announcement.magic != MAGIC {
            return Err(refused(format!("it announces itself as `{}`", announcement.magic)));
        }
        if announcement.nonce != nonce {
            return Err(refused("it does not repeat the nonce".to_owned()));
        }
        if !announcement.protocol.iter().any(|version| version == PROTOCOL) {
            return Err(Error::Protocol {
                provider: provider.to_owned(),
                spoken: announcement.protocol.join(", "),
            });
        }
        if announcement.transport != TRANSPORT {
            return Err(refused(format!("it wants transport `{}`", announcement.transport)));
        }
        if announcement.address.parent() != Some(directory) {
            return Err(refused(format!(
                "its socket {} is not in {}",
                announcement.address.display(),
                directory.display()
            )));
        }
        if announcement.name != provider {
            return Err(refused(format!("it calls itself `{}`", announcement.name)));
        }
        Ok(announcement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announcement() -> Announcement {
        Announcement {
            magic: MAGIC.into(),
            protocol: vec![PROTOCOL.into()],
            transport: TRANSPORT.into(),
            address: "/run/p/provider.sock".into(),
            pid: 1,
            name: "sim".into(),
            version: "1.0.0".into(),
            schema_digest: Digest::of_bytes(b""),
            nonce: "n".into(),
        }
    }

    fn parse(announcement: &Announcement) -> Result<Announcement, Error> {
        let line = serde_json::to_string(announcement).unwrap();
        Announcement::parse(&line, "sim", "n", Path::new("/run/p"))
    }

    #[test]
    fn a_good_one_is_taken() {
        assert_eq!(parse(&announcement()).unwrap(), announcement());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let spoilers: [fn(&mut Announcement); 6] = [
            |it| it.magic = "x".into(),
            |it| it.nonce = "x".into(),
            |it| it.transport = "tcp".into(),
            |it| it.address = "/tmp/provider.sock".into(),
            |it| it.name = "aws".into(),
            |it| it.protocol = vec!["v9".into()],
        ];
        for spoil in spoilers {
            let mut spoiled = announcement();
            spoil(&mut spoiled);
            assert!(parse(&spoiled).is_err(), "{spoiled:?}");
        }
        assert!(Announcement::parse("hello", "sim", "n", Path::new("/run/p")).is_err());
    }
}
