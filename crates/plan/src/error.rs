//! Why no plan can be made or read.

use std::fmt::Display;

use slipway_resource::{Address, Identity, Path, ProviderError};

use crate::irreplaceable::{Loss, LossKind};

/// The code of a plan that would replace or delete key material or data which it does not name.
pub const IRREPLACEABLE: &str = "PLAN0020";

/// Why no plan can be made or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Resources refer to each other in a circle.
    #[error("resources depend on each other in a circle: {}", display_cycle(.0))]
    Cycle(Vec<Address>),
    /// A resource refers to one that is not there.
    #[error("{from} refers to {to}, which does not exist in this cluster")]
    DanglingReference {
        /// The referring resource.
        from: Address,
        /// To what.
        to: Address,
    },
    /// Two resources have one address.
    #[error("there are two resources {0}")]
    DuplicateAddress(Address),
    /// No provider has the type.
    #[error("no provider has the resource type of {0}")]
    UnknownType(Address),
    /// The attributes do not fit the schema.
    #[error("{address}: {message}")]
    Invalid {
        /// The resource.
        address: Address,
        /// All misfits, as sentences.
        message: String,
    },
    /// A resource that the cluster only uses does not exist.
    #[error("{address} must be the existing object {identity}, which was not found")]
    MissingExisting {
        /// The resource.
        address: Address,
        /// The object.
        identity: String,
    },
    /// The spec names an object of the cluster itself as an existing one.
    #[error("{address} is to be the existing object {identity}, which this cluster made as {own}")]
    OwnAsExisting {
        /// The resource.
        address: Address,
        /// The object.
        identity: String,
        /// The address that the cluster has it at.
        own: Address,
    },
    /// The plan would lose what nothing can make again.
    #[error(
        "the plan of {cluster} would lose what nothing can make again; nothing was planned: {}",
        listed(losses, "; ")
    )]
    Irreplaceable {
        /// The cluster.
        cluster: String,
        /// Every loss.
        losses: Vec<Loss>,
    },
    /// `--target` or `--replace` names nothing.
    #[error("no resource matches `{pattern}`")]
    NoSuchTarget {
        /// The pattern as given.
        pattern: String,
        /// The probable address.
        suggestion: Option<String>,
    },
    /// A replacement was asked for, and the plan leaves the resource out.
    #[error("the replacement of {address} was asked for, and no target includes it")]
    ReplacedOutside {
        /// The resource.
        address: Address,
    },
    /// Whole pools of control planes would leave, and no majority of the control planes would stay.
    #[error(
        "{} would be removed with all machines, and no majority of the cluster's {group} machines stays",
        pools.iter().map(Address::to_string).collect::<Vec<_>>().join(", ")
    )]
    ControlPlanesLeave {
        /// The role.
        group: String,
        /// The pools.
        pools: Vec<Address>,
    },
    /// Machines would leave a pool whose machines have to stay while the cluster does.
    #[error("{address}: its machines cannot be replaced or removed: {why}")]
    MachinesStay {
        /// The pool.
        address: Address,
        /// Why, as its provider says.
        why: String,
    },
    /// A provider refused.
    #[error("provider {provider} could not plan")]
    Provider {
        /// Its name.
        provider: String,
        /// Why.
        #[source]
        source: Box<ProviderError>,
    },
    /// A provider broke its contract.
    #[error("provider {provider} broke its contract: {message}")]
    Contract {
        /// Its name.
        provider: String,
        /// How.
        message: String,
    },
    /// A provider normalised a wanted value to another one.
    #[error(
        "provider {provider} broke its contract: of {address} it makes {path} {given}, where {wanted} is wanted"
    )]
    Altered {
        /// Its name.
        provider: String,
        /// The resource.
        address: Address,
        /// The attribute.
        path: Path,
        /// As it is wanted.
        wanted: String,
        /// As the provider would have it.
        given: String,
    },
    /// An object cannot be deleted before its replacement exists, and both cannot exist at the same time.
    #[error(
        "{address} must be replaced, and cannot be: it is needed by {} until its replacement exists, and {why}",
        listed(holders, ", ")
    )]
    Held {
        /// The resource.
        address: Address,
        /// The resources that refer to it and stay.
        holders: Vec<Address>,
        /// Why both cannot exist at once.
        why: String,
    },
    /// The spec says that a resource has another address now, and both addresses have an object.
    #[error(
        "`moved` says that {from} is {to} now, and both exist{}: {from} {}, {to} {}",
        at(place),
        has(from_has),
        has(to_has)
    )]
    BothExist {
        /// The address before.
        from: Address,
        /// The object there; none where only the spec has the address.
        from_has: Option<Identity>,
        /// The address now.
        to: Address,
        /// The object there; none where only the spec has the address.
        to_has: Option<Identity>,
        /// Where the spec says so.
        place: Option<String>,
    },
    /// The spec says that a resource leaves the state, and has it.
    #[error("`removed` says that {address} leaves the state, and the spec has it{}", at(place))]
    RemovedAndDesired {
        /// The resource.
        address: Address,
        /// Where the spec says so.
        place: Option<String>,
    },
    /// The spec gives an existing object to a resource, and the resource cannot have it.
    #[error("`import` cannot make {identity} the object of {address}: {why}")]
    Import {
        /// The resource.
        address: Address,
        /// The object.
        identity: Identity,
        /// The reason.
        why: String,
    },
    /// An object to delete is held by a resource whose reference the spec says to leave alone.
    #[error(
        "{address} is to be deleted, and {holder} does not let go of it: `ignoreChanges` leaves its {attribute} alone{}",
        at(place)
    )]
    IgnoredReference {
        /// The object to delete or replace.
        address: Address,
        /// The resource that refers to it.
        holder: Address,
        /// The attribute with the reference.
        attribute: Path,
        /// Where the spec says to leave it alone.
        place: Option<String>,
    },
    /// The plan that was made could not be carried out.
    #[error("the plan contradicts itself, which is a defect of Slipway or of a provider: {}", .0.join("; "))]
    Contradiction(Vec<String>),
    /// The plan cannot be written.
    #[error("the plan cannot be written")]
    Write(#[source] serde_json::Error),
    /// The file is no plan.
    #[error("{}", not_a_plan(.0))]
    NotAPlan(#[source] serde_json::Error),
    /// The file is something else.
    #[error("this is not a plan file but `{kind}`")]
    WrongKind {
        /// The kind that it claims to be.
        kind: String,
    },
    /// The plan is of another version.
    #[error("the plan file has format {found}, this Slipway reads formats up to {supported}")]
    Format {
        /// Its version.
        found: u32,
        /// Ours.
        supported: u32,
    },
    /// The steps of the plan do not do what its changes say.
    #[error("the plan file was not made by Slipway: {fault}")]
    Unsound {
        /// The fault.
        fault: String,
    },
    /// The plan was changed after it was made.
    #[error("the plan file is not as its digest says: it was damaged or edited")]
    Damaged,
}

impl Error {
    /// The stable code, with a page in `docs/errors/`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Cycle(_) => "PLAN0001",
            Self::DanglingReference { .. } => "PLAN0002",
            Self::DuplicateAddress(_) => "PLAN0003",
            Self::UnknownType(_) => "PLAN0004",
            Self::Invalid { .. } => "PLAN0005",
            Self::MissingExisting { .. } => "PLAN0006",
            Self::OwnAsExisting { .. } => "PLAN0046",
            Self::NoSuchTarget { .. } => "PLAN0007",
            Self::ReplacedOutside { .. } => "PLAN0047",
            Self::ControlPlanesLeave { .. } => "PLAN0048",
            Self::MachinesStay { .. } => "PLAN0049",
            Self::Provider { .. } => "PLAN0008",
            Self::Contract { .. } => "PLAN0009",
            Self::Write(_) => "PLAN0010",
            Self::NotAPlan(_) | Self::WrongKind { .. } => "PLAN0011",
            Self::Format { .. } => "PLAN0012",
            Self::Damaged => "PLAN0013",
            Self::Unsound { .. } => "PLAN0014",
            Self::Irreplaceable { losses, .. } if losses.iter().all(is_refused) => "PLAN0021",
            Self::Irreplaceable { .. } => IRREPLACEABLE,
            Self::Held { .. } => "PLAN0040",
            Self::Contradiction(_) => "PLAN0041",
            Self::Altered { .. } => "PLAN0042",
            Self::BothExist { .. } => "PLAN0045",
            Self::RemovedAndDesired { .. } => "PLAN0055",
            Self::Import { .. } => "PLAN0056",
            Self::IgnoredReference { .. } => "PLAN0044",
        }
    }

    /// The way out, when there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Irreplaceable { losses, .. } if losses.iter().all(is_refused) => {
                let is_unread = |loss: &Loss| matches!(loss.kind, LossKind::KeyUnread { .. });
                Some(if losses.iter().all(is_unread) {
                    "make the secret readable where `slipway` runs, or undo the change in the spec".to_owned()
                } else {
                    "undo the change in the spec".to_owned()
                })
            }
            Self::Irreplaceable { cluster, .. } => Some(format!(
                "`slipway state rebuild {cluster} -f …` finds keys and data where they are, and changes nothing in the cluster"
            )),
            Self::NoSuchTarget { suggestion: Some(suggestion), .. } => {
                Some(format!("did you mean `{suggestion}`?"))
            }
            Self::Format { .. } | Self::Damaged | Self::Unsound { .. } => {
                Some("run `slipway plan --out` again".to_owned())
            }
            Self::ReplacedOutside { address } => Some(format!("add `--target {address}`")),
            Self::ControlPlanesLeave { .. } => Some(
                "to rename a pool, name it in `moved`; to move control planes to other pools, do it for a minority of them in each \
                 plan; `slipway delete` deletes the whole cluster"
                    .to_owned(),
            ),
            Self::MachinesStay { .. } => Some(
                "take the change of this pool out of the spec, or leave the pool out with `--target`; or make another cluster with the \
                 change, move the workloads there, and delete this one with `slipway delete`"
                    .to_owned(),
            ),
            Self::Provider { source, .. } => source.hint.clone(),
            Self::Held { .. } => Some(
                "choose a value that does not clash with the one in use; or add the new object under another name beside \
                 the old one, apply, move everything over, and remove the old one. Subnets that are cut for zones have a name \
                 in the spec only when `network.subnets` lists them"
                    .to_owned(),
            ),
            Self::OwnAsExisting { identity, .. } => Some(format!(
                "remove the id {identity} from the spec: the cluster uses this object without it"
            )),
            Self::BothExist { from, .. } => Some(format!(
                "to keep both, have {from} in the spec and remove the entry of `moved`; if you remove only the entry, the plan \
                 deletes the object of {from}"
            )),
            Self::RemovedAndDesired { address, .. } => Some(format!(
                "take {address} out of the spec, or remove the entry of `removed`"
            )),
            Self::Import { .. } => Some("correct the entry of `import`, or remove it".to_owned()),
            Self::IgnoredReference { address, holder, attribute, .. } => Some(format!(
                "keep {address} as it is, or name the attributes in `ignoreChanges` that another tool manages, without the \
                 {attribute} of {holder}"
            )),
            Self::Altered { .. } => Some(
                "nothing was changed; use another version of the provider, and report this to its authors".to_owned(),
            ),
            Self::Contradiction(_) => Some(
                "nothing was changed; report it with the spec and the output of `slipway plan -v`".to_owned(),
            ),
            _ => None,
        }
    }
}

