//! A member of an etcd cluster.

mod defragment;
mod join;
mod volume;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::provider::{Applied, PlanItem, Planned};
use slipway_resource::schema::{Operation, Part, Role};
use slipway_resource::{Attribute, Path, ProviderError, ResourceType, Type, Value};

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work, etcd_restore};
use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::error::{conflict, invalid, not_found};
use crate::etcd::maintenance::Status;
use crate::etcd::{self, Etcd, Member};
use crate::ledger::Found;

/// A member of an etcd cluster. The first member exists as soon as it answers. Every other one is added as a
/// learner, waits until etcd accepts another learner, and gets the list of members that it joins.
pub(crate) struct EtcdMember;

/// The facts about a member in the ledger.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(super) member_id: String,
    /// The members when it joined: the value of its `--initial-cluster` flag from then on.
    pub(super) initial_cluster: String,
    /// Whether the member has left etcd, or stays as the last one. Its deletion then sends no request, and
    /// could not, since its pod is removed first.
    #[serde(default)]
    pub(super) has_left: bool,
}

impl Memory {
    /// The member as the ledger has it.
    pub(super) fn member(&self, place: &Place, peer_urls: &[String]) -> Member {
        Member::known(&self.member_id, place.identity.as_str(), peer_urls)
    }
}

/// The name of the type, as the ledger has it.
const KIND: &str = "etcd_member";

/// The name of the type of its vote.
const VOTER: &str = "etcd_voter";

/// The members that were added and never started.
const NEVER_STARTED: &str = "never_started";

/// The alarms that etcd has raised.
const ALARMS: &str = "alarms";

/// The version of the program.
const VERSION: &str = "version";

/// Removes the member of a machine that does not exist any more.
const EXPEL: &str = "expel";

/// Releases the free space in the database of the member.
const DEFRAGMENT: &str = "defragment";

/// Says what a recovery of etcd needs to know.
const INSPECT: &str = "inspect";

/// Runs one stage of a recovery after the loss of the majority.
const RECOVER: &str = "recover";

