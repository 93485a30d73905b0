//! The first inputs of messages: values as JSON, and messages whose parts are not read from JSON.

use std::path::Path;

use anyhow::{Context as _, Result};
use prost::Message;
use serde::de::DeserializeOwned;
use slipway_protocol::convert::schema_to_message;
use slipway_protocol::generated as proto;
use slipway_protocol::wire::WireValue;
use slipway_resource::provider::{
    Applied, ApplyRequest, Catalog, CatalogRequest, Discovery, DryRun, ExpandRequest, Info, LocateRequest,
    Located, Node, PlanItem, Planned, PreflightFinding, PreflightItem, PriceReport, ReadRequest, Resolution,
    ResumeRequest, Rollout, Scope, SessionRequest, Unlisted,
};
use slipway_resource::{Desired, Observed, ProviderError, Schema, Value};

use super::READERS;
use crate::corpus::{ends, files};

/// The values of `fixtures/fuzz/frame/*.json` as messages, messages with all fields, an empty message of each kind, and kept
/// inputs.
pub(in crate::target) fn frames() -> Result<Vec<Vec<u8>>> {
    let mut all = Vec::new();
    for (name, _) in READERS {
        all.push(input(name, &[])?);
    }
    for (name, message) in composed() {
        all.push(input(name, &message)?);
    }
    for (path, bytes) in files(&["fixtures/fuzz/frame"], |_| true)? {
        if ends(&path, &[".json"]) {
            all.push(of_json(&path, &bytes).with_context(|| path.display().to_string())?);
        } else {
            all.push(bytes);
        }
    }
    Ok(all)
}

/// The input with a message of this name.
fn input(name: &str, message: &[u8]) -> Result<Vec<u8>> {
    let number = READERS.iter().position(|(known, _)| *known == name);
    let number = number.with_context(|| format!("no message is called {name}"))?;
    Ok([&[u8::try_from(number)?][..], message].concat())
}

/// The message of a value, by the first word of the name of its file.
fn of_json(path: &Path, json: &[u8]) -> Result<Vec<u8>> {
    fn encoded<M: Message + From<T>, T: DeserializeOwned>(json: &[u8]) -> Result<Vec<u8>> {
        let value: T = serde_json::from_slice(json)?;
        Ok(M::from(value).encode_to_vec())
    }
    let name = path.file_stem().map(|name| name.to_string_lossy()).unwrap_or_default();
    let name = name.split('-').next().unwrap_or_default();
    let message = match name {
        "error" => encoded::<proto::Error, ProviderError>(json),
        "observed" => encoded::<proto::Observed, Observed>(json),
        "planned" => encoded::<proto::Planned, Planned>(json),
        "applied" => encoded::<proto::Applied, Applied>(json),
        "catalog" => {
            let Catalog { digest, data } = serde_json::from_slice(json)?;
            let data = data.to_string().into_bytes();
            let message =
                proto::CatalogResponse { digest: digest.as_str().to_owned(), data, ..Default::default() };
            Ok(message.encode_to_vec())
        }
        "desired" => encoded::<proto::Desired, Desired>(json),
        "prices" => encoded::<proto::PriceResponse, PriceReport>(json),
        "located" => encoded::<proto::Located, Located>(json),
        "unlisted" => encoded::<proto::Unlisted, Unlisted>(json),
        "finding" => encoded::<proto::PreflightFinding, PreflightFinding>(json),
        "rollout" => encoded::<proto::Rollout, Rollout>(json),
        "request" => encoded::<proto::ApplyRequest, ApplyRequest>(json),
        "node" => encoded::<proto::Node, Node>(json),
        "rehearsal" => encoded::<proto::Rehearsal, DryRun>(json),
        "info" => encoded::<proto::GetInfoResponse, Info>(json),
        "schema" => {
            let schema: Schema = serde_json::from_slice(json)?;
            Ok(schema_to_message(&schema).encode_to_vec())
        }
        "session" => {
            let Scope { account, region } = serde_json::from_slice(json)?;
            let session = "s-1".to_owned();
            Ok(proto::OpenSessionResponse { session, account, region, error: None }.encode_to_vec())
        }
        "discovery" => {
            let Discovery { observed, unlisted, uid } = serde_json::from_slice(json)?;
            let message = proto::DiscoverResponse {
                observed: observed.into_iter().map(Into::into).collect(),
                unlisted: unlisted.into_iter().map(Into::into).collect(),
                uid: uid.map(|uid| uid.as_str().to_owned()),
                error: None,
            };
            Ok(message.encode_to_vec())
        }
        "outcome" => {
            let resolution: Resolution = serde_json::from_slice(json)?;
            Ok(proto::ResumeResponse { answer: Some(resolution.into()), error: None }.encode_to_vec())
        }
        "opening" => encoded::<proto::OpenSessionRequest, SessionRequest>(json),
        "choice" => encoded::<proto::CatalogRequest, CatalogRequest>(json),
        "expansion" => encoded::<proto::ExpandRequest, ExpandRequest>(json),
        "item" => encoded::<proto::ReadItem, ReadRequest>(json),
        "search" => encoded::<proto::LocateRequest, LocateRequest>(json),
        "change" => {
            let item: PlanItem = serde_json::from_slice(json)?;
            Ok(proto::PlanItem::from(&item).encode_to_vec())
        }
        "preflight" => encoded::<proto::PreflightItem, PreflightItem>(json),
        "resumption" => encoded::<proto::ResumeRequest, ResumeRequest>(json),
        other => anyhow::bail!("no message of JSON is called {other}"),
    };
    input(name, &message?)
}

