//! Why a run cannot begin or continue.

use slipway_plan::{Confirmation, Error as PlanError};
use slipway_resource::{Address, Identity, ProviderError};
use slipway_state_store::Error as StoreError;

/// The code of a plan that was made for another state than the present one.
pub const STALE: &str = "RUN0004";

/// The code of a plan that cannot begin because another run is open.
pub const OTHER_RUN: &str = "RUN0005";

/// The code of a plan without a confirmation by name that it needs.
pub const UNCONFIRMED: &str = "RUN0008";

/// Why a run cannot begin or continue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The state store refused.
    #[error("the state of {cluster} cannot be used")]
    Store {
        /// The cluster.
        cluster: String,
        /// Why.
        #[source]
        source: Box<StoreError>,
    },
    /// The stored state is not one that Slipway can read.
    #[error("the state of {cluster} cannot be read: {what}")]
    Corrupt {
        /// The cluster.
        cluster: String,
        /// Which part.
        what: &'static str,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The state was written by a newer Slipway.
    #[error("the state of {cluster} has format {found}, this Slipway reads up to {supported}")]
    NewerFormat {
        /// The cluster.
        cluster: String,
        /// Its format.
        found: u32,
        /// Ours.
        supported: u32,
    },
    /// A provider could not carry out a request.
    #[error("provider {provider} could not {what}")]
    Provider {
        /// Its name.
        provider: String,
        /// The request.
        what: &'static str,
        /// Why.
        #[source]
        source: Box<ProviderError>,
    },
    /// No plan can be made.
    #[error(transparent)]
    Plan(Box<PlanError>),
    /// The plan was made for another state.
    #[error("the plan was made for generation {planned} of the state, which is at {current}")]
    Stale {
        /// The plan's generation.
        planned: String,
        /// The state's generation.
        current: String,
    },
    /// The plan was made for another state with the same number, as after a rebuild in an empty store.
    #[error("the plan was made for another state than the one that is generation {generation} now")]
    OtherState {
        /// The generation of both.
        generation: u64,
    },
    /// The plan was made for another cluster of the same name, as for one in another state store.
    #[error(
        "the plan was made for another cluster of the name {cluster}: its uid is {planned}, the state has {current}"
    )]
    OtherCluster {
        /// The name.
        cluster: String,
        /// The plan's uid.
        planned: String,
        /// The state's uid.
        current: String,
    },
    /// An interrupted run of another plan is open, and the plan was not made from its results.
    #[error(
        "an interrupted run of another plan ({open}) is open, and this plan was not made from its results"
    )]
    OtherRunOpen {
        /// That plan's digest, shortened.
        open: String,
    },
    /// The plan's provider is another one.
    #[error("the plan was made with provider {provider} {planned}, here is {current}")]
    OtherProvider {
        /// Its name.
        provider: String,
        /// The plan's.
        planned: String,
        /// Ours.
        current: String,
    },
    /// The state belongs to another account or region.
    #[error("the state belongs to {recorded} of provider {provider}, the session speaks with {current}")]
    OtherAccount {
        /// Its name.
        provider: String,
        /// The state's.
        recorded: String,
        /// The session's.
        current: String,
    },
    /// The plan loses data, and the confirmations by name are missing.
    #[error("the plan needs a confirmation by name of {}", names(.0))]
    Unconfirmed(Vec<Confirmation>),
    /// A secret cannot be read.
    #[error("{0}")]
    Secret(#[source] crate::SecretError),
    /// The state cannot be rebuilt while some objects cannot be read: it would not contain them.
    #[error("the state of {cluster} cannot be rebuilt: {} could not be read", count(unreadable.len()))]
    Unreadable {
        /// The cluster.
        cluster: String,
        /// The objects, and why they could not be read.
        unreadable: Vec<String>,
    },
    /// Several objects that hold what nothing can make again have one address.
    #[error(
        "the state of {cluster} cannot be rebuilt: nothing tells which objects are the right ones of {}",
        addresses(ambiguous)
    )]
    Ambiguous {
        /// The cluster.
        cluster: String,
        /// Each address with its objects.
        ambiguous: Vec<(Address, Vec<Identity>)>,
    },
    /// Nothing in the cloud carries the cluster's ownership.
    #[error(
        "nothing in the cloud carries the ownership of {cluster}; there is nothing to rebuild its state from"
    )]
    NothingOwned {
        /// The cluster.
        cluster: String,
    },
    /// A provider found none of the objects that another tool should have made.
    #[error("nothing that {cluster} asks for was found in the cloud; there is nothing to take over")]
    NothingFound {
        /// The cluster.
        cluster: String,
    },
    /// A secret of the cluster cannot be sealed or opened.
    #[error(transparent)]
    Sealed(slipway_secrets::Error),
    /// Steps of an interrupted run stay open: their provider could not say how they ended.
    #[error("what became of interrupted steps of {cluster} is not known: {}", unresolved(steps))]
    Unresolved {
        /// The cluster.
        cluster: String,
        /// The steps, with why their providers could not be asked.
        steps: Vec<crate::Unresolved>,
    },
    /// The hold on the cluster was lost while the run was under way.
    #[error("the run lost its hold on {cluster}: somebody took over")]
    Lost {
        /// The cluster.
        cluster: String,
        /// The error that showed the loss.
        #[source]
        source: Box<StoreError>,
    },
}

impl Error {
    /// A failure of the state store. A lost hold has its own variant.
    pub(crate) fn store(cluster: &str, source: StoreError) -> Self {
        let (cluster, source) = (cluster.to_owned(), Box::new(source));
        if source.is_lost() { Self::Lost { cluster, source } } else { Self::Store { cluster, source } }
    }