/// The attributes for requests to etcd, which members and voters share.
pub(super) fn access_attributes() -> [(&'static str, Attribute); 5] {
    let path = |text: &str| Attribute::optional(Type::String).write_only().describe(text);
    [
        (
            "endpoints",
            Attribute::optional(Type::list(Type::String))
                .write_only()
                .describe("The client URLs of members that are there already."),
        ),
        ("ca_path", path("The CA that etcd is trusted by.")),
        ("cert_path", path("The client certificate with which etcd is asked.")),
        ("key_path", path("Its key.")),
        (
            "timeout_seconds",
            Attribute::optional(Type::Integer)
                .write_only()
                .describe("How long to wait for etcd, in seconds, beyond the queue; else 120."),
        ),
    ]
}

/// Connects to the cluster of these attributes: first by their endpoints, then by the member's own URLs.
pub(super) fn connect(work: &Work, wanted: Attributes<'_>) -> Result<Etcd, ProviderError> {
    Etcd::connect(&work.host().disk, wanted, endpoints(wanted))
}

/// Removes the member with this id from etcd, unless it is the last one.
pub(super) async fn leave(work: &Work, id: &str) -> Result<(), ProviderError> {
    join::leave(work, work.place.wanted(), id).await?;
    mark(work, true).await
}

/// Removes the member of an adopted node from etcd: otherwise, the other members would count its vote for
/// ever.
pub(super) async fn leave_as_found(work: &Work) -> Result<(), ProviderError> {
    let Some(asked) = etcd::asked(&work.host().disk, work.place.wanted())? else { return Ok(()) };
    let wanted = Attributes(&asked);
    let members = connect(work, wanted)?.members().await?;
    match find(&members, work.identity(), &[]) {
        Some(member) => join::leave(work, wanted, &member.id()).await,
        None => Ok(()),
    }
}

/// Remembers of a voter's member whether it has left.
pub(super) async fn mark(work: &Work, has_left: bool) -> Result<(), ProviderError> {
    work.blocking(move |work| {
        let ledger = &work.host().ledger;
        let Some(mut entry) = ledger.get(KIND, work.identity())? else { return Ok(()) };
        let Some(memory) = recall::<Memory>(&entry.memory) else { return Ok(()) };
        if memory.has_left == has_left {
            return Ok(());
        }
        entry.memory = memorise(&Memory { has_left, ..memory })?;
        ledger.put(&entry)
    })
    .await
}

/// Records a new id for this node's member and its vote: etcd was restored from a snapshot.
pub(super) fn renumber(work: &Work, name: &str, id: &str) -> Result<(), ProviderError> {
    let ledger = &work.host().ledger;
    for kind in [KIND, VOTER] {
        let Some(mut entry) = ledger.get(kind, name)? else { continue };
        let Some(memory) = recall::<Memory>(&entry.memory) else { continue };
        entry.memory = memorise(&Memory { member_id: id.to_owned(), ..memory })?;
        ledger.put(&entry)?;
    }
    Ok(())
}

/// The members of the cluster that attributes speak of.
async fn listed(disk: &Disk, wanted: Attributes<'_>) -> Result<Vec<Member>, ProviderError> {
    Etcd::connect(disk, wanted, endpoints(wanted))?.members().await
}

/// The same; if etcd does not answer while the whole cluster is deleted, this node's member as the ledger has
/// it.
pub(super) async fn listed_or_remembered(
    place: &Place,
    wanted: Attributes<'_>,
    memory: &Memory,
) -> Result<Vec<Member>, ProviderError> {
    let is_left_alone = place.host.config.leaving && place.entry.is_some() && !memory.has_left;
    match listed(&place.host.disk, wanted).await {
        Err(_) if is_left_alone => Ok(vec![memory.member(place, &wanted.texts("peer_urls"))]),
        listed => listed,
    }
}

fn endpoints(wanted: Attributes<'_>) -> Vec<String> {
    let mut endpoints = wanted.texts("endpoints");
    for own in wanted.texts("client_urls") {
        if !endpoints.contains(&own) {
            endpoints.push(own);
        }
    }
    endpoints
}

/// The member of these attributes: the one with its peer URLs, whatever its name.
pub(super) fn find<'a>(members: &'a [Member], name: &str, peer_urls: &[String]) -> Option<&'a Member> {
    members
        .iter()
        .find(|member| member.is_at(peer_urls))
        .or_else(|| members.iter().find(|member| member.name == name && peer_urls.is_empty()))
}

/// The status of a member; `None` if it does not answer.
async fn status(disk: &Disk, wanted: Attributes<'_>, member: &Member) -> Option<Status> {
    let etcd = Etcd::connect(disk, wanted, member.client_urls.clone()).ok()?;
    etcd.status().await.ok()
}