/// Messages with all fields that are made of several parts.
fn composed() -> Vec<(&'static str, Vec<u8>)> {
    let observed = proto::Observed {
        address: "sim_network.main".to_owned(),
        identity: "net-1".to_owned(),
        token: Some("t-1".to_owned()),
        owner: Some("2488fb762120188bf5487e7c594ced50".to_owned()),
        observation: Some(proto::observed::Observation::Absent(proto::Absent {})),
    };
    let reading = proto::ReadResponse { observed: vec![observed.clone(), observed], error: None };
    let expanded = proto::ExpandResponse {
        resources: vec![proto::Desired { address: "sim_network.main".to_owned(), ..Default::default() }],
        notes: vec![proto::ExpandNote { field: "zones".to_owned(), message: "unknown".to_owned() }],
        error: None,
    };
    let instances = proto::InstancesResponse {
        answers: vec![
            instance(),
            proto::InstanceAnswer { answer: Some(proto::instance_answer::Answer::Absent(proto::Absent {})) },
            proto::InstanceAnswer { answer: Some(proto::instance_answer::Answer::Unreadable(failure())) },
        ],
        error: None,
    };
    let queries = proto::InstancesRequest {
        session: "s-1".to_owned(),
        cluster: "line".to_owned(),
        queries: vec![proto::InstanceQuery {
            node: "a".to_owned(),
            provider_id: Some("sim:///a".to_owned()),
        }],
    };
    let discovering = proto::DiscoverRequest {
        session: "s-1".to_owned(),
        uid: Some("2488fb762120188bf5487e7c594ced50".to_owned()),
        cluster: "line".to_owned(),
        types: vec!["sim_network".to_owned()],
    };
    let present = proto::get_load_balancer_response::Answer::Present(balancer());
    let balanced = proto::GetLoadBalancerResponse { answer: Some(present), error: None };
    let routes = proto::ListRoutesResponse { routes: vec![route(), route()], error: None };
    let routing = proto::CreateRouteRequest {
        session: "s-1".to_owned(),
        cluster: "line".to_owned(),
        name_hint: "a-1".to_owned(),
        destination: "10.244.1.0/24".to_owned(),
        target: Some(target()),
    };
    vec![
        ("reading", reading.encode_to_vec()),
        ("reading", proto::ReadResponse { error: Some(failure()), ..Default::default() }.encode_to_vec()),
        ("expanded", expanded.encode_to_vec()),
        ("events", events(proto::apply_event::Event::Done(applied())).encode_to_vec()),
        ("events", events(proto::apply_event::Event::Failed(failure())).encode_to_vec()),
        ("outcome", resumed().encode_to_vec()),
        ("instance", instance().encode_to_vec()),
        ("instances", instances.encode_to_vec()),
        ("queries", queries.encode_to_vec()),
        ("discovering", discovering.encode_to_vec()),
        ("balancer", balancer().encode_to_vec()),
        ("balanced", balanced.encode_to_vec()),
        ("balancing", balancing().encode_to_vec()),
        ("route", route().encode_to_vec()),
        ("routes", routes.encode_to_vec()),
        ("routing", routing.encode_to_vec()),
    ]
}

