//! Comparison of a provider's report with its request.
//!
//! A report that does not match the plan does not count as done: the step fails, and names the differences.

use slipway_resource::diff::diff;
use slipway_resource::provider::{Action, Applied, ApplyRequest, PlanItem};
use slipway_resource::{
    Address, ErrorClass, Identity, Path, ProviderError, ResourceType, Segment, Session, Type, Value,
};

use crate::outputs::without_unknown;
use crate::secrets;
use crate::step::{Call, Failure};

/// How many attributes a message names.
const SHOWN: usize = 5;

/// Holds the report of an action against its request. `announced` is the identity that was reported before the end.
///
/// # Errors
/// `permanent`, with the identity of the object that may exist, when
/// - a created object has no identity, or another than the one that was announced,
/// - a changed object has another identity,
/// - an attribute is unknown, or still a reference,
/// - an attribute that was asked for has another value, unless the report names it as not shown, or it is a document
///   without schema.
pub(crate) fn check(
    address: &Address,
    kind: Option<&ResourceType>,
    action: &Action,
    announced: Option<&Identity>,
    applied: &Applied,
) -> Result<(), Box<ProviderError>> {
    let existing = match action {
        Action::Create { .. } => announced,
        Action::Update { identity, .. } | Action::Tag { identity } => Some(identity),
        Action::Delete { .. } => return Ok(()),
        Action::Operation { .. } => None,
    };
    let broken = |text: String| {
        let mut error = ProviderError::new(
            ErrorClass::Permanent,
            format!("{address} is reported as done, but {text}; the step counts as failed"),
        )
        .with_address(address)
        .with_hint(
            "run `slipway plan` to see what exists; the provider has a defect that its authors must mend",
        );
        error.identity =
            existing.or(applied.identity.as_ref()).filter(|identity| !is_empty(identity)).cloned();
        Box::new(error)
    };
    match (action, existing, &applied.identity) {
        (Action::Create { .. }, _, None) => return Err(broken("without an identity".to_owned())),
        (Action::Operation { .. }, _, _) => {}
        (_, _, Some(identity)) if is_empty(identity) => {
            return Err(broken("with an empty identity".to_owned()));
        }
        (_, Some(known), Some(identity)) if known != identity => {
            return Err(broken(format!("as {identity}, which was {known} before")));
        }
        _ => {}
    }
    if let Some(path) = unknown(&applied.attributes, &Path::root()) {
        return Err(broken(format!("its attribute {path} has no value yet")));
    }
    let (Action::Create { desired } | Action::Update { desired, .. }, Some(kind)) = (action, kind) else {
        return Ok(());
    };
    let other = differences(kind, desired, applied);
    if other.is_empty() { Ok(()) } else { Err(broken(other)) }
}

/// Compares the report of a call with its request. Values that differ are compared again in the provider's
/// own form: the value of a reference was not known when the plan was made, and is not in that form.
///
/// # Errors
/// As [`check`], with the provider's name.
pub(crate) async fn held(
    provider: &str,
    kind: Option<&ResourceType>,
    call: &Call,
    announced: Option<&Identity>,
    applied: &Applied,
) -> Result<(), Failure> {
    let asked = (&*call.session, &call.request);
    kept(provider, kind, asked, announced, applied).await.map_err(Failure::Provider)
}

/// The same for a request and the session that it was sent in.
///
/// # Errors
/// As [`held`].
pub(crate) async fn kept(
    provider: &str,
    kind: Option<&ResourceType>,
    (session, request): (&dyn Session, &ApplyRequest),
    announced: Option<&Identity>,
    applied: &Applied,
) -> Result<(), Box<ProviderError>> {
    let (address, action) = (&request.ownership.address, &request.action);
    let Err(mut broken) = check(address, kind, action, announced, applied) else { return Ok(()) };
    if let Some(action) = own_form(session, request, applied).await
        && check(address, kind, &action, announced, applied).is_ok()
    {
        return Ok(());
    }
    broken.message = format!("provider {provider} broke the contract: {}", broken.message);
    Err(broken)
}

/// The action with what was asked for in the form in which its provider returns it.
async fn own_form(session: &dyn Session, request: &ApplyRequest, applied: &Applied) -> Option<Action> {
    let mut action = request.action.clone();
    let (Action::Create { desired } | Action::Update { desired, .. }) = &mut action else { return None };
    let item = PlanItem {
        address: request.ownership.address.clone(),
        desired: Some(without_texts(desired.clone())),
        observed: Some(applied.attributes.clone()),
        last_applied: None,
    };
    let planned = session.plan(vec![item]).await.ok()?.pop()?;
    *desired = without_unknown(planned.normalised);
    Some(action)
}

/// A value whose secrets have no text, as in plans.
fn without_texts(mut value: Value) -> Value {
    secrets::strip(&mut value);
    value
}

fn is_empty(identity: &Identity) -> bool {
    identity.as_str().is_empty()
}

/// The attributes that were asked for and have another value, as a sentence; empty when there are none.
fn differences(kind: &ResourceType, desired: &Value, applied: &Applied) -> String {
    let changes = diff(kind, &applied.attributes, desired, Some(desired));
    let asked = changes.iter().filter(|change| !change.after.is_null() && change.after.is_known());
    let shown = asked.filter(|change| {
        // Of a secret, at most the fingerprint is shown.
        let mut has_secret = false;
        change.after.for_each_secret(&mut |_| has_secret = true);
        let hidden = applied
            .not_shown
            .iter()
            .any(|path| change.path.starts_with(path) || path.starts_with(&change.path));
        !has_secret && !hidden && !has_own_form(kind, &change.path)
    });
    let mut texts: Vec<String> = shown
        .map(|change| {
            if change.sensitive {
                return format!("{} is not as planned", change.path);
            }
            let (is, planned) = (text(&change.before), text(&change.after));
            format!("{} is {is} where the plan has {planned}", change.path)
        })
        .collect();
    let more = texts.len().saturating_sub(SHOWN);
    texts.truncate(SHOWN);
    if more > 0 {
        texts.push(format!("{more} more attributes differ"));
    }
    texts.join(", ")
}

