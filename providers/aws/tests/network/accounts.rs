//! One process, two accounts in two regions: neither sees anything of the other.

use slipway_resource::provider::{Action, ApplyRequest, DiscoverRequest, EventSink, SessionRequest};
use slipway_resource::{Address, ClusterUid, Ownership, Session, Token, Value};
use slipway_testkit::proxy::{Proxy, Request, Verdict};

use crate::support::{CLUSTER, launch, moto};

/// The account that a role is taken on in.
const OTHER: &str = "222222222222";

/// STS with a role whose trust policy asks for an external id.
fn trusts(request: &Request) -> Verdict {
    let body = String::from_utf8_lossy(&request.body);
    if body.contains("Action=AssumeRole") && !body.contains("ExternalId=tenant-7") {
        return Verdict::status(403);
    }
    Verdict::Pass
}

async fn make(session: &dyn Session, uid: &ClusterUid, name: &str) -> String {
    let address: Address = format!("aws_vpc.{name}").parse().unwrap();
    let request = ApplyRequest {
        token: Token::new(format!("token-{name}")),
        ownership: Ownership { uid: uid.clone(), cluster: CLUSTER.to_owned(), address },
        action: Action::Create { desired: Value::map([("cidr_block", "10.0.0.0/16")]) },
        timeout_ms: 60_000,
    };
    session.apply(request, EventSink::discard()).await.unwrap().identity.unwrap().to_string()
}

async fn found(session: &dyn Session, uid: &ClusterUid) -> Vec<String> {
    let request = DiscoverRequest { uid: Some(uid.clone()), cluster: CLUSTER.to_owned(), types: Vec::new() };
    let discovery = session.discover(request).await.unwrap();
    discovery.observed.into_iter().map(|observed| observed.identity.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn two_accounts_in_two_regions_live_in_one_process() {
    let moto = moto();
    let running = launch("testing").await;
    let role = format!("arn:aws:iam::{OTHER}:role/slipway");
    let asking = Proxy::start(moto.port(), |request| trusts(request)).unwrap();
    let (assumed, endpoint) = (("assumeRole", role), ("endpoint", asking.endpoint()));
    let refused = SessionRequest {
        config: Value::map([endpoint.clone(), assumed.clone()]),
        region: Some("eu-west-1".to_owned()),
        offline: false,
    };
    assert!(running.provider().open_session(refused).await.is_err(), "a session without the external id");
    let configurations = [
        (Value::map([("endpoint", moto.endpoint())]), "us-east-1"),
        (Value::map([endpoint, assumed, ("externalId", "tenant-7".to_owned())]), "eu-west-1"),
    ];
    let mut sessions = Vec::new();
    for (config, region) in configurations {
        let request = SessionRequest { config, region: Some(region.to_owned()), offline: false };
        sessions.push(running.provider().open_session(request).await.unwrap());
    }
    let [one, other] = sessions.as_slice() else { panic!("two sessions") };
    assert_ne!(one.scope().account, OTHER);
    assert_eq!((other.scope().account.as_str(), other.scope().region.as_deref()), (OTHER, Some("eu-west-1")));

    // Both have a cluster of the same name and, by a copied state, of the same unique id.
    let uid = ClusterUid::new("0b5cf4de-1f5e-4a1c-9c5e-6b1f8f0f3d11");
    let (mine, theirs) = tokio::join!(make(&**one, &uid, "a"), make(&**other, &uid, "b"));
    let (seen, seen_there) = tokio::join!(found(&**one, &uid), found(&**other, &uid));
    assert_eq!((seen, seen_there), (vec![mine.clone()], vec![theirs]));

    // The end of one leaves the other alone.
    other.close().await.unwrap();
    assert_eq!(found(&**one, &uid).await, [mine]);
    drop(sessions);
    assert!(running.end().await, "the provider ends by itself");
}
