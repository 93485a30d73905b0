//! What the provider knows of each resource type: how it is found, read, made, changed and deleted.

pub(crate) mod attribute;
mod balance;
mod blocker;
mod by_name;
mod child;
mod dhcp;
mod dns;
mod events;
mod family;
mod gateway;
mod iam;
mod key_pair;
mod launch_template;
mod nat;
mod object;
mod queue;
mod range;
mod registry;
mod route;
mod route_table;
mod rule;
mod scaling;
mod security_group;
mod subnet;
mod tags;
mod volume;
mod vpc;

pub(crate) use registry::{all, of};
pub(crate) use tags::{create_tags, update_tags};

use async_trait::async_trait;
use slipway_aws_model::normalise::normalised;
use slipway_resource::provider::Applied;
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::{error, invalid, permanent};
use crate::known::Known;
use crate::look::{Look, tagged};
use crate::owner::{self, Owner, TOKEN, Tags};

/// An object that exists.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found {
    /// What AWS calls it.
    pub identity: Identity,
    /// Its attributes by the schema, without our own tags.
    pub attributes: Value,
    /// Whose it is.
    pub owner: Option<Owner>,
    /// How far it is.
    pub condition: Condition,
}

/// What AWS calls an object, and its tags.
pub(crate) type Tagged = (Identity, Tags);

/// How far an object is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Condition {
    /// It can be used.
    #[default]
    Ready,
    /// It comes about; the text says what is waited for.
    Pending(String),
    /// It goes: absent to a plan, still there to who waits for its end.
    Ending,
    /// It will never be ready; the text says why.
    Failed(String),
}

/// What stands in the way of a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Blockers {
    /// Objects that stay until somebody deletes them, as `eni-1 (interface of i-2)`.
    pub lasting: Vec<String>,
    /// Objects that are going already, or that AWS itself will remove.
    pub passing: Vec<String>,
}

impl Found {
    /// An object that can be used, with the owner that its tags name.
    pub fn ready(id: &str, attributes: Value, tags: &Tags) -> Self {
        Self { identity: Identity::new(id), attributes, owner: Owner::of(tags), condition: Condition::Ready }
    }

    /// The same object in another condition.
    pub fn but(mut self, condition: Condition) -> Self {
        self.condition = condition;
        self
    }
}

/// One resource type. What is not said here is in `session`: waiting for consistency, for readiness, for an end, and
/// for what is in the way.
#[async_trait]
pub(crate) trait Kind: Send + Sync {
    /// The type's name in the schema.
    fn name(&self) -> &'static str;