fn display_cycle(addresses: &[Address]) -> String {
    let names: Vec<String> = addresses.iter().chain(addresses.first()).map(ToString::to_string).collect();
    names.join(" → ")
}

fn at(place: &Option<String>) -> String {
    place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default()
}

fn has(object: &Option<Identity>) -> String {
    object.as_ref().map_or_else(|| "is in the spec".to_owned(), |identity| format!("is {identity}"))
}

fn is_refused(loss: &Loss) -> bool {
    matches!(loss.kind, LossKind::Refused { .. } | LossKind::KeyReplaced { .. } | LossKind::KeyUnread { .. })
}

pub(crate) fn listed(items: &[impl Display], separator: &str) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(separator)
}

/// Why a file is no plan. A plan of which the end is missing was not copied or written completely.
fn not_a_plan(error: &serde_json::Error) -> &'static str {
    match error.is_eof() {
        true => "this plan file is incomplete: its end is missing",
        false => "this is not a plan file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_without_its_end_is_incomplete() {
        let message = |text: &str| {
            let error = serde_json::from_str::<serde_json::Value>(text).unwrap_err();
            Error::NotAPlan(error).to_string()
        };
        assert_eq!(message("{\"kind\": \"a\", "), "this plan file is incomplete: its end is missing");
        assert_eq!(message("kind: Cluster"), "this is not a plan file");
    }
}