/// Whether only the cloud knows in which form it keeps an attribute: a document without schema, or one that says so.
fn has_own_form(kind: &ResourceType, path: &Path) -> bool {
    let Some(Segment::Key(name)) = path.segments().first() else { return false };
    let is_document = kind.attributes.get(name).is_some_and(|attribute| attribute.kind == Type::Any);
    is_document || kind.has_own_form(path)
}

/// A value as a message shows it.
fn text(value: &Value) -> String {
    const LONGEST: usize = 120;
    if value.is_null() {
        return "absent".to_owned();
    }
    let text = value.to_json().to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// The first path whose value is not known.
fn unknown(value: &Value, path: &Path) -> Option<Path> {
    match value {
        Value::Unknown | Value::Reference(_) | Value::Template(_) => Some(path.clone()),
        Value::Map(entries) => {
            entries.iter().find_map(|(key, value)| unknown(value, &path.child(key.as_str())))
        }
        Value::List(items) => {
            items.iter().enumerate().find_map(|(index, value)| unknown(value, &path.index(index)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted::{thing, things};

    fn create(size: i64) -> Action {
        Action::Create { desired: Value::map([("name", Value::from("a")), ("size", size.into())]) }
    }

    fn update(size: i64) -> Action {
        let desired = Value::map([("name", Value::from("a")), ("size", size.into())]);
        Action::Update { identity: Identity::new("t-1"), prior: Value::Null, desired }
    }

    fn applied(identity: Option<&str>, attributes: Value) -> Applied {
        Applied { identity: identity.map(Identity::new), attributes, not_shown: Vec::new() }
    }

    fn good() -> Value {
        Value::map([("name", Value::from("a")), ("size", 1_i64.into()), ("number", 7_i64.into())])
    }

    fn refusal(action: &Action, announced: Option<&str>, applied: &Applied) -> Option<String> {
        let kinds = things();
        let announced = announced.map(Identity::new);
        let checked = check(&thing("a"), kinds.types.get("thing"), action, announced.as_ref(), applied);
        checked.err().map(|error| error.message)
    }

    #[test]
    fn what_keeps_the_plan_is_done() {
        assert_eq!(refusal(&create(1), Some("t-1"), &applied(Some("t-1"), good())), None);
        assert_eq!(refusal(&update(1), None, &applied(None, good())), None);
        let delete = Action::Delete { identity: Identity::new("t-1") };
        assert_eq!(refusal(&delete, None, &Applied::default()), None);
    }

    #[test]
    fn what_does_not_keep_it_is_named() {
        let with = |name: &str, value: Value| {
            let mut attributes = good();
            attributes.set(&Path::key(name), value);
            applied(Some("t-1"), attributes)
        };
        let cases: [(Action, Option<&str>, Applied, &str); 8] = [
            (create(1), None, applied(None, good()), "without an identity"),
            (create(1), None, applied(Some(""), good()), "with an empty identity"),
            (create(1), Some("t-2"), applied(Some("t-1"), good()), "as t-1, which was t-2 before"),
            (update(1), None, applied(Some("t-2"), good()), "as t-2, which was t-1 before"),
            (create(1), None, with("size", 666_i64.into()), "size is 666 where the plan has 1"),
            (create(1), None, with("size", Value::Null), "size is absent where the plan has 1"),
            (update(2), None, with("size", 1_i64.into()), "size is 1 where the plan has 2"),
            (create(1), None, with("zone", Value::Unknown), "its attribute zone has no value yet"),
        ];
        for (action, announced, applied, expected) in cases {
            let text = refusal(&action, announced, &applied).unwrap_or_default();
            let wanted = format!("thing.a is reported as done, but {expected}; the step counts as failed");
            assert_eq!(text, wanted);
        }
        assert!(refusal(&create(1), None, &applied(Some("t-1"), Value::Null)).is_some(), "nothing is shown");
    }

    #[test]
    fn what_is_not_shown_or_never_returned_is_no_difference() {
        let mut hidden = applied(Some("t-1"), Value::map([("name", "a")]));
        hidden.not_shown = vec![Path::key("size")];
        assert_eq!(refusal(&create(1), None, &hidden), None);
        let desired = Value::map([("name", "a"), ("secret", "s")]);
        let made = applied(Some("t-1"), Value::map([("name", "a")]));
        assert_eq!(refusal(&Action::Create { desired }, None, &made), None);
    }

    #[test]
    fn an_object_that_may_exist_is_remembered() {
        let kinds = things();
        let kind = kinds.types.get("thing");
        let identity = |announced: Option<&Identity>, applied: &Applied| {
            check(&thing("a"), kind, &create(1), announced, applied).unwrap_err().identity
        };
        let announced = Identity::new("t-9");
        assert_eq!(identity(Some(&announced), &applied(None, good())), Some(announced));
        assert_eq!(identity(None, &applied(Some("t-1"), Value::Null)), Some(Identity::new("t-1")));
    }
}
