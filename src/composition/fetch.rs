//! Manifests at URLs: fetched over https once, when what comes has the digest that the spec pins, and kept.

use std::path::{Path, PathBuf};

use slipway_limits::{file, size};
use slipway_resource::Digest;

use crate::error::CommandError;
use crate::files::{self, Readers};
use crate::node::api::{Api, ApiError, Credentials, Trust};

/// How often a server may send one elsewhere.
const MOVES: usize = 5;

/// The text at a URL, whose digest is known. What was fetched before is not fetched again.
pub(super) async fn text(
    addon: &str,
    url: &str,
    sha256: &str,
    offline: bool,
) -> Result<String, CommandError> {
    let wanted = sha256.to_lowercase();
    let kept = folder().map(|folder| folder.join(format!("{wanted}.yaml")));
    if let Some(text) = kept.as_deref().and_then(|path| file::read_text(path, size::MANIFEST).ok())
        && digest(&text) == wanted
    {
        return Ok(text);
    }
    let failed =
        |text: String| CommandError::new("CLI0040", format!("the add-on {addon} is at {url}, {text}"));
    if offline {
        return Err(failed("and nothing is fetched offline".to_owned())
            .hint("plan once without --offline, or name a `manifest: { file: … }`"));
    }
    let text = fetch(url).await.map_err(|error| {
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
    if let Some(path) = kept {
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

async fn fetch(url: &str) -> Result<String, ApiError> {
    let mut url = url.to_owned();
    for _ in 0..MOVES {
        let (server, path) =
            split(&url).ok_or_else(|| ApiError::Unusable(format!("{url} is not reached over https")))?;
        let server = Api::new(&server, &Trust::System, &Credentials::Anonymous)?;
        match server.text(&path).await {
            Err(ApiError::Moved { to }) if to.starts_with('/') => url = format!("{}{to}", server.server()),
            Err(ApiError::Moved { to }) => url = to,
            answer => return answer,
        }
    }
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
