//! The artifact of an object of Flux as a source. source-controller, or the controller of an `ExternalArtifact`, serves it with HTTP
//! in the cluster; the digest in the object's status says what it is.

mod api;
mod object;

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Client;
use reqwest::redirect::Policy;
use slipway_limits::size;
use slipway_resource::{Digest, with_causes};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{Checkout, Listing, archive, next_checkout};
use crate::configuration::FluxSettings;
use crate::error::Error;
use object::Artifact;

/// How long a download may take.
const DOWNLOAD: Duration = Duration::from_secs(120);
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// An object of Flux.
#[derive(Debug)]
pub(super) struct Source {
    settings: FluxSettings,
    /// Where the folders of revisions are made.
    data: PathBuf,
    /// The client of the API server, if the last call succeeded.
    client: Option<slipway_cluster_api::Client>,
}

impl Source {
    pub fn new(settings: &FluxSettings, data: &Path) -> Self {
        Self { settings: settings.clone(), data: data.to_owned(), client: None }
    }

    /// The object, for people.
    pub fn title(&self) -> String {
        self.settings.title()
    }

    /// The artifact that the object has now.
    pub async fn artifact(&mut self) -> Result<Artifact, Error> {
        let (settings, kept) = (self.settings.clone(), self.client.take());
        let given_up = CancellationToken::new();
        let _ends_with_this = given_up.clone().drop_guard();
        let runtime = Handle::current();
        // A credential plugin of a kubeconfig blocks the thread that starts it, and this one renews leases.
        let call = move || runtime.block_on(given_up.run_until_cancelled(api::get(&settings, kept)));
        let answer = tokio::task::spawn_blocking(call).await.ok().flatten();
        let (client, document) = answer.ok_or_else(|| self.unavailable("its API was not asked"))??;
        self.client = Some(client);
        object::artifact(&self.settings, &document)
    }

    /// The files of an artifact. Nothing is unpacked that has another digest.
    pub async fn unpack(&self, artifact: &Artifact, paths: &[String]) -> Result<(Listing, Checkout), Error> {
        let bytes = self.download(artifact).await?;
        let checkout = next_checkout(&self.data, "flux");
        let (folder, paths) = (checkout.path().to_owned(), paths.to_vec());
        let unpacked = tokio::task::spawn_blocking(move || archive::unpack(&bytes, &folder, &paths)).await;
        let listing = unpacked.unwrap_or_else(|_| Err(self.unavailable("its artifact was not unpacked")))?;
        Ok((listing, checkout))
    }

    async fn download(&self, artifact: &Artifact) -> Result<Vec<u8>, Error> {
        let limit = size::REVISION;
        if artifact.size.is_some_and(|bytes| bytes > limit.bytes) {
            return Err(Error::TooLarge { limit });
        }
        let failed = |error: reqwest::Error| {
            self.unavailable(&format!("its artifact: {}", with_causes(&error.without_url())))
        };
        #[allow(
            clippy::disallowed_methods,
            reason = "the object of Flux that the operator names has the URL"
        )]
        let client = Client::builder()
            // A redirect could lead to a host that is not allowed.
            .redirect(Policy::none())
            .timeout(DOWNLOAD)
            .connect_timeout(CONNECT)
            .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(failed)?;
        let mut answer = client.get(artifact.url.clone()).send().await.map_err(failed)?;
        let status = answer.status();
        if !status.is_success() {
            let host = artifact.url.host_str().unwrap_or_default();
            return Err(self.unavailable(&format!("{host} answers {status} for its artifact")));
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(failed)? {
            if (bytes.len() + chunk.len()) as u64 > limit.bytes {
                return Err(Error::TooLarge { limit });
            }
            bytes.extend_from_slice(&chunk);
        }
        if Digest::of_bytes(&bytes) != artifact.digest {
            return Err(self.unavailable("its artifact has another digest than its status says"));
        }
        Ok(bytes)
    }

    fn unavailable(&self, reason: &str) -> Error {
        unavailable(&self.settings, reason)
    }
}

/// The object cannot be read. Texts of others may be of any length, and may contain control characters.
fn unavailable(settings: &FluxSettings, reason: &str) -> Error {
    Error::Flux { object: settings.title(), reason: shown(reason) }
}

/// A text of the cluster, fit to be shown.
fn shown(text: &str) -> String {
    slipway_limits::text::visible(&slipway_limits::text::shorten(text, size::MESSAGE)).into_owned()
}
