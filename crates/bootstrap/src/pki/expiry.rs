//! When certificates end: the table of `certs check-expiration`.

use jiff::Timestamp;
use serde::Serialize;

use super::Certificate;

/// One line of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Expiry {
    /// The certificate by its phase's name, or the file that holds it: `apiserver`, `admin.conf`.
    pub name: String,
    /// When it ends.
    pub expires: Timestamp,
    /// The seconds that are left; negative when it has ended.
    pub remaining_seconds: i64,
    /// The CA that signed it, by its phase's name; absent for a CA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<String>,
    /// Whether the CA's key is elsewhere, so that it cannot be renewed here.
    pub externally_managed: bool,
}

impl Expiry {
    /// The line of a certificate.
    pub fn of(
        name: impl Into<String>,
        certificate: &Certificate,
        authority: Option<&str>,
        externally_managed: bool,
        now: Timestamp,
    ) -> Self {
        Self {
            name: name.into(),
            expires: certificate.not_after(),
            remaining_seconds: certificate.not_after().as_second() - now.as_second(),
            authority: authority.map(ToOwned::to_owned),
            externally_managed,
        }
    }

    /// The remaining time in the largest unit that fits, as kubeadm prints it: `9y`, `364d`, `3h`,
    /// `<invalid>`.
    #[must_use]
    pub fn remaining(&self) -> String {
        const MINUTE: i64 = 60;
        const HOUR: i64 = 60 * MINUTE;
        const DAY: i64 = 24 * HOUR;
        match self.remaining_seconds {
            ..-1 => "<invalid>".to_owned(),
            -1..0 => "0s".to_owned(),
            seconds @ ..MINUTE => format!("{seconds}s"),
            seconds if seconds < HOUR => format!("{}m", seconds / MINUTE),
            seconds if seconds < DAY => format!("{}h", seconds / HOUR),
            seconds if seconds < 365 * DAY => format!("{}d", seconds / DAY),
            seconds => format!("{}y", seconds / DAY / 365),
        }
    }
}
