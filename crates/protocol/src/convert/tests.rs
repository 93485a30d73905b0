//! Everything that crosses the wire comes back as it was.

mod planning;
mod strategies;

use std::collections::BTreeMap;

use proptest::prelude::*;
use prost::Message;
use slipway_resource::provider::*;
use slipway_resource::schema::{Durations, Irreplaceable, Operation, OwnershipKind, Part, RemovedWith, Role};
use slipway_resource::*;

use super::{Malformed, schema_from_pages, schema_to_message};
use crate::generated as proto;
use crate::wire::WireValue;
use strategies::*;

/// Converts through the bytes on the wire.
fn through<T, M>(value: T) -> Result<T, Malformed>
where
    M: Message + Default + From<T>,
    T: TryFrom<M, Error = Malformed>,
{
    let message = M::from(value);
    let bytes = message.encode_to_vec();
    assert_eq!(bytes.len(), message.encoded_len());
    M::decode(bytes.as_slice()).unwrap().try_into()
}

proptest! {
    #[test]
    fn values(value in value()) {
        let bytes = WireValue::new(&value).encode_to_vec();
        let back = WireValue::decode(bytes.as_slice()).unwrap().value().unwrap();
        prop_assert_eq!(serde_json::to_string(&back).unwrap(), serde_json::to_string(&value).unwrap());
        prop_assert_eq!(WireValue::new(&back).encode_to_vec(), bytes);
    }

    #[test]
    fn errors(error in error()) {
        prop_assert_eq!(through::<_, proto::Error>(error.clone()).unwrap(), error);
    }

    #[test]
    fn schemas(schema in schema()) {
        let bytes = schema_to_message(&schema).encode_to_vec();
        let page = proto::GetSchemaResponse::decode(bytes.as_slice()).unwrap();
        prop_assert_eq!(schema_from_pages(vec![page]).unwrap(), schema);
    }

    #[test]
    fn desired_and_observed(desired in desired(), observed in observed()) {
        prop_assert_eq!(through::<_, proto::Desired>(desired.clone()).unwrap(), desired);
        prop_assert_eq!(through::<_, proto::Observed>(observed.clone()).unwrap(), observed);
    }

    #[test]
    fn actions(
        (token, uid, cluster) in (".{0,4}", ".{0,4}", ".{0,4}"),
        (address, action, timeout_ms) in (address(), action(), any::<u64>()),
        (identity, handle) in (prop::option::of(".{0,4}"), prop::option::of(".{0,4}")),
        superseded in any::<bool>(),
        (attributes, not_shown) in (value(), prop::collection::vec(path(), 0..2)),
    ) {
        let request = ApplyRequest {
            token: Token::new(token),
            ownership: Ownership { uid: ClusterUid::new(uid), cluster, address },
            action,
            timeout_ms,
        };
        prop_assert_eq!(through::<_, proto::ApplyRequest>(request.clone()).unwrap(), request.clone());
        let identity = identity.map(Identity::new);
        let applied = Applied { identity: identity.clone(), attributes, not_shown };
        prop_assert_eq!(through::<_, proto::Applied>(applied.clone()).unwrap(), applied);
        let resume = ResumeRequest { request, identity, handle, superseded };
        prop_assert_eq!(through::<_, proto::ResumeRequest>(resume.clone()).unwrap(), resume);
    }

    #[test]
    fn preflights(
        (address, action, desired) in (address(), ".{0,4}", value()),
        error in error(),
    ) {
        let item = PreflightItem { address, action, desired };
        prop_assert_eq!(through::<_, proto::PreflightItem>(item.clone()).unwrap(), item);
        let finding = PreflightFinding {
            address: error.address,
            class: error.class,
            message: error.message,
            hint: error.hint,
        };
        prop_assert_eq!(through::<_, proto::PreflightFinding>(finding.clone()).unwrap(), finding);
    }
}

#[test]
fn texts_of_secrets_go_only_where_they_are_needed() {
    let secret = Secret { text: Some(SecretText::new("hunter2")), ..Secret::new("env:A") };
    let value = Value::map([("a", Value::list([Value::from(secret)]))]);
    let has_text = |bytes: &[u8]| bytes.windows(7).any(|window| window == b"hunter2");
    let item = PlanItem {
        address: Address::new("a", "b"),
        desired: Some(value.clone()),
        observed: Some(value.clone()),
        last_applied: Some(value.clone()),
    };
    assert!(!has_text(&proto::PlanItem::from(&item).encode_to_vec()));
    let applied = Applied { attributes: value.clone(), ..Applied::default() };
    assert!(!has_text(&proto::Applied::from(applied).encode_to_vec()));
    let create = Action::Create { desired: value.clone() };
    let action = proto::apply_request::Action::from(create);
    assert!(!format!("{action:?}").contains("hunter2"));
    let request = proto::ApplyRequest { action: Some(action), ..proto::ApplyRequest::default() };
    let bytes = request.encode_to_vec();
    assert!(has_text(&bytes));
    let back = proto::ApplyRequest::decode(bytes.as_slice()).unwrap();
    let Some(proto::apply_request::Action::Create(create)) = back.action else {
        panic!("not a create");
    };
    let desired = create.desired.unwrap().value().unwrap();
    let Some([Value::Secret(secret)]) = desired.get("a").and_then(Value::as_list) else {
        panic!("not a secret");
    };
    assert_eq!(secret.text.as_ref().unwrap().expose(), "hunter2");
}

#[test]
fn what_breaks_the_contract_is_named() {
    let reference = proto::Reference { address: "nothing".into(), path: "a".into() };
    // A reference is at field 8 of a value, here inside a list at field 5.
    let inner = [&[8 << 3 | 2][..], &reference.encode_length_delimited_to_vec()].concat();
    let mut bytes = vec![5 << 3 | 2, u8::try_from(inner.len() + 2).unwrap(), 1 << 3 | 2];
    bytes.push(u8::try_from(inner.len()).unwrap());
    bytes.extend(inner);
    let error = WireValue::decode(bytes.as_slice()).unwrap().value().unwrap_err();
    assert_eq!(error.to_string(), "malformed message: reference `nothing:a` is not valid");
    let observed = proto::Observed { address: "a.b".into(), ..proto::Observed::default() };
    assert!(Observed::try_from(observed).is_err(), "silence is not absence");
    let rate_classes = BTreeMap::from([("a".to_owned(), RateClass { concurrency: 3, per_second: None })]);
    let info = Info {
        name: "n".into(),
        version: "v".into(),
        rate_classes,
        batch: 7,
        capabilities: Capabilities {
            hosts: true,
            price: true,
            nodes: true,
            node_identity: true,
            ..Capabilities::default()
        },
    };
    assert_eq!(Info::try_from(proto::GetInfoResponse::from(info.clone())), Ok(info.clone()));
    let nameless = Info { name: String::new(), ..info.clone() };
    for refused in [nameless, Info { batch: 0, ..info }] {
        Info::try_from(proto::GetInfoResponse::from(refused)).unwrap_err();
    }
}
