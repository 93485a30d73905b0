//! Archives of plans that wait, for `ExternalArtifact` objects of Flux.
//!
//! An archive is made of the stored plan each time, so every replica can serve those of all clusters. The same plan gives the same
//! bytes.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use slipway_controller::{Clients, Served, listen};
use slipway_operations::{Environment, Error as Failure, plans};
use slipway_plan::Plan;
use slipway_plan::render;
use tar::{Builder, EntryType, Header};
use tokio_util::sync::CancellationToken;

use crate::error::Error;
use crate::shared::Shared;
use crate::threads::Threads;

/// What clients may use. An archive is small, and is made for each request.
const CLIENTS: Clients =
    Clients { at_once: 16, head: Duration::from_secs(5), connection: Some(Duration::from_secs(60)) };
/// The most bytes of the plan as Markdown.
const MARKDOWN: usize = 1 << 20;
/// The end of the name of an archive.
const SUFFIX: &str = ".tar.gz";

/// The path of an archive: the cluster, and the digits of the digest of the plan.
pub(crate) fn path(cluster: &str, digits: &str) -> String {
    format!("{cluster}/{digits}{SUFFIX}")
}

/// Serves the archives of stored plans until the stop.
///
/// # Errors
/// When the address cannot be used.
pub(crate) async fn serve(
    shared: &Shared,
    address: SocketAddr,
    stop: CancellationToken,
) -> Result<Served, Error> {
    let (shared, threads) = (shared.clone(), Threads::default());
    let respond = move |request: Request<Incoming>| {
        let named = named(request.uri().path());
        let work = named
            .map(|(cluster, digits)| (shared.untrusted_environment(cluster), format!("{cluster}/{digits}")));
        let threads = threads.clone();
        async move {
            match work {
                Some((environment, reference)) => answer(threads, environment, reference).await,
                None => not_found(),
            }
        }
    };
    listen(address, CLIENTS, stop, respond).await.map_err(|source| Error::Listen { address, source })
}

/// The cluster and the plan that a path names.
fn named(path: &str) -> Option<(&str, &str)> {
    let (cluster, file) = path.strip_prefix('/')?.split_once('/')?;
    let digits = file.strip_suffix(SUFFIX)?;
    (digits.len() == 64).then_some((cluster, digits))
}

async fn answer(threads: Threads, environment: Environment, reference: String) -> Response<Full<Bytes>> {
    match of_stored(&threads, environment, reference).await {
        Ok(bytes) => {
            let mut response = Response::new(Full::new(Bytes::from(bytes)));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/gzip"));
            response
        }
        Err(error) => {
            tracing::debug!(%error, "a plan was asked for that cannot be read");
            not_found()
        }
    }
}

fn not_found() -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"not found\n")));
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// The archive of a stored plan, `CLUSTER/DIGITS`, made on a thread.
///
/// # Errors
/// When there is no such plan, or the state store cannot be used.
pub(crate) async fn of_stored(
    threads: &Threads,
    environment: Environment,
    reference: String,
) -> Result<Vec<u8>, Failure> {
    let work = move || async move {
        let saved = plans::stored(&environment, &reference).await?;
        pack(&saved.plan).map_err(|error| Failure::internal("the plan was not packed", error))
    };
    let packed = threads.run_async(work).await;
    packed.unwrap_or_else(|lost| Err(Failure::internal("the plan was not packed", lost)))
}

/// A plan as JSON and as Markdown. Neither has secrets.
fn pack(plan: &Plan) -> std::io::Result<Vec<u8>> {
    let mut json = Vec::new();
    render::json_to(plan, &mut json)?;
    let markdown = render::markdown(plan, MARKDOWN);
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (name, bytes) in [("plan.json", json.as_slice()), ("plan.md", markdown.as_bytes())] {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, bytes)?;
    }
    archive.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_cluster_and_a_whole_digest() {
        let digits = "0123456789abcdef".repeat(4);
        let path = format!("/{}", path("prod", &digits));
        assert_eq!(named(&path), Some(("prod", digits.as_str())));
        for wrong in ["/", "/prod", "/prod/0123abcd.tar.gz", "/prod/plan.md", "prod"] {
            assert_eq!(named(wrong), None, "{wrong}");
        }
    }
}
