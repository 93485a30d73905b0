mod seed;

use std::fmt::Display;

use prost::Message;
use slipway_protocol::convert::{Resumed, desired_balancer, schema_from_pages, schema_to_message};
use slipway_protocol::generated as proto;
use slipway_protocol::generated::get_load_balancer_response::Answer as BalancerAnswer;
use slipway_protocol::{Answer, recorded};
use slipway_resource::provider::{
    Applied, ApplyRequest, Catalog, CatalogRequest, DiscoverRequest, Discovery, DryRun, ExpandRequest, Info,
    InstanceAnswer, InstancesRequest, LoadBalancer, LocateRequest, Located, NewRoute, Node, PlanItem,
    Planned, PreflightFinding, PreflightItem, PriceReport, ReadRequest, ResumeRequest, Rollout, Route, Scope,
    SessionRequest, Unlisted,
};
use slipway_resource::{Desired, Observed, ProviderError};

use super::{READ_BACK, Verdict};

pub(super) use seed::frames;

/// Reads the bytes of a message.
type Reader = fn(&[u8]) -> Verdict;

/// The messages by name. The first byte of an input chooses one.
const READERS: &[(&str, Reader)] = &[
    // Parts of messages.
    ("error", read_back::<proto::Error, ProviderError>),
    ("observed", read_back::<proto::Observed, Observed>),
    ("planned", read_back::<proto::Planned, Planned>),
    ("applied", read_back::<proto::Applied, Applied>),
    ("desired", read_back::<proto::Desired, Desired>),
    ("located", read_back::<proto::Located, Located>),
    ("unlisted", read_back::<proto::Unlisted, Unlisted>),
    ("finding", read_back::<proto::PreflightFinding, PreflightFinding>),
    ("rollout", read_back::<proto::Rollout, Rollout>),
    ("node", read_back::<proto::Node, Node>),
    ("instance", read_back::<proto::InstanceAnswer, InstanceAnswer>),
    ("balancer", read_back::<proto::LoadBalancer, LoadBalancer>),
    ("route", read_back::<proto::Route, Route>),
    ("rehearsal", read_back::<proto::Rehearsal, DryRun>),
    // Answers of a provider.
    ("info", answer_back::<proto::GetInfoResponse, Info>),
    ("schema", schema),
    ("session", |bytes: &[u8]| answer(bytes, content::<proto::OpenSessionResponse, Scope>)),
    ("catalog", |bytes: &[u8]| answer(bytes, content::<proto::CatalogResponse, Catalog>)),
    ("discovery", |bytes: &[u8]| answer(bytes, content::<proto::DiscoverResponse, Discovery>)),
    ("reading", |bytes: &[u8]| list::<proto::ReadResponse, _, Observed>(bytes, |answer| answer.observed)),
    ("expanded", |bytes: &[u8]| list::<proto::ExpandResponse, _, Desired>(bytes, |answer| answer.resources)),
    ("prices", answer_back::<proto::PriceResponse, PriceReport>),
    ("events", events),
    ("outcome", |bytes: &[u8]| answer(bytes, content::<proto::ResumeResponse, Resumed>)),
    ("instances", |bytes: &[u8]| {
        list::<proto::InstancesResponse, _, InstanceAnswer>(bytes, |answer| answer.answers)
    }),
    ("balanced", balanced),
    ("routes", |bytes: &[u8]| list::<proto::ListRoutesResponse, _, Route>(bytes, |answer| answer.routes)),
    // Requests of the engine, which a provider reads.
    ("request", read_back::<proto::ApplyRequest, ApplyRequest>),
    ("opening", read_back::<proto::OpenSessionRequest, SessionRequest>),
    ("choice", read_only::<proto::CatalogRequest, CatalogRequest>),
    ("expansion", read_only::<proto::ExpandRequest, ExpandRequest>),
    ("discovering", read_back::<proto::DiscoverRequest, DiscoverRequest>),
    ("item", read_back::<proto::ReadItem, ReadRequest>),
    ("search", read_back::<proto::LocateRequest, LocateRequest>),
    ("change", |bytes: &[u8]| decoded(bytes, |item: proto::PlanItem| taken(PlanItem::try_from(&item)))),
    ("preflight", read_back::<proto::PreflightItem, PreflightItem>),
    ("resumption", read_back::<proto::ResumeRequest, ResumeRequest>),
    ("queries", read_only::<proto::InstancesRequest, InstancesRequest>),
    ("balancing", |bytes: &[u8]| {
        decoded(bytes, |request: proto::EnsureLoadBalancerRequest| {
            taken(desired_balancer((request.key, request.service, request.nodes)))
        })
    }),
    ("routing", read_only::<proto::CreateRouteRequest, NewRoute>),
];

/// Reads bytes as a message.
fn decoded<M: Message + Default>(bytes: &[u8], read: impl FnOnce(M) -> Verdict) -> Verdict {
    match M::decode(bytes) {
        Ok(message) => read(message),
        Err(error) => Verdict::syntax(error),
    }
}

/// Reads bytes as an answer: its failure, or else its content.
fn answer<M: Message + Answer>(bytes: &[u8], read: impl FnOnce(M) -> Verdict) -> Verdict {
    decoded(bytes, |mut message: M| match message.take_error().map(ProviderError::try_from) {
        None => read(message),
        Some(Ok(_)) => Verdict::taken("a failure"),
        Some(Err(error)) => Verdict::content(error),
    })
}

/// The verdict on content that is read only.
fn taken<T>(read: Result<T, impl Display>) -> Verdict {
    match read {
        Ok(_) => Verdict::taken("taken"),
        Err(error) => Verdict::content(error),
    }
}

