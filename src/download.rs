//! Fetches the manifests of add-ons over https, and keeps them in the user's cache.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use slipway_limits::{file, size};
use slipway_operations::Download;
use slipway_trust::{Policy, TrustedUrl};

use crate::files::{self, Readers};
use slipway_cluster_api::https::{self, Document, Error, Way};

/// How often a server may send one elsewhere.
const MOVES: usize = 5;

/// The user's own downloads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Downloads;

#[async_trait]
impl Download for Downloads {
    async fn text(&self, url: &TrustedUrl, policy: &Policy) -> Result<String, String> {
        fetch(url, policy).await.map_err(|error| error.to_string())
    }

    fn kept(&self, sha256: &str) -> Option<String> {
        file::read_text(&place(sha256)?, size::MANIFEST).ok()
    }

    fn keep(&self, sha256: &str, text: &str) {
        let Some(path) = place(sha256) else { return };
        // A manifest that cannot be cached is downloaded again next time.
        if let Err(error) = keep(&path, text) {
            tracing::debug!(%error, path = %path.display(), "a manifest is not kept");
        }
    }
}

/// The file of a manifest in the user's cache.
fn place(sha256: &str) -> Option<PathBuf> {
    Some(folder()?.join(format!("{sha256}.yaml")))
}

async fn fetch(granted: &TrustedUrl, policy: &Policy) -> Result<String, Error> {
    let mut granted = granted.clone();
    for _ in 0..MOVES {
        let way = Way { reach: granted.reach().clone(), ..Way::of_caller() };
        let next = match https::get(granted.as_str(), way).await? {
            Document::Text(text) => return Ok(text),
            Document::Elsewhere(next) => next,
        };
        // The target of a redirect is trusted no more than a URL in the spec.
        granted = policy.url(&next).map_err(|refusal| Error::Unusable(refusal.to_string()))?;
    }
    let url = granted.as_str();
    Err(Error::Unusable(format!("{url} is not the end after {MOVES} redirects")))
}

/// Where manifests are kept.
fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("slipway/manifests"))
}

fn keep(path: &Path, text: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))?;
    files::write(path, text.as_bytes(), Readers::AsUsual)
}