#[async_trait]
impl Kind for EtcdMember {
    fn resource_type(&self) -> ResourceType {
        let urls = |text: &str| Attribute::required(Type::set(Type::String)).describe(text);
        let mut kind = form::resource_type(
            "A member of an etcd cluster.",
            3_000,
            [
                (
                    "name",
                    Attribute::required(Type::String).immutable().describe("Its name, that of the node."),
                ),
                ("peer_urls", urls("The URLs by which other members reach it.")),
                ("client_urls", urls("The URLs by which clients reach it.").write_only()),
                (
                    "learner_first",
                    Attribute::optional(Type::Bool)
                        .write_only()
                        .describe("Whether it joins members that are there; the first one does not."),
                ),
                (
                    volume::DATA_DIR,
                    Attribute::optional(Type::String).write_only().describe(
                        "The folder with its data, where that is on a volume which outlives the machine: the member whose data is \
                         there is continued under the URLs of this machine, and an earlier member of this name whose data was \
                         lost is removed.",
                    ),
                ),
                (
                    volume::ON_VOLUMES,
                    Attribute::optional(Type::set(Type::String)).write_only().describe(
                        "The names of all members whose data is on volumes. A member with another name has its data on the disk of \
                         its machine: if it does not answer when this one joins, it is removed.",
                    ),
                ),
                ("member_id", Attribute::computed(Type::String).describe("Its id in hexadecimal digits.")),
                (
                    "initial_cluster",
                    Attribute::computed(Type::String)
                        .describe("The members with their URLs when it came, as etcd's flag has them."),
                ),
                ("is_learner", Attribute::computed(Type::Bool).describe("Whether it has no vote yet.")),
                (
                    NEVER_STARTED,
                    Attribute::computed(Type::list(Type::String)).describe(
                        "Members of its cluster that were announced and never started: the id of each, and its URLs.",
                    ),
                ),
                (
                    ALARMS,
                    Attribute::computed(Type::list(Type::String)).describe(
                        "Alarms that its cluster has raised, such as `NOSPACE of member 8e9e05c52164694d`. Unknown while the \
                         member does not answer.",
                    ),
                ),
                (
                    VERSION,
                    Attribute::computed(Type::String)
                        .describe("The version of its etcd. Unknown while the member does not answer."),
                ),
            ],
        );
        let access = access_attributes();
        kind.attributes.extend(access.map(|(name, attribute)| (name.to_owned(), attribute)));
        let description = "Removes another member, whose machine is gone: arguments name, and peer_urls if it never \
                           started.";
        let operation = |description: &str, duration_ms, read_only| Operation {
            description: description.to_owned(),
            duration_ms,
            read_only,
        };
        kind.roles.push(Role::of_all(Part::EtcdMember));
        kind.operations.insert(EXPEL.to_owned(), operation(description, 2_000, false));
        kind.operations.insert(
            DEFRAGMENT.to_owned(),
            operation(
                "Releases the free space in the database of the member. If the database has reached its quota, old revisions are \
                 removed before, and the alarm is cleared.",
                10_000,
                false,
            ),
        );
        kind.operations.insert(
            INSPECT.to_owned(),
            operation(
                "Reports the status and the data of the member, also when etcd does not run.",
                1_000,
                true,
            ),
        );
        kind.operations.insert(
            RECOVER.to_owned(),
            operation(
                "Runs one stage of a recovery after the loss of the majority: argument stage, and those of the stage.",
                60_000,
                false,
            ),
        );
        kind
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        desired.text("name").map(str::to_owned)
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        if item.observed.is_some() {
            return Ok(());
        }
        // All attributes of the first member are known before it exists.
        let wanted = Attributes(&planned.normalised);
        let is_first = planned.normalised.get("learner_first").and_then(Value::as_bool) == Some(false);
        if is_first && planned.normalised.get("peer_urls").is_some_and(Value::is_known) {
            let name = planned.normalised.get("name").and_then(Value::as_str);
            if let Some(name) = name {
                let text = join::initial(name, &wanted.texts("peer_urls"));
                planned.normalised.set(&Path::key("initial_cluster"), text.into());
            }
        }
        Ok(())
    }

    async fn look(&self, work: &Work) -> Result<Found, ProviderError> {
        let wanted = work.wanted();
        if !wanted.flag("learner_first") {
            return Ok(Found::Nothing);
        }
        let members = connect(work, wanted)?.members().await?;
        let own = wanted.texts("peer_urls");
        let found = find(&members, work.identity(), &own);
        if let Some(member) = found
            && volume::is_ours(work, wanted, member)?
        {
            return Ok(Found::Nothing);
        }
        match found {
            // A member that was added and never started is used.
            Some(member) if member.has_started() && !join::is_lost(work, wanted, member).await => {
                let text = format!(
                    "etcd has a member {} ({}) at {} already, which this node did not announce",
                    member.name,
                    member.id(),
                    own.join(", ")
                );
                Err(conflict(text).with_hint(format!(
                    "give this machine another address if that member is another machine's; only for a machine that is gone for good: `etcdctl member remove {}` takes its vote",
                    member.id()
                )))
            }
            _ => Ok(Found::Nothing),
        }
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let memory = recall::<Memory>(work.place.memory());
        let made = match memory {
            Some(memory) => join::mend(work, memory).await?,
            None if work.wanted().flag("learner_first") => join::enter(work).await?,
            None => join::first(work).await?,
        };
        let member = made.member_id.clone();
        work.blocking(move |work| super::directory::remember_member(work, &member)).await?;
        memorise(&made)
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        let wanted = work.place.wanted();
        let memory = recall::<Memory>(work.place.memory()).unwrap_or_default();
        if memory.has_left {
            return Ok(());
        }
        join::leave(work, wanted, &memory.member_id).await
    }