/// Reads a message as what the engine or a provider takes it for.
fn content<M, T>(message: M) -> Verdict
where
    T: TryFrom<M>,
    T::Error: Display,
{
    taken(T::try_from(message))
}

/// The same. What is taken is written, read and written again as the same bytes: a secret's text is not written, so that the
/// values may differ.
fn back<M, T>(message: M) -> Verdict
where
    M: Message + Default + From<T>,
    T: TryFrom<M>,
    T::Error: Display,
{
    match T::try_from(message) {
        Err(error) => Verdict::content(error),
        Ok(value) => {
            let written = M::from(value).encode_to_vec();
            let again = M::decode(written.as_slice()).ok().and_then(|message| T::try_from(message).ok());
            let again = again.map(|value| M::from(value).encode_to_vec());
            Verdict::lawful(again == Some(written), READ_BACK)
        }
    }
}

/// A message that is read, written and read again.
fn read_back<M, T>(bytes: &[u8]) -> Verdict
where
    M: Message + Default + From<T>,
    T: TryFrom<M>,
    T::Error: Display,
{
    decoded(bytes, back::<M, T>)
}

/// An answer that is read, written and read again.
fn answer_back<M, T>(bytes: &[u8]) -> Verdict
where
    M: Message + Answer + From<T>,
    T: TryFrom<M>,
    T::Error: Display,
{
    answer(bytes, back::<M, T>)
}

/// A message that is read only: it contains JSON, or nothing writes it.
fn read_only<M, T>(bytes: &[u8]) -> Verdict
where
    M: Message + Default,
    T: TryFrom<M>,
    T::Error: Display,
{
    decoded(bytes, content::<M, T>)
}

/// An answer with a list.
fn list<M, I, T>(bytes: &[u8], items: fn(M) -> Vec<I>) -> Verdict
where
    M: Message + Answer,
    T: TryFrom<I>,
    T::Error: Display,
{
    answer(bytes, |message: M| {
        taken(items(message).into_iter().map(T::try_from).collect::<Result<Vec<T>, T::Error>>())
    })
}

/// A schema. It is the same in one message and in a message for each type, and is read back.
fn schema(bytes: &[u8]) -> Verdict {
    let written = |pages: Vec<proto::GetSchemaResponse>| {
        schema_from_pages(pages).map(|schema| schema_to_message(&schema).encode_to_vec())
    };
    answer(bytes, |page: proto::GetSchemaResponse| {
        let first = proto::GetSchemaResponse { config: page.config.clone(), ..Default::default() };
        let rest = page
            .types
            .iter()
            .map(|kind| proto::GetSchemaResponse { types: vec![kind.clone()], ..Default::default() });
        let pages = std::iter::once(first).chain(rest).collect();
        match written(vec![page]) {
            Err(error) => Verdict::content(error),
            Ok(whole) => {
                let again = proto::GetSchemaResponse::decode(whole.as_slice()).ok();
                let again = again.and_then(|page| written(vec![page]).ok());
                let paged = written(pages).ok();
                Verdict::lawful(again.as_ref() == Some(&whole) && paged.as_ref() == Some(&whole), READ_BACK)
            }
        }
    })
}

/// Events of an action, the first one's. They are the same in one message and in a message for each event.
fn events(bytes: &[u8]) -> Verdict {
    decoded(bytes, |message: proto::ApplyEvents| {
        let token = message.events.first().map(|event| event.token.clone()).unwrap_or_default();
        let single = |event| proto::ApplyEvents { events: vec![event], error: None };
        let singles = message.events.iter().cloned().map(single).collect();
        match recorded(&token, vec![message]) {
            Err(error) => Verdict::content(error),
            Ok(read) => {
                // Not a number differs from itself, and its text does not.
                let whole = format!("{read:?}");
                let parts = recorded(&token, singles).map(|read| format!("{read:?}"));
                let mut verdict = Verdict::lawful(parts.is_ok_and(|parts| parts == whole), READ_BACK);
                verdict.words.push_str(match read.outcome {
                    None => " open",
                    Some(Ok(_)) => " done",
                    Some(Err(_)) => " failed",
                });
                verdict
            }
        }
    })
}

/// A load balancer, or that there is none.
fn balanced(bytes: &[u8]) -> Verdict {
    answer(bytes, |message: proto::GetLoadBalancerResponse| match message.answer {
        Some(BalancerAnswer::Present(balancer)) => back::<_, LoadBalancer>(balancer),
        Some(BalancerAnswer::Absent(_)) => Verdict::taken("absent"),
        None => Verdict::content("no answer"),
    })
}

pub(super) fn frame(input: &[u8]) -> Verdict {
    let Some((first, rest)) = input.split_first() else { return Verdict::syntax("nothing") };
    let number = usize::from(*first) % READERS.len();
    let Some((name, read)) = READERS.get(number) else { return Verdict::syntax("nothing") };
    let mut verdict = read(rest);
    verdict.words.push_str(name);
    verdict
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Reached;

    #[test]
    fn every_message_has_a_first_input_that_is_taken() {
        let inputs = frames().unwrap();
        for (number, (name, read)) in READERS.iter().enumerate() {
            let own = inputs.iter().filter(|input| input.first().copied().map(usize::from) == Some(number));
            let verdicts: Vec<Verdict> =
                own.filter(|input| input.len() > 1).map(|input| read(&input[1..])).collect();
            assert!(!verdicts.is_empty(), "{name}");
            for verdict in verdicts {
                assert_eq!(verdict.reached, Reached::Taken, "{name}: {}", verdict.words);
            }
        }
    }
}
