//! The implementations of the resource types: how objects are found, read, created, changed and deleted.

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
mod key_service;
mod launch_template;
mod nat;
mod object;
mod plugin;
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

pub(crate) use balance::{balancers_of_others, tags_of, target_groups_of_others, to_tags};
pub(crate) use blocker::machines;
pub(crate) use by_name::if_any;
pub(crate) use plugin::delete_interfaces;
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
    /// The identity that AWS has assigned.
    pub identity: Identity,
    /// Its attributes by the schema, without ownership tags.
    pub attributes: Value,
    /// Its owner.
    pub owner: Option<Owner>,
    /// Its condition.
    pub condition: Condition,
}

/// An object's identity and tags.
pub(crate) type Tagged = (Identity, Tags);

/// The condition of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Condition {
    /// The object can be used.
    #[default]
    Ready,
    /// The object is being created; the text names what is waited for.
    Pending(String),
    /// The object is being deleted: a plan sees it as absent, and a deletion still waits for it.
    Ending,
    /// The object will never be ready; the text is the reason.
    Failed(String),
}

/// The objects that block a deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Blockers {
    /// Objects that stay until they are deleted, as `eni-1 (interface of i-2)`.
    pub lasting: Vec<String>,
    /// Objects that are being deleted already, or that AWS itself will remove.
    pub passing: Vec<String>,
}

impl Found {
    /// An object that can be used, with the owner in its tags.
    pub fn ready(id: &str, attributes: Value, tags: &Tags) -> Self {
        Self { identity: Identity::new(id), attributes, owner: Owner::of(tags), condition: Condition::Ready }
    }

    /// The same object in another condition.
    pub fn but(mut self, condition: Condition) -> Self {
        self.condition = condition;
        self
    }
}

/// One resource type. `session` has the common parts: waiting for consistency, for readiness, for the end of
/// an object, and for blockers of a deletion.
#[async_trait]
pub(crate) trait Kind: Send + Sync {
    /// The type's name in the schema.
    fn name(&self) -> &'static str;

    /// The type's name in EC2's tags; `None` for types that are found in another way.
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

    /// One object; `None` when it does not exist. Reads that are requested together share their calls through
    /// [`Cloud::get`].
    ///
    /// # Errors
    /// When it cannot be read.
    async fn read(&self, cloud: &Cloud, identity: &Identity) -> Result<Option<Found>, ProviderError>;

    /// Sends the creating call, with the tags of [`Act::tags`] in it, and returns the new object's identity.
    /// Waits for nothing. If our object exists already under the same deterministic identity, that is a
    /// success.
    ///
    /// # Errors
    /// By class.
    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError>;

    /// Sets attributes that the creating call cannot set. Called after every create, and again after a crash:
    /// it may find all or no changes made.
    ///
    /// # Errors
    /// By class; an error that may pass is tried again.
    async fn complete(
        &self,
        _act: &Act<'_>,
        _identity: &Identity,
        _desired: &Value,
    ) -> Result<(), ProviderError> {
        Ok(())
    }

    /// Changes an object from `prior` to `desired`. Sent again after a crash: it may find all or no changes
    /// made. The default changes the tags alone.
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

    /// Sends the deleting call. An object that is gone already may be `not-found`, which counts as a success.
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

    /// The identity that a new object gets, if its desired values determine it. An object that has it already
    /// is in conflict. `None` also if a value is not known yet.
    ///
    /// # Errors
    /// When it cannot be looked up.
    async fn identity(&self, _cloud: &Cloud, _desired: &Value) -> Result<Option<Identity>, ProviderError> {
        Ok(None)
    }

    /// Whether a create that is sent twice creates one object, so that an object that is not found needs no
    /// second look.
    fn is_idempotent(&self) -> bool {
        false
    }

    /// Whether an object is only used: it was not created by Slipway, and stays when the resource is deleted.
    fn is_shared(&self, _id: &Identity) -> bool {
        false
    }

    /// Whether an object still exists for a while after AWS has answered its deletion, so that its
    /// dependencies cannot be deleted yet.
    fn lingers(&self) -> bool {
        false
    }

    /// Whether parts of an object exist although the object itself does not, such as instances that a roll
    /// has detached from their group: they are found by their tags, and are deleted with it.
    ///
    /// # Errors
    /// When the parts cannot be looked up.
    async fn remains(&self, _cloud: &Cloud, _identity: &Identity) -> Result<bool, ProviderError> {
        Ok(false)
    }

    /// The objects that block the deletion of an object.
    ///
    /// # Errors
    /// When they cannot be looked up.
    async fn blockers(&self, _cloud: &Cloud, _identity: &Identity) -> Result<Blockers, ProviderError> {
        Ok(Blockers::default())
    }

    /// The objects in a network with their tags, of any owner, for types that EC2's tags do not list; `None`
    /// if the names are enough.
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

/// The result of a call, where an object that does not exist is no error.
pub(crate) fn or_gone(result: Result<(), ProviderError>) -> Result<(), ProviderError> {
    match result {
        Err(error) if error.class == ErrorClass::NotFound => Ok(()),
        other => other,
    }
}

/// The error for a name that an object of another owner has.
pub(crate) fn taken(what: &str) -> ProviderError {
    error(ErrorClass::Conflict, format!("{what} exists already and does not belong to this cluster"))
}
