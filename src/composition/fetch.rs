//! Manifests at URLs: fetched over https once, when what comes has the digest that the spec pins, and kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use slipway_limits::{file, size};
use slipway_resource::Digest;
use slipway_trust::{Policy, TrustedUrl};

use crate::error::CommandError;
use crate::files::{self, Readers};
use crate::node::api::{Api, ApiError, Credentials, Trust};
use crate::trust::MayBeAt;

/// How often a server may send one elsewhere.
const MOVES: usize = 5;

/// Whether what was fetched is kept for the next time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeping {
    /// Who only looks writes nothing.
    Nothing,
    /// In the user's cache.
    Kept,
}

/// How a manifest is fetched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<'a> {
    /// What decides where servers may send one.
    pub policy: &'a Policy,
    /// Whether nothing is fetched that is not here already.
    pub offline: bool,
    /// Whether it is kept.
    pub keeping: Keeping,
}

/// The text at a URL, whose digest is known. What was fetched before is not fetched again.
pub(super) async fn text(
    addon: &str,
    granted: &TrustedUrl,
    sha256: &str,
    way: Way<'_>,
) -> Result<String, CommandError> {
    let url = granted.as_str();
    let wanted = sha256.to_lowercase();
    let is_digest = wanted.len() == 64 && wanted.bytes().all(|byte| byte.is_ascii_hexdigit());
    let kept = folder().filter(|_| is_digest && !way.policy.is_untrusted());
    let kept = kept.map(|folder| folder.join(format!("{wanted}.yaml")));
    if let Some(text) = kept.as_deref().and_then(|path| file::read_text(path, size::MANIFEST).ok())
        && digest(&text) == wanted
    {
        return Ok(text);
    }
    let failed =
        |text: String| CommandError::new("CLI0040", format!("the add-on {addon} is at {url}, {text}"));
    if way.offline {
        return Err(failed("and nothing is fetched offline".to_owned())
            .hint("plan once without --offline, or name a `manifest: { file: … }`"));
    }
    let text = fetch(granted, way.policy).await.map_err(|error| {
        failed("which cannot be fetched".to_owned())
            .cause(error.to_string())
            .hint("fetch it yourself, and name it as `manifest: { file: … }`")
    })?;
    let found = digest(&text);
    if found != wanted {
        return Err(failed("and what is there is not what the spec pins".to_owned())
            .cause(format!("it has the SHA-256 {found}, and the spec pins {wanted}"))
            .hint("look at what changed there; if it is what you want, pin its digest"));
    }
    if let Some(path) = kept.filter(|_| way.keeping == Keeping::Kept) {
        // Who cannot keep it fetches it again.
        if let Err(error) = keep(&path, &text) {
            tracing::debug!(%error, path = %path.display(), "a manifest is not kept");
        }
    }
    Ok(text)
}

fn digest(text: &str) -> String {
    Digest::of_bytes(text.as_bytes()).as_str().trim_start_matches("sha256:").to_owned()
}

async fn fetch(granted: &TrustedUrl, policy: &Policy) -> Result<String, ApiError> {
    let mut granted = granted.clone();
    for _ in 0..MOVES {
        let url = granted.as_str();
        let (server, path) =
            split(url).ok_or_else(|| ApiError::Unusable(format!("{url} is not reached over https")))?;
        let may_be_at: MayBeAt = {
            let granted = granted.clone();
            Arc::new(move |address| granted.may_be_at(address))
        };
        let server = Api::guarded(&server, &Trust::System, &Credentials::Anonymous, may_be_at)?;
        let next = match server.text(&path).await {
            Err(ApiError::Moved { to }) if to.starts_with('/') => format!("{}{to}", server.server()),
            Err(ApiError::Moved { to }) => to,
            answer => return answer,
        };
        // Where a server sends one is no more trusted than what the spec names.
        granted = policy.url(&next).map_err(|refusal| ApiError::Unusable(refusal.to_string()))?;
    }
    let url = granted.as_str();
    Err(ApiError::Unusable(format!("{url} is not the end after {MOVES} moves")))
}

/// Server and path of a URL.
fn split(url: &str) -> Option<(String, String)> {
    let rest = url.strip_prefix("https://")?.split('#').next()?;
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    (!host.is_empty()).then(|| (format!("https://{host}"), path))
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

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn a_url_is_a_server_and_a_path() {
        let one = |url| split(url).map(|(server, path)| format!("{server} {path}"));
        assert_eq!(one("https://a.test/b?c#d").unwrap(), "https://a.test /b?c");
        assert_eq!(one("https://a.test:8443").unwrap(), "https://a.test:8443 /");
        assert_eq!(one("http://a.test/b"), None);
        assert_eq!(one("https:///b"), None);
    }
}
