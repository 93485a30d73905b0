//! Answers of AWS with changed bytes: the provider reports errors, and neither panics nor hangs. `SLIPWAY_SEED` selects other
//! changes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use slipway_resource::Observation;
use slipway_resource::provider::{DiscoverRequest, ReadRequest};
use slipway_testkit::http;
use slipway_testkit::proxy::{Proxy, Request, Verdict};

use crate::life::create;
use crate::support::{CLUSTER, Cloud, moto};
use crate::trouble::named;

/// How long answers are malformed, at the least.
const LASTS: Duration = Duration::from_secs(6);
/// How long a round may take. One that takes longer hangs.
const ROUND: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn malformed_answers_are_errors() {
    let moto = moto();
    moto.create_bucket("documents").unwrap();
    let cloud = Cloud::open(&moto.endpoint()).await;
    let mut objects = Vec::new();
    for (name, desired) in named() {
        objects.push((name.to_owned(), cloud.create(name, desired).await.identity.unwrap()));
    }
    let network = create(&cloud, "aws_vpc.a", &json!({"cidr_block": "10.0.0.0/16"})).await;
    let subnet =
        json!({"vpc_id": network.as_str(), "availability_zone": "us-east-1a", "cidr_block": "10.0.0.0/24"});
    objects.push(("aws_subnet.a".to_owned(), create(&cloud, "aws_subnet.a", &subnet).await));
    let targets = json!({"name": "tcp", "port": 443, "protocol": "TCP", "vpc_id": network.as_str()});
    objects.push((
        "aws_lb_target_group.tcp".to_owned(),
        create(&cloud, "aws_lb_target_group.tcp", &targets).await,
    ));
    objects.push(("aws_vpc.a".to_owned(), network));
    cloud.end().await;

    let seed = std::env::var("SLIPWAY_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(7);
    let (malforms, numbers) = (Arc::new(AtomicBool::new(false)), Mutex::new(Numbers(seed)));
    let (judges, port) = (Arc::clone(&malforms), moto.port());
    let proxy = Proxy::start(port, move |request| {
        if !judges.load(Ordering::SeqCst) || request.method == "HEAD" {
            return Verdict::Pass;
        }
        match forward(port, request) {
            Ok(answer) => malformed(answer, &mut numbers.lock().unwrap()),
            Err(_) => Verdict::DropBefore,
        }
    });
    let proxy = proxy.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let errors = folder.path().join("errors");
    let cloud = Cloud::open_noting(&proxy.endpoint(), &errors).await;
    malforms.store(true, Ordering::SeqCst);
    let (begun, mut rounds, mut failures) = (Instant::now(), 0, 0);
    while begun.elapsed() < LASTS {
        let reads = objects.iter().map(|(name, identity)| ReadRequest {
            address: name.parse().unwrap(),
            identity: identity.clone(),
        });
        let reads = reads.collect();
        let request =
            DiscoverRequest { uid: Some(cloud.uid.clone()), cluster: CLUSTER.to_owned(), types: Vec::new() };
        let round = async {
            let (found, read) = (cloud.session.discover(request).await, cloud.session.read(reads).await);
            let catalog = cloud.session.catalog().await;
            let unreadable = |read: Vec<slipway_resource::Observed>| {
                read.iter().filter(|one| matches!(one.observation, Observation::Unreadable(_))).count()
            };
            usize::from(found.is_err()) + usize::from(catalog.is_err()) + read.map_or(1, unreadable)
        };
        failures += tokio::time::timeout(ROUND, round).await.unwrap();
        rounds += 1;
    }
    assert!(failures > 0, "no failure in {rounds} rounds");
    malforms.store(false, Ordering::SeqCst);
    let errors = std::fs::read_to_string(errors).unwrap();
    assert!(!errors.contains("panicked"), "seed {seed}: {errors}");
    // The session is as good as before.
    for (name, identity) in &objects {
        let observed = cloud.read(name, identity).await.observation;
        assert!(matches!(observed, Observation::Present(_)), "{name}: {observed:?}");
    }
    cloud.end().await;
}

/// Headers that belong to one connection.
const OF_CONNECTIONS: [&str; 4] = ["connection", "content-length", "host", "transfer-encoding"];

fn is_kept(name: &str) -> bool {
    !OF_CONNECTIONS.iter().any(|other| other.eq_ignore_ascii_case(name))
}

fn forward(port: u16, request: &Request) -> anyhow::Result<http::Answer> {
    let headers = request.headers.iter().filter(|(name, _)| is_kept(name));
    let headers: Vec<(&str, &str)> = headers.map(|(name, value)| (name.as_str(), value.as_str())).collect();
    http::request(&request.method, port, &request.target, &headers, &request.body)
}

/// An answer as it is, or malformed: one in three.
fn malformed(answer: http::Answer, numbers: &mut Numbers) -> Verdict {
    let http::Answer { mut status, mut headers, mut body } = answer;
    headers.retain(|(name, _)| is_kept(name));
    if numbers.below(3) == 0 {
        change(&mut body, numbers);
        if numbers.below(8) == 0 {
            status = [200, 301, 400, 404, 500, 503][numbers.below(6)];
        }
    }
    Verdict::Answer { status, headers, body }
}

/// Changes some bytes.
fn change(body: &mut Vec<u8>, numbers: &mut Numbers) {
    let begin = numbers.below(body.len() + 1);
    let end = begin + numbers.below(body.len() - begin + 1).min(200);
    match numbers.below(7) {
        0 => body.truncate(begin),
        1 => drop(body.drain(begin..end)),
        2 => {
            let part = body[begin..end].repeat(1 + numbers.below(8));
            drop(body.splice(begin..begin, part));
        }
        3 => body[begin..end].fill(numbers.byte()),
        4 => body[begin..end].iter_mut().for_each(|byte| *byte = numbers.byte()),
        5 => {
            // A number that no type holds, in place of one.
            let digits: Vec<usize> = (0..body.len()).filter(|at| body[*at].is_ascii_digit()).collect();
            if let Some(&at) = digits.get(numbers.below(digits.len())) {
                drop(body.splice(at..=at, *b"-99999999999999999999"));
            }
        }
        _ => {
            let opening = if body.starts_with(b"{") { "[" } else { "<a>" };
            drop(body.splice(begin..begin, opening.repeat(500).into_bytes()));
        }
    }
}

/// Numbers that look random and are the same in every run (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }
}
