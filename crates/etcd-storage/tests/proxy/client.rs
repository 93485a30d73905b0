//! A client of etcd's API.

use std::fs;
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use slipway_cluster_api::{Credentials, Trust, configuration};
use slipway_etcd_storage::api::etcdserverpb as pb;
use slipway_etcd_storage::api::etcdserverpb::watch_request::RequestUnion;
use slipway_etcd_storage::proxy::TlsFiles;
use slipway_resource::SecretText;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Status, Streaming};

/// A client with a client certificate.
#[derive(Clone)]
pub struct Client {
    pub channel: Channel,
    pub kv: pb::kv_client::KvClient<Channel>,
    pub lease: pb::lease_client::LeaseClient<Channel>,
    pub watch: pb::watch_client::WatchClient<Channel>,
}

impl Client {
    pub fn new(url: &str, files: &TlsFiles) -> Self {
        let text = |path| fs::read_to_string(path).unwrap();
        let credentials = Credentials::Certificate {
            certificate: text(&files.certificate),
            key: SecretText::new(text(&files.key)),
        };
        Self::with(url, &text(&files.authorities), &credentials)
    }

    pub fn with(url: &str, authorities: &str, credentials: &Credentials) -> Self {
        let mut tls = configuration(&Trust::Authorities(authorities.to_owned()), credentials).unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let tls = Arc::new(tls);
        let address = url.strip_prefix("https://").unwrap().to_owned();
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let channel = endpoint.connect_with_connector_lazy(tower::service_fn(move |_: http::Uri| {
            let (address, tls) = (address.clone(), Arc::clone(&tls));
            async move {
                let stream = TcpStream::connect(&address).await?;
                stream.set_nodelay(true)?;
                let name = "127.0.0.1".try_into().unwrap();
                Ok::<_, std::io::Error>(TokioIo::new(TlsConnector::from(tls).connect(name, stream).await?))
            }
        }));
        Self {
            kv: pb::kv_client::KvClient::new(channel.clone()),
            lease: pb::lease_client::LeaseClient::new(channel.clone()),
            watch: pb::watch_client::WatchClient::new(channel.clone()),
            channel,
        }
    }

    pub async fn put(&mut self, key: &str, value: &str) -> Result<i64, Status> {
        let request = pb::PutRequest {
            key: key.to_owned().into(),
            value: value.to_owned().into(),
            ..pb::PutRequest::default()
        };
        Ok(self.kv.put(request).await?.into_inner().header.unwrap().revision)
    }

    pub async fn get(&mut self, key: &str) -> Result<Option<String>, Status> {
        self.get_at(key, 0).await
    }

    pub async fn get_at(&mut self, key: &str, revision: i64) -> Result<Option<String>, Status> {
        let request =
            pb::RangeRequest { key: key.to_owned().into(), revision, ..pb::RangeRequest::default() };
        let answer = self.kv.range(request).await?.into_inner();
        Ok(answer.kvs.first().map(|kv| String::from_utf8_lossy(&kv.value).into_owned()))
    }

    /// Every key of the tenant, or of the whole etcd.
    pub async fn keys(&mut self) -> Vec<String> {
        let all = pb::RangeRequest {
            key: "\0".into(),
            range_end: "\0".into(),
            keys_only: true,
            ..pb::RangeRequest::default()
        };
        let answer = self.kv.range(all).await.unwrap().into_inner();
        answer.kvs.iter().map(|kv| String::from_utf8_lossy(&kv.key).into_owned()).collect()
    }

    /// A stream of watches that begins with this one.
    pub async fn watch(&mut self, create: pb::WatchCreateRequest) -> Watching {
        let (requests, receiver) = mpsc::channel(16);
        requests.send(request(RequestUnion::CreateRequest(create))).await.unwrap();
        let answers = self.watch.watch(ReceiverStream::new(receiver)).await.unwrap().into_inner();
        Watching { requests, answers }
    }
}

/// A stream of watches.
pub struct Watching {
    pub requests: mpsc::Sender<pb::WatchRequest>,
    pub answers: Streaming<pb::WatchResponse>,
}

impl Watching {
    pub async fn send(&self, union: RequestUnion) {
        self.requests.send(request(union)).await.unwrap();
    }

    pub async fn next(&mut self) -> pb::WatchResponse {
        self.answers.message().await.unwrap().unwrap()
    }
}

fn request(union: RequestUnion) -> pb::WatchRequest {
    pb::WatchRequest { request_union: Some(union) }
}

/// A watch of everything.
pub fn everything() -> pb::WatchCreateRequest {
    pb::WatchCreateRequest {
        key: "\0".into(),
        range_end: "\0".into(),
        prev_kv: true,
        ..pb::WatchCreateRequest::default()
    }
}
