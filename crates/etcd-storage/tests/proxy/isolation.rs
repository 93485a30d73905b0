//! Two tenants send random requests of all methods. No answer to one has anything of the other, or of the core.

use bytes::Bytes;
use slipway_etcd_storage::api::etcdserverpb as pb;
use slipway_etcd_storage::api::etcdserverpb::cluster_client::ClusterClient;
use slipway_etcd_storage::api::etcdserverpb::maintenance_client::MaintenanceClient;
use slipway_etcd_storage::api::etcdserverpb::watch_request::RequestUnion;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tonic::client::Grpc;
use tonic::{Code, Request};
use tonic_prost::ProstCodec;

use super::client::{Client, Watching, everything};
use super::differential::answer;
use super::etcd::Etcd;
use super::generate::{Any, Generator, Random};
use super::refused::REFUSED;
use super::tenant::Tenant;

/// Requests of each tenant, unless `SLIPWAY_REQUESTS` has another number.
const REQUESTS: u64 = 800;

/// The size of an object of the core. No size that a tenant sees reaches it.
const LARGE: usize = 1 << 20;

/// Watches of a tenant that run at the same time.
const WATCHES: i64 = 20;

/// A tenant, and what it may see.
struct Side {
    client: Client,
    generator: Generator,
    /// Texts that are in no answer: the mark of the other tenant, and the address of the core.
    hidden: [String; 2],
    advertised: String,
    watches: mpsc::Sender<pb::WatchRequest>,
    watched: JoinHandle<usize>,
    newest_watch: i64,
    /// Revisions of writes that the tenant has not compacted.
    readable: Vec<i64>,
}

impl Side {
    async fn new(tenant: &Tenant, core: &Etcd, marks: [&'static str; 2], seed: u64) -> Self {
        let hidden = [marks[1].to_owned(), core.url.replace("https://", "")];
        // Watches have a separate connection: unread events take up its window.
        let Watching { requests, mut answers } = tenant.connect().watch(everything()).await;
        let unseen = hidden.clone();
        let watched = tokio::spawn(async move {
            let mut events = 0;
            // The stream fails when the proxy ends.
            while let Ok(Some(answer)) = answers.message().await {
                assert_hidden(&unseen, &format!("{answer:?}"));
                events += answer.events.len();
            }
            events
        });
        Self {
            client: tenant.connect(),
            generator: Generator { random: Random(seed), mark: marks[0] },
            hidden,
            advertised: tenant.settings.advertise.clone().unwrap(),
            watches: requests,
            watched,
            newest_watch: 0,
            readable: Vec::new(),
        }
    }

    async fn request(&mut self, in_core: &[i64]) {
        match self.generator.random.below(24) {
            0..10 => {
                let request = self.generator.any();
                self.send(request).await;
            }
            10..12 => self.put().await,
            12..15 => self.watch().await,
            15 => self.ask(RequestUnion::ProgressRequest(pb::WatchProgressRequest {})).await,
            16..18 => self.compact().await,
            18 => self.status().await,
            19 => self.members().await,
            20 => self.lease_of_others(in_core).await,
            _ => self.refused().await,
        }
    }

    async fn send(&mut self, request: Any) {
        let is_list = matches!(request, Any::Leases);
        let text = answer(&mut self.client, request).await;
        assert_hidden(&self.hidden, &text);
        if is_list {
            // The ids that the generator chooses. Those in the core are random.
            let ids: Vec<i64> = serde_json::from_str(&text).unwrap();
            assert!(ids.iter().all(|id| (0..5).contains(id)), "{text}");
        }
    }

    async fn put(&mut self) {
        let key = format!("{}key-{}", self.generator.mark, self.generator.random.below(8));
        let revision = self.client.put(&key, self.generator.mark).await.unwrap();
        self.readable.push(revision);
    }

    async fn watch(&mut self) {
        let start = match self.generator.random.below(6) {
            0 => 1,
            1..3 => *self.readable.last().unwrap_or(&0),
            _ => 0,
        };
        self.newest_watch += 1;
        let create = self.generator.watch(self.newest_watch, start);
        self.ask(RequestUnion::CreateRequest(create)).await;
        let watch_id = self.newest_watch - WATCHES;
        if watch_id > 0 {
            self.ask(RequestUnion::CancelRequest(pb::WatchCancelRequest { watch_id })).await;
        }
    }

    async fn ask(&self, union: RequestUnion) {
        self.watches.send(pb::WatchRequest { request_union: Some(union) }).await.unwrap();
    }

    async fn compact(&mut self) {
        let revision = match self.generator.random.below(4) {
            0 => 0,
            1 => i64::MAX,
            _ if self.readable.is_empty() => 1,
            _ => *self.generator.random.of(&self.readable),
        };
        let physical = self.generator.random.chance(2);
        match self.client.kv.compact(pb::CompactionRequest { revision, physical }).await {
            Ok(_) => self.readable.retain(|one| *one >= revision),
            Err(status) => assert_hidden(&self.hidden, &format!("{status:?}")),
        }
    }

    async fn status(&mut self) {
        let mut client = MaintenanceClient::new(self.client.channel.clone());
        let status = client.status(pb::StatusRequest {}).await.unwrap().into_inner();
        assert_hidden(&self.hidden, &format!("{status:?}"));
        let sizes = [status.db_size, status.db_size_in_use, status.db_size_quota];
        assert!(sizes.iter().all(|size| *size < i64::try_from(LARGE).unwrap()), "{sizes:?}");
        assert_eq!((status.raft_index, status.raft_applied_index, status.errors.len()), (0, 0, 0));
    }

    async fn members(&mut self) {
        let mut client = ClusterClient::new(self.client.channel.clone());
        let linearizable = self.generator.random.chance(2);
        let list = client.member_list(pb::MemberListRequest { linearizable }).await.unwrap().into_inner();
        assert_hidden(&self.hidden, &format!("{list:?}"));
        let urls: Vec<_> = list.members.iter().flat_map(|one| &one.client_ur_ls).collect();
        assert_eq!(urls, [&self.advertised]);
    }

    /// No lease of the core exists under its own id.
    async fn lease_of_others(&mut self, in_core: &[i64]) {
        if in_core.is_empty() {
            return;
        }
        let id = *self.generator.random.of(in_core);
        let asked = pb::LeaseTimeToLiveRequest { id, keys: true };
        let answer = self.client.lease.lease_time_to_live(asked).await.unwrap().into_inner();
        assert_eq!((answer.ttl, answer.keys.len()), (-1, 0));
        let refused = self.client.lease.lease_revoke(pb::LeaseRevokeRequest { id }).await.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound);
        assert_hidden(&self.hidden, &format!("{refused:?}"));
    }

