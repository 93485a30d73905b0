//! Live objects as attributes.

use serde_json::Value as Json;
use slipway_resource::{Address, Identity, Observation, Observed, Value};

use crate::manifest::{self, Owned};
use crate::marks::Marks;
use crate::node;
use crate::object::{ObjectIdentity, text};
use crate::schema::{FIELDS_DIGEST, NODE};

/// The attributes of a live object, as its type has them.
pub(crate) fn attributes(address: &Address, live: &Json) -> Value {
    if address.kind() == NODE { node::attributes(live) } else { object(live, manifest::owned(live)) }
}

/// The attributes of an API object of which this is Slipway's.
pub(crate) fn object(live: &Json, owned: Owned) -> Value {
    let marks = Marks::read(live);
    Value::map([
        ("manifest", owned.manifest),
        (FIELDS_DIGEST, owned.digest.as_str().into()),
        ("uid", text(live, "/metadata/uid").into()),
        ("found", marks.found.then_some(true).into()),
        ("propagation", marks.propagation.into()),
    ])
}

/// A live object as it is answered under an address.
pub(crate) fn observed(address: &Address, live: &Json) -> Option<Observed> {
    Some(Observed {
        address: address.clone(),
        identity: identity(address, live)?,
        token: None,
        owner: None,
        observation: Observation::Present(attributes(address, live)),
    })
}

/// The identity of a live object, in the form of its type.
pub(crate) fn identity(address: &Address, live: &Json) -> Option<Identity> {
    let identity = ObjectIdentity::of(live)?;
    Some(if address.kind() == NODE { node::identity_of(&identity.key) } else { identity.to_identity() })
}

/// An answer without an object.
pub(crate) fn without(address: &Address, identity: &Identity, observation: Observation) -> Observed {
    Observed { address: address.clone(), identity: identity.clone(), token: None, owner: None, observation }
}
