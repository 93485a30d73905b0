//! Values that equal those in the question are not sent again, and are restored in the answer.

use super::*;
use crate::convert::{planned_from_message, planned_to_message};
use crate::generated::SameAs;

fn item() -> impl Strategy<Value = PlanItem> {
    let values = (prop::option::of(value()), prop::option::of(value()), prop::option::of(value()));
    (address(), values, 0..3_u8).prop_map(|(address, (desired, observed, other), same)| {
        let last_applied = match same {
            0 => other,
            1 => desired.clone(),
            _ => observed.clone(),
        };
        PlanItem { address, desired, observed, last_applied }
    })
}

fn over_the_wire<M: Message + Default>(message: &M) -> M {
    M::decode(message.encode_to_vec().as_slice()).unwrap()
}

proptest! {
    #[test]
    fn plan_items(item in item()) {
        let message = over_the_wire(&proto::PlanItem::from(&item));
        if message.last_applied_same_as() != SameAs::Unspecified {
            prop_assert_eq!(&message.last_applied, &None);
        }
        prop_assert_eq!(PlanItem::try_from(&message).unwrap(), item);
    }

    #[test]
    fn planned_changes(planned in planned(), item in item(), same in 0..3_u8) {
        let normalised = match same {
            0 => None,
            1 => item.desired.clone(),
            _ => item.observed.clone(),
        };
        let planned = Planned { normalised: normalised.unwrap_or(planned.normalised), ..planned };
        let message = planned_to_message(planned.clone(), &over_the_wire(&proto::PlanItem::from(&item)));
        let back = planned_from_message(over_the_wire(&message), item);
        prop_assert_eq!(back.unwrap(), planned.clone());
        // A provider need not see that they are the same.
        prop_assert_eq!(through::<_, proto::Planned>(planned.clone()).unwrap(), planned);
    }
}

fn simple(desired: Value) -> PlanItem {
    let observed = Some(Value::map([("a", "x"), ("id", "1")]));
    PlanItem { address: Address::new("a", "b"), desired: Some(desired), observed, last_applied: None }
}

#[test]
fn the_same_value_is_sent_once() {
    let item = PlanItem { last_applied: Some(Value::map([("a", "x")])), ..simple(Value::map([("a", "x")])) };
    let message = proto::PlanItem::from(&item);
    assert_eq!(message.last_applied_same_as(), SameAs::Desired);
    assert_eq!(message.last_applied, None);
    let planned = Planned { normalised: item.observed.clone().unwrap(), ..Planned::default() };
    let answer = planned_to_message(planned, &message);
    assert_eq!(answer.normalised_same_as(), SameAs::Observed);
    assert_eq!(answer.normalised, None);
    // Zero has two forms, which are equal and not the same.
    let item = PlanItem { last_applied: Some(Value::Float(-0.0)), ..simple(Value::Float(0.0)) };
    assert_eq!(proto::PlanItem::from(&item).last_applied_same_as(), SameAs::Unspecified);
}

#[test]
fn the_same_as_nothing_is_refused() {
    let mut item = proto::PlanItem::from(&simple(Value::Null));
    item.desired = None;
    item.set_last_applied_same_as(SameAs::Desired);
    assert!(PlanItem::try_from(&item).is_err());
    item.last_applied_same_as = 9;
    assert!(PlanItem::try_from(&item).is_err(), "a guess would be a wrong value");
    let mut answer = proto::Planned::default();
    answer.set_normalised_same_as(SameAs::Observed);
    let unobserved = PlanItem { observed: None, ..simple(Value::Null) };
    assert!(planned_from_message(answer.clone(), unobserved).is_err());
    assert!(planned_from_message(answer, simple(Value::Null)).is_ok());
}

#[test]
fn the_text_of_a_secret_does_not_come_back() {
    let secret = Secret { text: Some(SecretText::new("hunter2")), ..Secret::new("env:A") };
    let item = simple(Value::list([Value::from(secret)]));
    let planned = Planned { normalised: item.desired.clone().unwrap(), ..Planned::default() };
    let answer = planned_to_message(planned, &proto::PlanItem::from(&item));
    assert_eq!(answer.normalised_same_as(), SameAs::Desired);
    let back = planned_from_message(answer, item).unwrap().normalised;
    let Some([Value::Secret(secret)]) = back.as_list() else {
        panic!("not a secret");
    };
    assert_eq!(secret.text, None);
}