    /// The type's name in EC2's tags; `None` for what is found in another way.
    fn tagged_as(&self) -> Option<&'static str> {
        None
    }

    /// Every object of the cluster, with its owner's address.
    ///
    /// # Errors
    /// When they cannot be listed.
    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        let Some(kind) = self.tagged_as() else {
            return Err(permanent(format!("{} has no way to be listed", self.name())));
        };
        let ids: Vec<Identity> =
            look.tagged(kind).await?.iter().map(|id| Identity::new(id.as_str())).collect();
        let reads = ids.iter().map(|id| self.read(&look.cloud, id));
        let found = futures_util::future::try_join_all(reads).await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// One object; `None` when it does not exist. Reads that are asked for together share their calls through
    /// [`Cloud::get`].
    ///
    /// # Errors
    /// When it cannot be read.
    async fn read(&self, cloud: &Cloud, identity: &Identity) -> Result<Option<Found>, ProviderError>;

    /// Sends the creating call, with the tags of [`Act::tags`] in it, and returns the new object's identity. Waits for
    /// nothing. What exists already under the same deterministic identity, and is ours, is a success.
    ///
    /// # Errors
    /// By class.
    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError>;

    /// Sets what the creating call cannot. Called after every create, and again after a crash: it may find everything
    /// or nothing done.
    ///
    /// # Errors
    /// By class; what may pass is tried again.
    async fn complete(
        &self,
        _act: &Act<'_>,
        _identity: &Identity,
        _desired: &Value,
    ) -> Result<(), ProviderError> {
        Ok(())
    }

    /// Changes an object from `prior` to `desired`. Sent again after a crash: it may find everything or nothing done. Of
    /// what nothing else is said here, the tags alone change.
    ///
    /// # Errors
    /// By class.
    async fn update(
        &self,
        act: &Act<'_>,
        identity: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        if self.tagged_as().is_none() {
            return Err(invalid(format!("{} cannot be changed in place", self.name())));
        }
        update_tags(act.cloud, identity.as_str(), prior, desired).await
    }

    /// Sends the deleting call. What is gone already may be `not-found`; that counts as a success.
    ///
    /// # Errors
    /// By class; `dependency` leads to [`Kind::blockers`].
    async fn delete(&self, act: &Act<'_>, identity: &Identity) -> Result<(), ProviderError>;

    /// Writes the ownership tags onto an object.
    ///
    /// # Errors
    /// By class.
    async fn tag(&self, act: &Act<'_>, identity: &Identity) -> Result<(), ProviderError> {
        if self.tagged_as().is_none() {
            return Ok(());
        }
        let marks = owner::marks(&act.request.ownership, None);
        create_tags(act.cloud, identity.as_str(), &marks).await
    }

    /// The object that an action's create has made, found by its token or its deterministic identity.
    ///
    /// # Errors
    /// When it cannot be looked for.
    async fn made(&self, act: &Act<'_>, _desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let Some(kind) = self.tagged_as() else { return Ok(None) };
        let token = act.request.token.as_str();
        let found = tagged(act.cloud, (TOKEN, token)).await?;
        Ok(found.get(kind).and_then(|ids| ids.first()).map(|id| Identity::new(id.as_str())))
    }

    /// The identity that a new object gets, where its desired values determine it: whoever has it already is in the way.
    /// `None` also where a value is not known yet.
    ///
    /// # Errors
    /// When it cannot be looked up.
    async fn identity(&self, _cloud: &Cloud, _desired: &Value) -> Result<Option<Identity>, ProviderError> {
        Ok(None)
    }

    /// Whether a create that is sent twice makes one object, so that what is not found needs no second look.
    fn is_idempotent(&self) -> bool {
        false
    }

    /// Whether an object is only used: somebody else has made it, and it stays when the resource goes.
    fn is_shared(&self, _id: &Identity) -> bool {
        false
    }

    /// Whether an object is still there for a while when AWS has answered its deletion, so that what it stands on cannot
    /// go yet.
    fn lingers(&self) -> bool {
        false
    }

    /// Whether something of an object is still there although the object itself is not, as instances that a roll has taken
    /// out of their group: they are found by their tags, and go with it.
    ///
    /// # Errors
    /// When it cannot be looked for.
    async fn remains(&self, _cloud: &Cloud, _identity: &Identity) -> Result<bool, ProviderError> {
        Ok(false)
    }

    /// What stands in the way of deleting an object.
    ///
    /// # Errors
    /// When it cannot be looked for.
    async fn blockers(&self, _cloud: &Cloud, _identity: &Identity) -> Result<Blockers, ProviderError> {
        Ok(Blockers::default())
    }

    /// The objects in a network with their tags, whoever made them, for types that EC2's tags do not list; `None` where
    /// names tell enough.
    ///
    /// # Errors
    /// When they cannot be listed.
    async fn in_network(&self, _cloud: &Cloud, _vpc: &str) -> Result<Option<Vec<Tagged>>, ProviderError> {
        Ok(None)
    }

    /// Runs a gate.
    ///
    /// # Errors
    /// By class.
    async fn operate(
        &self,
        _act: &Act<'_>,
        _identity: &Identity,
        name: &str,
        _arguments: &Value,
    ) -> Result<Applied, ProviderError> {
        Err(invalid(format!("{} has no operation {name}", self.name())))
    }
}

/// Reads one object, its attributes in the form in which plans compare them.
///
/// # Errors
/// When it cannot be read.
pub(crate) async fn read(
    kind: &dyn Kind,
    cloud: &Cloud,
    identity: &Identity,
) -> Result<Option<Found>, ProviderError> {
    let found = kind.read(cloud, identity).await?.map(|found| in_form(kind, found));
    if let Some(found) = found.as_ref().filter(|found| found.condition != Condition::Ending) {
        cloud.shared::<Known>().seen(kind.name(), found);
    }
    Ok(found)
}

/// An object with its attributes in the form in which plans compare them.
pub(crate) fn in_form(kind: &dyn Kind, mut found: Found) -> Found {
    found.attributes = normalised(kind.name(), &found.attributes);
    found
}

/// A result in which an object that does not exist is nothing to complain of.
pub(crate) fn or_gone(result: Result<(), ProviderError>) -> Result<(), ProviderError> {
    match result {
        Err(error) if error.class == ErrorClass::NotFound => Ok(()),
        other => other,
    }
}

/// A name that somebody else's object has.
pub(crate) fn taken(what: &str) -> ProviderError {
    error(ErrorClass::Conflict, format!("{what} exists already and does not belong to this cluster"))
}