    async fn refused(&mut self) {
        let method = *self.generator.random.of(REFUSED);
        let random = &mut self.generator.random;
        let body: Vec<u8> = (0..random.below(40)).map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        let mut grpc = Grpc::new(self.client.channel.clone());
        grpc.ready().await.unwrap();
        let path = format!("/etcdserverpb.{method}").parse().unwrap();
        let codec = ProstCodec::<Bytes, Bytes>::default();
        let refused = grpc.unary(Request::new(Bytes::from(body)), path, codec).await.unwrap_err();
        let expected = (Code::PermissionDenied, "etcdserver: permission denied");
        assert_eq!((refused.code(), refused.message()), expected, "{method}");
    }

    /// A compaction of the other tenant ends no history of this one.
    async fn history_is_there(&mut self) {
        if let Some(oldest) = self.readable.first() {
            self.client.get_at("any", *oldest).await.unwrap();
        }
    }
}

fn assert_hidden(hidden: &[String], text: &str) {
    assert!(hidden.iter().all(|one| !text.contains(one)), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_another_tenant_is_in_answers_of_any_method() {
    let number = |name: &str, unset: u64| std::env::var(name).map_or(unset, |number| number.parse().unwrap());
    let (requests, seed) = (number("SLIPWAY_REQUESTS", REQUESTS), number("SLIPWAY_SEED", 1));
    let core = Etcd::start().await;
    let mut direct = core.connect();
    direct.put("/registry/large", &"x".repeat(LARGE)).await.unwrap();
    let (one, two) = (Tenant::start(&core, "one").await, Tenant::start(&core, "two").await);
    let mut sides = [
        Side::new(&one, &core, ["of-one-", "of-two-"], seed).await,
        Side::new(&two, &core, ["of-two-", "of-one-"], seed ^ u64::MAX).await,
    ];
    let mut in_core = Vec::new();
    for count in 0..requests {
        if count % 32 == 0 {
            let answer = direct.lease.lease_leases(pb::LeaseLeasesRequest {}).await.unwrap().into_inner();
            in_core = answer.leases.iter().map(|lease| lease.id).collect();
        }
        for side in &mut sides {
            side.request(&in_core).await;
            side.history_is_there().await;
        }
    }
    let keys = direct.keys().await;
    one.end().await;
    two.end().await;
    for side in sides {
        assert!(keys.iter().any(|key| key.contains(side.generator.mark)), "both wrote into one core");
        assert!(side.watched.await.unwrap() > 0, "its watches had events");
    }
}