    async fn part(&self, work: &Work) -> Result<(), ProviderError> {
        leave_as_found(work).await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        let memory = recall::<Memory>(place.memory()).unwrap_or_default();
        let Some(asked) = etcd::asked(&place.host.disk, place.wanted())? else { return Ok(None) };
        let wanted = Attributes(&asked);
        let own = wanted.texts("peer_urls");
        let members = match listed_or_remembered(place, wanted, &memory).await {
            Ok(members) => members,
            // Its pod has gone before it.
            Err(_) if memory.has_left => return Ok(None),
            Err(error) => return Err(error),
        };
        let by_id = members.iter().find(|member| member.id() == memory.member_id);
        let Some(member) = by_id.or_else(|| find(&members, place.identity.as_str(), &own)) else {
            return Ok(None);
        };
        let status = status(&place.host.disk, wanted, member).await;
        let mut value = Value::map([("name", place.identity.as_str())]);
        let mut set = |name: &str, value_of: Value| value.set(&Path::key(name), value_of);
        let mut urls = member.peer_urls.clone();
        urls.sort();
        set("peer_urls", Value::list(urls));
        set("member_id", member.id().into());
        set("is_learner", member.is_learner.into());
        let initial = match memory.initial_cluster {
            text if text.is_empty() => Value::Null,
            text => text.into(),
        };
        set("initial_cluster", initial);
        let waiting = members.iter().filter(|member| !member.has_started());
        let waiting = waiting.map(|member| format!("{} at {}", member.id(), member.peer_urls.join(", ")));
        set(NEVER_STARTED, Value::list(waiting));
        if let Some(Status { alarms, version, .. }) = status {
            set(ALARMS, Value::list(alarms));
            set(VERSION, version.into());
        }
        Ok(Some(value))
    }

    async fn operate(&self, work: &Work, name: &str, arguments: &Value) -> Result<Applied, ProviderError> {
        let done = |answer: Value| Applied::new(work.place.identity.clone(), answer);
        match name {
            INSPECT => return etcd_restore::inspect(work).await.map(done),
            RECOVER => return etcd_restore::recover(work, arguments).await.map(done),
            DEFRAGMENT => return defragment::run(work).await.map(done),
            EXPEL => {}
            _ => return Err(invalid(format!("a member of etcd has no operation {name}"))),
        }
        let arguments = Attributes(arguments);
        let other = arguments.text("name")?;
        if other == work.identity() {
            return Err(invalid("a member leaves by being deleted"));
        }
        let urls = arguments.texts("peer_urls");
        let Some(asked) = etcd::asked(&work.host().disk, work.place.wanted())? else {
            return Err(not_found("this node has no member of etcd"));
        };
        let etcd = connect(work, Attributes(&asked))?;
        let members = etcd.members().await?;
        let found = members.iter().find(|member| member.name == other);
        let found =
            found.or_else(|| members.iter().find(|member| !member.has_started() && member.is_at(&urls)));
        if let Some(member) = found {
            join::expel(work, &etcd, member).await?;
        }
        Ok(Applied::new(work.place.identity.clone(), Value::Null))
    }
}
