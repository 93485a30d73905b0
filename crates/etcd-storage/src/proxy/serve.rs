//! A proxy from its start to its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server as Transport;

use super::core::Core;
use super::error::Error;
use super::files;
use super::keys::Keys;
use super::leases::Leases;
use super::listener::{Listener, Serving};
use super::methods::Methods;
use super::pace::Pace;
use super::records::Records;
use super::services::{Parts, Places, Server};
use super::settings::Settings;
use super::translate::Translator;
use super::usage::Usage;

/// Connections whose handshake is done and that the server has not taken yet.
const ACCEPTED: usize = 64;
/// Interval of keep-alive requests to a silent client, and the timeout of their answers.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const KEEP_ALIVE_ANSWER: Duration = Duration::from_secs(10);
/// How much of a stream and of a connection may be on its way, in bytes.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;

/// Serves a tenant until it is stopped. Then no connection is accepted, requests end with their answers, and watches end
/// with an error at which clients connect to another replica.
///
/// # Errors
/// When files, the core, the prefix of the tenant or the address cannot be used. Nothing listens in that case.
pub async fn serve(settings: Settings, stop: CancellationToken) -> Result<(), Error> {
    let (serving_files, core_files) = (files::read(&settings.serving)?, files::read(&settings.core.files)?);
    let serving = Arc::new(Serving::new(&settings.serving, &serving_files)?);
    let core = Arc::new(Core::new(&settings.core, &core_files)?);
    let parts = Arc::new(prepare(&settings, Arc::clone(&core), stop.clone()).await?);
    parts.usage.count().await?;
    let listener = Listener::bind(settings.listen, settings.limits.connections).await?;
    let (accepted, incoming) = mpsc::channel(ACCEPTED);
    tracing::info!(tenant = %settings.tenant, address = %settings.listen, "the proxy serves");
    let server = async {
        let methods = Methods::new(Server(Arc::clone(&parts)));
        let incoming = ReceiverStream::new(incoming);
        let served = transport().serve_with_incoming_shutdown(methods, incoming, stop.cancelled()).await;
        // However the server ended, its helper tasks end too.
        stop.cancel();
        served.map_err(Error::Serve)
    };
    let every = settings.reload_every;
    let (served, ..) = tokio::join!(
        server,
        listener.accept(Arc::clone(&serving), accepted, stop.clone()),
        parts.usage.follow(&stop),
        parts.records.follow(&stop),
        files::follow(&settings.serving, serving_files, every, &stop, |contents| serving
            .install(&settings.serving, contents)),
        files::follow(&settings.core.files, core_files, every, &stop, |contents| core
            .install(&settings.core, contents)),
    );
    served
}

async fn prepare(settings: &Settings, core: Arc<Core>, stop: CancellationToken) -> Result<Parts, Error> {
    let (records, mask) = Records::open(Arc::clone(&core), &settings.tenant, settings.adopt).await?;
    let records = Arc::new(records);
    let keys = Keys::of(&settings.tenant);
    let limits = settings.limits;
    Ok(Parts {
        leases: Leases::new(Arc::clone(&core), Arc::clone(&records), mask),
        usage: Arc::new(Usage::new(Arc::clone(&core), keys.clone(), limits)),
        translator: Translator { keys, mask },
        core,
        records,
        pace: Pace::new(limits.requests_per_second),
        limits,
        advertise: settings.advertise.clone(),
        streams: Places::new(limits.streams),
        watches: Places::new(limits.watches),
        stop,
    })
}

fn transport() -> Transport {
    Transport::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE_ANSWER))
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
}