fn failure() -> proto::Error {
    proto::Error {
        class: proto::ErrorClass::Throttled.into(),
        message: "slower".to_owned(),
        hint: Some("wait".to_owned()),
        address: "sim_network.main".to_owned(),
        identity: Some("net-1".to_owned()),
        field: Some("pools[a].image".to_owned()),
        code: Some("PROVIDER0020".to_owned()),
        detail: Some(proto::error::Detail::Throttled(proto::Throttled {
            rate_class: "compute".to_owned(),
            retry_after_ms: Some(5),
        })),
    }
}

fn applied() -> proto::Applied {
    proto::Applied {
        identity: Some("net-1".to_owned()),
        attributes: Some(WireValue::new(&Value::map([("name", "main")]))),
        not_shown: vec!["name".to_owned()],
    }
}

/// Every event of an action, with its end.
fn events(end: proto::apply_event::Event) -> proto::ApplyEvents {
    use proto::apply_event::Event;
    let events = [
        Event::Started(proto::Started {}),
        Event::Identity("net-1".to_owned()),
        Event::Progress("2 of 3".to_owned()),
        Event::Handle("h-1".to_owned()),
        end,
    ];
    let event = |event| proto::ApplyEvent { token: "t-1".to_owned(), event: Some(event) };
    proto::ApplyEvents { events: events.into_iter().map(event).collect(), error: None }
}

fn resumed() -> proto::ResumeResponse {
    let event = Some(proto::apply_event::Event::Progress("2 of 3".to_owned()));
    let event = proto::ApplyEvent { token: "t-1".to_owned(), event };
    proto::ResumeResponse { answer: Some(proto::resume_response::Answer::Event(event)), error: None }
}

fn address() -> proto::NodeAddress {
    proto::NodeAddress { r#type: "InternalIP".to_owned(), address: "10.0.0.1".to_owned() }
}

fn instance() -> proto::InstanceAnswer {
    let instance = proto::Instance {
        provider_id: "sim:///a".to_owned(),
        shutdown: true,
        addresses: vec![address()],
        instance_type: "large".to_owned(),
        zone: "a".to_owned(),
        region: "r".to_owned(),
        labels: vec![proto::NodeLabel { key: "example.com/rack".to_owned(), value: "r1".to_owned() }],
    };
    proto::InstanceAnswer { answer: Some(proto::instance_answer::Answer::Present(instance)) }
}

fn target() -> proto::NodeTarget {
    let provider_id = Some("sim:///a".to_owned());
    proto::NodeTarget { node: "a-1".to_owned(), provider_id, addresses: vec![address()] }
}

fn balancer() -> proto::LoadBalancer {
    let port = proto::BalancerPortStatus { port: 443, protocol: "TCP".to_owned(), error: "InUse".to_owned() };
    let by_address = proto::BalancerIngress {
        ip: "192.0.2.1".to_owned(),
        hostname: String::new(),
        ip_mode: "VIP".to_owned(),
        ports: vec![port],
    };
    let by_name = proto::BalancerIngress { hostname: "web.example.com".to_owned(), ..Default::default() };
    proto::LoadBalancer { ingress: vec![by_address, by_name] }
}

fn balancing() -> proto::EnsureLoadBalancerRequest {
    let port = proto::BalancedPort {
        name: "https".to_owned(),
        protocol: "TCP".to_owned(),
        port: 443,
        node_port: 30_443,
        app_protocol: "kubernetes.io/ws".to_owned(),
    };
    let service = proto::BalancedService {
        ports: vec![port],
        source_ranges: vec!["0.0.0.0/0".to_owned()],
        client_affinity_seconds: Some(60),
        annotations: vec![proto::ServiceAnnotation {
            key: "example.com/a".to_owned(),
            value: "b".to_owned(),
        }],
        health_check_node_port: Some(32_000),
        address: Some("192.0.2.1".to_owned()),
        ip_families: vec!["IPv4".to_owned()],
    };
    proto::EnsureLoadBalancerRequest {
        session: "s-1".to_owned(),
        key: Some(proto::BalancerKey {
            cluster: "line".to_owned(),
            name: "a0d3bf7a39d0f4d3c8a2f8c9f5ce7a1b".to_owned(),
            service: "default/web".to_owned(),
        }),
        service: Some(service),
        nodes: vec![target()],
    }
}

fn route() -> proto::Route {
    let reference = proto::node_reference::Reference::ProviderId("sim:///a".to_owned());
    proto::Route {
        name: "r-1".to_owned(),
        destination: "10.244.1.0/24".to_owned(),
        target: Some(proto::NodeReference { reference: Some(reference) }),
        blackhole: true,
    }
}