    /// A failure of a provider.
    pub(crate) fn provider(provider: &str, what: &'static str, source: ProviderError) -> Self {
        Self::Provider { provider: provider.to_owned(), what, source: Box::new(source) }
    }

    /// The stable code, with a page in `docs/errors/`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store { source, .. } => source.code(),
            Self::Corrupt { .. } => "RUN0001",
            Self::NewerFormat { .. } => "RUN0002",
            Self::Provider { .. } => "RUN0003",
            Self::Plan(error) => error.code(),
            Self::Stale { .. } | Self::OtherState { .. } | Self::OtherCluster { .. } => STALE,
            Self::OtherRunOpen { .. } => OTHER_RUN,
            Self::OtherProvider { .. } => "RUN0006",
            Self::OtherAccount { .. } => "RUN0007",
            Self::Unconfirmed(_) => UNCONFIRMED,
            Self::Secret(_) => "RUN0009",
            Self::Lost { .. } => "RUN0010",
            Self::Sealed(error) => error.code(),
            Self::Unreadable { .. } => "RUN0020",
            Self::Ambiguous { .. } => "RUN0030",
            Self::NothingOwned { .. } => "RUN0021",
            Self::NothingFound { .. } => "RUN0022",
            Self::Unresolved { .. } => "RUN0040",
        }
    }

    /// The hint, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Stale { planned, current } => Some(match (planned.parse::<u64>(), current.parse::<u64>()) {
                (Ok(0), Ok(current)) if current > 0 => format!(
                    "run `slipway plan` again, and without `--offline`: this plan was made before the cluster had a state, and \
                     generation {current} is applied"
                ),
                (Ok(planned), Ok(current)) if current > planned => {
                    format!(
                        "run `slipway plan` again: generation {current} was applied after this plan was made; `slipway state \
                         history` shows whether that was this plan"
                    )
                }
                _ => "check the state store and run `slipway plan` again: this state is older than the plan, or another one"
                    .to_owned(),
            }),
            Self::OtherState { .. } => Some(
                "run `slipway plan` again: the state was rebuilt or restored after this plan was made, or it is of another \
                 store"
                    .to_owned(),
            ),
            Self::OtherCluster { .. } => {
                Some("check the state store: `--state URL` names the one that the plan was made from".to_owned())
            }
            Self::OtherRunOpen { .. } => {
                Some("run `slipway plan --out` again: the new plan continues the interrupted run, as `slipway apply -f …` does".to_owned())
            }
            Self::OtherProvider { .. } => Some("run `slipway plan` again with this provider".to_owned()),
            Self::OtherAccount { .. } => {
                Some("check the provider's configuration and credentials".to_owned())
            }
            Self::Unconfirmed(missing) => {
                let flags = missing.iter().map(|confirmation| format!("--confirm {}", confirmation.name));
                Some(format!("to confirm the loss, add {}", flags.collect::<Vec<_>>().join(" ")))
            }
            Self::NewerFormat { .. } => Some("use the Slipway that wrote it, or a newer one".to_owned()),
            Self::Lost { .. } => Some(
                "nothing was begun after the takeover; run `slipway plan` to see where things stand"
                    .to_owned(),
            ),
            Self::Provider { source, .. } => source.hint.clone(),
            Self::Unreadable { unreadable, .. } => Some(format!("could not be read: {}", unreadable.join("; "))),
            Self::Ambiguous { ambiguous, .. } => {
                let listed = ambiguous.iter().map(|(address, identities)| {
                    let identities: Vec<&str> = identities.iter().map(Identity::as_str).collect();
                    format!("{address}: {}", identities.join(", "))
                });
                let listed: Vec<String> = listed.collect();
                Some(format!("find out which one holds the data, and take the tags off the others: {}", listed.join("; ")))
            }
            Self::NothingFound { .. } => Some(
                "check the account, the region and the cluster's name, which must be the one that the other tool used; if Slipway \
                 created the objects, name the store that has their state: `--state URL`, or `SLIPWAY_STATE`"
                    .to_owned(),
            ),
            Self::NothingOwned { .. } => Some(
                "check the account, the region and the cluster's name; where nothing was made yet, `slipway apply` begins"
                    .to_owned(),
            ),
            Self::Unresolved { steps, .. } => {
                let own = steps.iter().find_map(|step| step.error.hint.clone());
                let again = "run the same command again when the provider answers: until then these resources, and what \
                             depends on them, stay as they are";
                Some(own.map_or_else(|| again.to_owned(), |own| format!("{own}; then {again}")))
            }
            Self::Plan(error) => error.hint(),
            Self::Sealed(error) => error.hint(),
            _ => None,
        }
    }
}

fn addresses(ambiguous: &[(Address, Vec<Identity>)]) -> String {
    ambiguous.iter().map(|(address, _)| address.to_string()).collect::<Vec<_>>().join(", ")
}

fn names(confirmations: &[Confirmation]) -> String {
    let names = confirmations.iter().map(|confirmation| confirmation.name.as_str());
    names.collect::<Vec<_>>().join(", ")
}

fn unresolved(steps: &[crate::Unresolved]) -> String {
    let sentences =
        steps.iter().map(|step| format!("{} (provider {}: {})", step.address, step.provider, step.error));
    sentences.collect::<Vec<_>>().join("; ")
}

fn count(things: usize) -> String {
    if things == 1 { "one thing".to_owned() } else { format!("{things} things") }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        Self::Plan(Box::new(error))
    }
}
