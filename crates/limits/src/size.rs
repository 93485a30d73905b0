//! The largest sizes, in bytes.

use std::fmt;

/// The largest size of one kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The subject of this limit, as in `a spec file`.
    pub what: &'static str,
    /// The largest size, in bytes.
    pub bytes: u64,
}

impl Size {
    const fn mebibytes(what: &'static str, mebibytes: u64) -> Self {
        Self { what, bytes: mebibytes << 20 }
    }

    const fn kibibytes(what: &'static str, kibibytes: u64) -> Self {
        Self { what, bytes: kibibytes << 10 }
    }

    /// The size as a number of bytes in memory.
    #[must_use]
    pub fn in_memory(self) -> usize {
        usize::try_from(self.bytes).unwrap_or(usize::MAX)
    }
}

/// Prints as `4 MiB`.
impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&shown(self.bytes))
    }
}

/// A number of bytes for people, as `4 MiB` or `20.5 MiB`.
#[must_use]
pub fn shown(bytes: u64) -> String {
    for (shift, unit) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >= 1 << shift {
            let unit_bytes = 1_u64 << shift;
            let (whole, rest) = (bytes / unit_bytes, (bytes % unit_bytes) * 10 / unit_bytes);
            return if rest == 0 { format!("{whole} {unit}") } else { format!("{whole}.{rest} {unit}") };
        }
    }
    if bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") }
}

/// A file of specs: a cluster of 500 pools, fully written out, takes less than 1 MiB.
pub const SPEC: Size = Size::mebibytes("a spec file", 4);

/// All files of specs of one command: 100 clusters in one folder take less.
pub const SPECS: Size = Size::mebibytes("all spec files of a command together", 64);

/// The memory of a document's values, including all that its aliases repeat: four times the largest file.
pub const EXPANDED: Size = Size::mebibytes("a document, with everything that its aliases repeat,", 16);

/// A key of a mapping. The longest that Kubernetes takes, the key of an annotation, has 317 bytes.
pub const KEY: Size = Size::kibibytes("a key", 1);

/// An expression of a gate or a policy: 40 lines of 100 characters.
pub const EXPRESSION: Size = Size::kibibytes("an expression", 4);

/// A secret that a spec names. etcd takes no object of more than 1.5 MiB, so no Secret can hold more.
pub const SECRET: Size = Size::kibibytes("a secret", 1536);

/// A file of manifests. Those of large operators, most of them schemas, have 2 to 5 MiB.
pub const MANIFEST: Size = Size::mebibytes("a file of manifests", 16);

/// All files of one revision of a source: the specs of a command, and a few large manifests.
pub const REVISION: Size = Size::mebibytes("all files of a revision of a source", 256);

/// A pack that is fetched from a Git repository. A revision of the largest public repositories of manifests has 300 MiB.
pub const PACK: Size = Size::mebibytes("a pack of a Git repository", 1024);

/// The list of the files of a revision: 100,000 files with paths of 600 bytes.
pub const FILE_LIST: Size = Size::mebibytes("the list of the files of a revision", 64);

/// A kubeconfig: a thousand clusters with their certificates.
pub const KUBECONFIG: Size = Size::mebibytes("a kubeconfig", 8);

/// Slipway's own configuration, a provider's `provider.toml`, a lock file, a cloud's profile: written by hand or a page long.
pub const CONFIGURATION: Size = Size::mebibytes("a configuration file", 1);

/// A key, a certificate, a token, a passphrase, an identity file.
pub const KEY_FILE: Size = Size::mebibytes("a file of keys", 1);

/// A saved plan: one of 10,000 nodes, each with resources of its own, takes about 100 MiB.
pub const PLAN: Size = Size::mebibytes("a saved plan", 256);

/// An object of the state store: the snapshot of a cluster of 10,000 nodes takes about 100 MiB.
pub const STATE_OBJECT: Size = Size::mebibytes("an object of the state", 256);

/// An archive of a state, which is read as a whole.
pub const ARCHIVE: Size = Size::mebibytes("an archive of a state", 1024);

/// The faults of a simulated cloud: tests have errors of providers in it that are as long as a faulty provider makes them.
pub const FAULTS: Size = Size::mebibytes("the faults of a simulated cloud", 64);

/// The log of a simulated cloud: what it has is at most [`STATE_OBJECT`], and the log is written again when it is four times as large.
pub const SIMULATED_CLOUD: Size = Size::mebibytes("the log of a simulated cloud", 2048);

/// A log of a node's component that is shown.
pub const LOG: Size = Size::mebibytes("a log", 64);

/// An answer of a cluster's API: a page of 500 objects of 1.5 MiB would be larger, a list of any real cluster is not.
pub const API_ANSWER: Size = Size::mebibytes("an answer of a cluster's API", 256);

/// All pages of one answer of a provider: 100,000 resources of 5 KiB.
pub const PROVIDER_ANSWER: Size = Size::mebibytes("an answer of a provider", 512);

/// The output of a host for a script that examines it.
pub const HOST_OUTPUT: Size = Size::mebibytes("what a host prints", 64);

/// The answer of a service that hands out credentials or a token: a page of JSON or XML.
pub const CREDENTIALS_ANSWER: Size = Size::mebibytes("an answer with credentials", 1);

/// One answer of a forge: a page of 100 comments, each of 64 KiB.
pub const FORGE_ANSWER: Size = Size::mebibytes("an answer of a forge", 16);

/// The body of a webhook. A forge describes a push with thousands of commits in less.
pub const WEBHOOK: Size = Size::mebibytes("the body of a webhook", 4);

/// A message that says what went wrong. What a reader does not see on one screen does not help.
pub const MESSAGE: Size = Size::kibibytes("a message", 4);

/// All that one failure says, its causes and hints included.
pub const REPORT: Size = Size::kibibytes("a report of a failure", 256);

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_are_shown_for_people() {
        assert_eq!(super::SPEC.to_string(), "4 MiB");
        assert_eq!(super::SECRET.to_string(), "1.5 MiB");
        assert_eq!(super::KEY.to_string(), "1 KiB");
        assert_eq!(super::shown(0), "0 bytes");
        assert_eq!(super::shown(20_992 << 10), "20.5 MiB");
    }
}
