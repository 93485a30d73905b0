//! Clients read and write one key at the same time, while the core is killed and the proxy is replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use slipway_etcd_storage::api::etcdserverpb as pb;

use super::client::Client;
use super::etcd::Etcd;
use super::tenant::Tenant;

const KEY: &str = "register";
/// How long a request may take; later ones count as not acknowledged.
const PATIENCE: Duration = Duration::from_secs(5);

/// An acknowledged request.
#[derive(Clone, Debug)]
struct Done {
    began: Instant,
    ended: Instant,
    wrote: bool,
    /// The revision in which the key got the value.
    revision: i64,
    value: String,
}

/// What one client did.
#[derive(Default)]
struct Work {
    done: Vec<Done>,
    /// Values that it wrote or tried to write.
    tried: BTreeSet<String>,
}

/// The value and its revision.
async fn read(client: &mut Client) -> Option<(i64, String)> {
    let request = pb::RangeRequest { key: KEY.into(), ..pb::RangeRequest::default() };
    let answer = client.kv.range(request).await.ok()?.into_inner();
    let found = answer.kvs.first()?;
    Some((found.mod_revision, String::from_utf8_lossy(&found.value).into_owned()))
}

/// Reads or writes until the end.
async fn work(mut client: Client, name: String, wrote: bool, over: Arc<AtomicBool>) -> Work {
    let mut work = Work::default();
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        let request = async {
            if !wrote {
                return read(&mut client).await;
            }
            let value = format!("{name}-{}", work.tried.len());
            work.tried.insert(value.clone());
            Some((client.put(KEY, &value).await.ok()?, value))
        };
        let answer = tokio::time::timeout(PATIENCE, request).await;
        match answer.ok().flatten() {
            Some((revision, value)) => {
                work.done.push(Done { began, ended: Instant::now(), wrote, revision, value });
            }
            None => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    work
}

/// Every read shows a value that was written in its revision, and no request shows an older state than one that had ended before it
/// began. With one key and one revision for each write, this is linearizability.
fn check(all: &[Work]) {
    let mut begun: Vec<&Done> = all.iter().flat_map(|work| &work.done).collect();
    let mut ended = begun.clone();
    begun.sort_by_key(|done| done.began);
    ended.sort_by_key(|done| done.ended);
    let mut written: BTreeMap<i64, &str> = BTreeMap::new();
    for done in begun.iter().filter(|done| done.wrote) {
        assert_eq!(written.insert(done.revision, &done.value), None, "two writes in one revision: {done:?}");
    }
    let mut before = ended.into_iter().peekable();
    let mut newest = 0;
    for done in begun {
        while let Some(earlier) = before.next_if(|earlier| earlier.ended < done.began) {
            newest = newest.max(earlier.revision);
        }
        let is_later = if done.wrote { done.revision > newest } else { done.revision >= newest };
        assert!(is_later, "revision {newest} was seen before {done:?}");
        match written.get(&done.revision) {
            Some(value) => assert_eq!(*value, done.value, "another value in revision {}", done.revision),
            // A write without an answer may have happened.
            None => assert!(all.iter().any(|work| work.tried.contains(&done.value)), "nobody wrote {done:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_write_is_lost_and_no_read_goes_back() {
    let mut core = Etcd::start().await;
    let mut tenant = Tenant::start(&core, "one").await;
    let over = Arc::new(AtomicBool::new(false));
    let mut work_of = Vec::new();
    for number in 0..6 {
        let name = format!("client-{number}");
        work_of.push(tokio::spawn(work(tenant.connect(), name, number % 2 == 0, Arc::clone(&over))));
    }
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        core.restart().await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        tenant = tenant.restart().await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    over.store(true, Ordering::Relaxed);
    let mut all = Vec::new();
    for work in work_of {
        all.push(work.await.unwrap());
    }
    // The last value that everybody can read is part of the history too.
    let began = Instant::now();
    let (revision, value) = read(&mut tenant.connect()).await.unwrap();
    let last = Done { began, ended: Instant::now(), wrote: false, revision, value };
    all.push(Work { done: vec![last], tried: BTreeSet::new() });
    check(&all);
    for work in &all {
        assert!(!work.done.is_empty(), "a client had no answer at all");
    }
    tenant.end().await;
}
