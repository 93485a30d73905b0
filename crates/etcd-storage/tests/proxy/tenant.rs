//! A proxy for one tenant, in the process of the test.

use std::time::Duration;

use slipway_etcd_storage::proxy::{self, Error, Limits, Settings, TlsFiles};
use slipway_testkit::port;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::etcd::Etcd;
use super::pki::Authority;

/// A tenant and its proxy.
pub struct Tenant {
    pub url: String,
    /// The authority of everything on the tenant's side.
    pub authority: Authority,
    /// Certificates of the tenant's clients.
    pub client: TlsFiles,
    pub settings: Settings,
    stop: CancellationToken,
    served: JoinHandle<Result<(), Error>>,
}

impl Tenant {
    pub async fn start(etcd: &Etcd, name: &str) -> Self {
        Self::limited(etcd, name, Limits::default()).await
    }

    pub async fn limited(etcd: &Etcd, name: &str, limits: Limits) -> Self {
        let (settings, authority, client) = settings(etcd, name, limits);
        Self::serving(settings, authority, client).await
    }

    async fn serving(settings: Settings, authority: Authority, client: TlsFiles) -> Self {
        let (stop, url) = (CancellationToken::new(), format!("https://{}", settings.listen));
        let served = tokio::spawn(proxy::serve(settings.clone(), stop.clone()));
        while !port::listens(settings.listen.port()) {
            assert!(!served.is_finished(), "{:?}", served.await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Self { url, authority, client, settings, stop, served }
    }

    pub fn connect(&self) -> Client {
        Client::new(&self.url, &self.client)
    }

    /// Ends the proxy, and starts another one at the same address.
    pub async fn restart(self) -> Self {
        self.stop.cancel();
        self.served.await.unwrap().unwrap();
        Self::serving(self.settings, self.authority, self.client).await
    }

    /// Ends the proxy and waits until it has ended.
    pub async fn end(self) {
        self.stop.cancel();
        self.served.await.unwrap().unwrap();
    }
}

/// The settings of a tenant's proxy, the tenant's authority, and certificates of its clients.
pub fn settings(etcd: &Etcd, name: &str, limits: Limits) -> (Settings, Authority, TlsFiles) {
    let authority = Authority::new(name);
    let [port] = port::free().unwrap();
    let settings = Settings {
        tenant: name.parse().unwrap(),
        adopt: false,
        listen: ([127, 0, 0, 1], port).into(),
        serving: authority.files(etcd.folder(), &format!("{name}-server"), &[&authority]),
        advertise: Some(format!("https://etcd-{name}.storage.svc:2379")),
        core: etcd.settings(),
        limits,
        reload_every: Duration::from_millis(100),
    };
    let client = authority.files(etcd.folder(), &format!("{name}-client"), &[&authority]);
    (settings, authority, client)
}
