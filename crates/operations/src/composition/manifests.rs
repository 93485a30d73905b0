//! Manifests at URLs: fetched once, when what comes has the digest that the spec pins, and kept.

use slipway_resource::Digest;
use slipway_trust::{Policy, TrustedUrl};

use crate::environment::Download;
use crate::error::{DownloadProblem, Error};

/// How a manifest is fetched.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    /// Decides which servers may be contacted, and whether anything is stored.
    pub policy: &'a Policy,
    /// Whether nothing is fetched that is not here already.
    pub offline: bool,
    /// Fetches it.
    pub downloads: &'a dyn Download,
}

/// The text at a URL with a known digest. A text that was fetched before is not fetched again.
pub(super) async fn text(
    addon: &str,
    granted: &TrustedUrl,
    sha256: &str,
    Way { policy, offline, downloads }: Way<'_>,
) -> Result<String, Error> {
    let pinned = sha256.to_lowercase();
    let is_digest = pinned.len() == 64 && pinned.bytes().all(|byte| byte.is_ascii_hexdigit());
    let may_be_kept = is_digest && !policy.is_untrusted();
    if may_be_kept && let Some(text) = downloads.kept(&pinned).filter(|text| digest(text) == pinned) {
        return Ok(text);
    }
    let failed = |problem: DownloadProblem| Error::Download {
        addon: addon.to_owned(),
        url: granted.as_str().to_owned(),
        problem,
    };
    if offline {
        return Err(failed(DownloadProblem::Offline));
    }
    let text = downloads.text(granted, policy).await;
    let text = text.map_err(|reason| failed(DownloadProblem::Failed(reason)))?;
    let found = digest(&text);
    if found != pinned {
        return Err(failed(DownloadProblem::OtherDigest { found, pinned }));
    }
    // A read-only command writes nothing.
    if may_be_kept && !policy.is_read_only() {
        downloads.keep(&pinned, &text);
    }
    Ok(text)
}

fn digest(text: &str) -> String {
    Digest::of_bytes(text.as_bytes()).hex().to_owned()
}
