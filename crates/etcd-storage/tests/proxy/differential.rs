//! The same random requests get the same answers from the proxy of a tenant and from an etcd that only this tenant uses.

use std::fmt::Write as _;

use slipway_etcd_storage::api::etcdserverpb as pb;
use slipway_etcd_storage::api::etcdserverpb::response_op::Response;
use slipway_etcd_storage::api::mvccpb::KeyValue;
use tonic::Status;

use super::client::{Client, everything};
use super::etcd::Etcd;
use super::generate::{Any, Generator, Random};
use super::tenant::Tenant;

const REQUESTS: usize = 800;
const LAST: &str = "the-last-key";

/// One tenant: its proxy, and an etcd that no other tenant uses.
struct Pair {
    proxied: Client,
    alone: Client,
    generator: Generator,
    other: &'static str,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_tenants_get_the_answers_that_etcds_of_their_own_give() {
    let (core, first, second) = tokio::join!(Etcd::start(), Etcd::start(), Etcd::start());
    let (one, two) = (Tenant::start(&core, "one").await, Tenant::start(&core, "two").await);
    let seed = std::env::var("SLIPWAY_SEED").map_or(1, |seed| seed.parse().unwrap());
    let pair = |tenant: &Tenant, alone: &Etcd, mark, other, seed| Pair {
        proxied: tenant.connect(),
        alone: alone.connect(),
        generator: Generator { random: Random(seed), mark },
        other,
    };
    let mut pairs = [
        pair(&one, &first, "of-one-", "of-two-", seed),
        pair(&two, &second, "of-two-", "of-one-", seed ^ u64::MAX),
    ];
    let mut watches = Vec::new();
    // Watches have separate connections: unread events take up the window of their connection.
    for (tenant, alone) in [(&one, &first), (&two, &second)] {
        let (mut proxied, mut alone) = (tenant.connect(), alone.connect());
        watches.push((proxied.watch(everything()).await, alone.watch(everything()).await));
    }
    for number in 0..REQUESTS {
        for pair in &mut pairs {
            let request = pair.generator.any();
            let proxied = answer(&mut pair.proxied, request.clone()).await;
            let alone = answer(&mut pair.alone, request.clone()).await;
            assert_eq!(proxied, alone, "request {number} with seed {seed}: {request:?}");
            assert!(!proxied.contains(pair.other), "{proxied}");
        }
    }
    for (pair, (mut proxied, mut alone)) in pairs.iter_mut().zip(watches) {
        pair.proxied.put(LAST, "").await.unwrap();
        pair.alone.put(LAST, "").await.unwrap();
        assert_eq!(events(&mut proxied, pair.other).await, events(&mut alone, pair.other).await);
    }
    one.end().await;
    two.end().await;
}

/// The events until the last key.
async fn events(watching: &mut super::client::Watching, other: &str) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let answer = watching.next().await;
        assert!(!format!("{answer:?}").contains(other));
        for mut event in answer.events {
            event.kv.iter_mut().chain(&mut event.prev_kv).for_each(normalise);
            all.push(format!("{event:?}"));
            if event.kv.is_some_and(|kv| kv.key == LAST.as_bytes()) {
                return all;
            }
        }
    }
}

/// The answer as text, without what tells of the whole core.
pub async fn answer(client: &mut Client, request: Any) -> String {
    match send(client, request).await {
        Ok(text) => text,
        Err(status) => format!("{:?} {}", status.code(), status.message()),
    }
}

async fn send(client: &mut Client, request: Any) -> Result<String, Status> {
    let mut text = String::new();
    match request {
        Any::Range(request) => range(&mut text, client.kv.range(request).await?.into_inner()),
        Any::Put(request) => put(&mut text, client.kv.put(request).await?.into_inner()),
        Any::Delete(request) => delete(&mut text, client.kv.delete_range(request).await?.into_inner()),
        Any::Txn(request) => transaction(&mut text, client.kv.txn(request).await?.into_inner()),
        Any::Grant(request) => {
            let answer = client.lease.lease_grant(request).await?.into_inner();
            write!(text, "{} {} {:?}", answer.id, answer.ttl, answer.error).unwrap();
        }
        Any::Revoke(request) => {
            client.lease.lease_revoke(request).await?;
        }
        Any::TimeToLive(request) => {
            let mut answer = client.lease.lease_time_to_live(request).await?.into_inner();
            answer.keys.sort();
            write!(text, "{} {} {} {:?}", answer.id, answer.ttl > 0, answer.granted_ttl, answer.keys)
                .unwrap();
        }
        Any::Leases => {
            let answer = client.lease.lease_leases(pb::LeaseLeasesRequest {}).await?.into_inner();
            let mut ids: Vec<_> = answer.leases.iter().map(|lease| lease.id).collect();
            ids.sort_unstable();
            write!(text, "{ids:?}").unwrap();
        }
        Any::KeepAlive(request) => {
            let requests = tokio_stream::once(request);
            let mut answers = client.lease.lease_keep_alive(requests).await?.into_inner();
            let answer = answers.message().await?.unwrap();
            write!(text, "{} {}", answer.id, answer.ttl).unwrap();
        }
    }
    Ok(text)
}

/// Revisions are those of the whole core.
fn normalise(kv: &mut KeyValue) {
    (kv.create_revision, kv.mod_revision) = (0, 0);
}

fn range(text: &mut String, mut answer: pb::RangeResponse) {
    answer.header = None;
    answer.kvs.iter_mut().for_each(normalise);
    write!(text, "{answer:?}").unwrap();
}

fn put(text: &mut String, mut answer: pb::PutResponse) {
    answer.header = None;
    answer.prev_kv.iter_mut().for_each(normalise);
    write!(text, "{answer:?}").unwrap();
}

fn delete(text: &mut String, mut answer: pb::DeleteRangeResponse) {
    answer.header = None;
    answer.prev_kvs.iter_mut().for_each(normalise);
    write!(text, "{answer:?}").unwrap();
}

fn transaction(text: &mut String, answer: pb::TxnResponse) {
    write!(text, "{} [", answer.succeeded).unwrap();
    for operation in answer.responses {
        match operation.response.unwrap() {
            Response::ResponseRange(answer) => range(text, answer),
            Response::ResponsePut(answer) => put(text, answer),
            Response::ResponseDeleteRange(answer) => delete(text, answer),
            Response::ResponseTxn(answer) => transaction(text, answer),
        }
    }
    text.push(']');
}
