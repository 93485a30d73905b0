//! Addresses and ports that the API gives to one Service at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures_util::future::join_all;
use serde_json::{Value as Json, json};
use slipway_plan::{ChangeAction, Mode};
use slipway_provider_kubernetes::{FileAccess, Kubernetes};
use slipway_resource::provider::{Action, ApplyRequest, EventSink, SessionRequest};
use slipway_resource::{ClusterUid, Desired, ErrorClass, Ownership, Provider as _, Session, Token, Value};

use crate::lab::{Api, Lab, object};

fn service(name: &str, spec: Json) -> Desired {
    object(
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default"}, "spec": spec}),
    )
}

fn with_address(name: &str, address: &str) -> Desired {
    service(name, json!({"clusterIP": address, "ports": [{"port": 53, "protocol": "UDP"}]}))
}

fn with_port(name: &str, port: u16) -> Desired {
    service(name, json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}))
}

async fn session(api: &Api) -> Result<Arc<dyn Session>> {
    let access = FileAccess::of_caller(api.kubeconfig());
    let request = SessionRequest { config: Value::Null, region: None, offline: false };
    Ok(Kubernetes::new(Arc::new(access)).open_session(request).await?)
}

/// Of two runs of which the first was killed, its last request is still under way when the second sends the same.
#[tokio::test(flavor = "multi_thread")]
async fn those_who_make_one_service_at_once_all_have_it_in_the_end() -> Result<()> {
    let api = Api::start(false)?;
    let mut appliers = Vec::new();
    for _ in 0..6 {
        appliers.push(session(&api).await?);
    }
    for round in 0..12 {
        let address = format!("10.96.1.{}", 10 + round);
        for wanted in [
            with_address(&format!("dns-{round}"), &address),
            with_port(&format!("web-{round}"), 30_100 + round),
        ] {
            let request = |applier: usize| ApplyRequest {
                token: Token::new(format!("{}-{applier}", wanted.address)),
                ownership: Ownership {
                    uid: ClusterUid::new("7f2c7b1e-3f0a-4b6f-9a53-6a1d7e6c0001"),
                    cluster: "demo".to_owned(),
                    address: wanted.address.clone(),
                },
                action: Action::Create { desired: wanted.attributes.clone() },
                timeout_ms: 120_000,
            };
            let calls = appliers.iter().enumerate().map(|(number, session)| {
                let request = request(number);
                async move { session.apply(request, EventSink::discard()).await }
            });
            let mut identities = Vec::new();
            for applied in join_all(calls).await {
                identities.push(applied.with_context(|| wanted.address.to_string())?.identity);
            }
            identities.dedup();
            ensure!(identities.len() == 1, "more than one {}: {identities:?}", wanted.address);
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_object_holds_is_told_with_its_name() -> Result<()> {
    let api = Api::start(false)?;
    let lab = Lab::new(&api, "demo");
    lab.apply(&[with_address("first", "10.96.1.10"), with_port("door", 30_100)]).await?;
    let reserved = json!({"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": {"name": "10.96.1.11"},
        "spec": {"parentRef": {"group": "example.com", "resource": "gateways", "namespace": "default", "name": "edge"}}});
    api.kubectl_with(&["apply", "-f", "-"], &reserved.to_string())?;
    for (wanted, told) in [
        (with_address("second", "10.96.1.10"), "the address 10.96.1.10 is held by Service default/first"),
        (with_port("window", 30_100), "the node port 30100 is held by Service default/door"),
        (
            with_address("third", "10.96.1.11"),
            "the address 10.96.1.11 is held by IPAddress 10.96.1.11 (for gateways/default/edge)",
        ),
    ] {
        let other = Lab::new(&api, "other");
        // A dry run reports ports only: the API allocates no address in one.
        if told.contains("port") {
            let plan = other.plan(std::slice::from_ref(&wanted)).await?;
            let finding = plan.findings.first().context("no finding")?;
            ensure!(finding.class == ErrorClass::Conflict && finding.message.contains(told), "{finding:?}");
            let hint = finding.hint.as_deref().unwrap_or_default();
            ensure!(hint.contains("remove what holds it"), "{finding:?}");
        }
        let begun = Instant::now();
        let (_, report) = other.run(&[wanted], Mode::Apply).await?;
        ensure!(format!("{:?}", report.failures).contains(told), "{:?}", report.failures);
        ensure!(begun.elapsed() < Duration::from_secs(60), "it was waited for");
    }
    Ok(())
}

/// An address that an interrupted request reserved without a Service. The API server's repair releases it
/// after a minute; here the test deletes it earlier.
#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_holds_is_waited_for_until_the_api_server_has_it_back() -> Result<()> {
    let api = Api::start(false)?;
    let left = json!({"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress", "metadata": {"name": "10.96.1.10",
            "labels": {"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io", "ipaddress.kubernetes.io/ip-family": "IPv4"}},
        "spec": {"parentRef": {"resource": "services", "namespace": "default", "name": "dns"}}});
    api.kubectl_with(&["create", "-f", "-"], &left.to_string())?;
    let lab = Lab::new(&api, "demo");
    let wanted = [with_address("dns", "10.96.1.10")];
    let plan = lab.plan(&wanted).await?;
    ensure!(plan.findings.is_empty(), "{:?}", plan.findings);
    ensure!(plan.changes[0].action == ChangeAction::Create);
    let begun = Instant::now();
    let repair = async {
        tokio::time::sleep(Duration::from_secs(4)).await;
        api.kubectl(&["delete", "ipaddress", "10.96.1.10"])
    };
    let (applied, repaired) = tokio::join!(lab.apply(&wanted), repair);
    applied?;
    repaired?;
    ensure!(begun.elapsed() > Duration::from_secs(4), "it was free already");
    ensure!(api.get(&["service", "dns"])?["spec"]["clusterIP"] == "10.96.1.10");
    Ok(())
}
