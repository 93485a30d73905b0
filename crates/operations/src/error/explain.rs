//! Codes, causes and hints of errors.

use slipway_engine::{Foreign, Owner};
use slipway_limits::Exceeded;
use slipway_resource::ErrorClass;

use super::{DownloadProblem, Error};
use crate::adopting::KeyProblem;
use crate::code;
use crate::decide::Declined;
use crate::policies;

impl Error {
    /// The stable code, with a page in `docs/errors/`; `None` for problems of specs, of which each has its own.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        Some(match self {
            Self::Store(error) => error.code(),
            Self::Engine(error) => error.code(),
            Self::Plan(error) => error.code(),
            Self::SoundState(error) => error.code(),
            Self::Secrets(error) => error.code(),
            Self::Protocol(error) => error.code(),
            Self::Provider(error) => crate::diagnose::code_of(error).id,
            Self::Refused(refusal) => refusal.code(),
            Self::Import(refusal) => refusal.code(),
            Self::Version(error) => error.code(),
            Self::Expansion(error) => error.code(),
            Self::Declined(declined) => return declined.code(),
            Self::Specs(_) => return None,
            Self::Manifest { source, .. } => source.code(),
            Self::DoubledObject { .. } => slipway_provider_kubernetes::files::TWICE,
            Self::Download { .. } => "CLI0040",
            Self::File { source, .. } => Exceeded::of(source).map_or(code::FILE, Exceeded::code),
            Self::Internal { .. } => code::INTERNAL,
            Self::BadRename(_) => "CLI0008",
            Self::UnknownCluster { .. } | Self::NoRecordedSpec { .. } | Self::NoState { .. } => "CLI0009",
            Self::Protected { .. } => "CLI0010",
            Self::CannotWork(_) => "CLI0013",
            Self::UnknownPool { .. } => "CLI0016",
            Self::Interrupted { .. } => "CLI0030",
            Self::UnknownResource { .. } => "CLI0031",
            Self::StoredPlan { .. } => "CLI0034",
            Self::Unapproved { .. } => "CLI0035",
            Self::NotDamaged { .. } => "CLI0037",
            Self::NoApi { .. } | Self::NoAuthority { .. } => "CLI0041",
            Self::KnownCluster { .. } => "CLI0050",
            Self::AmbiguousObjects(_) => "CLI0051",
            Self::MissingFiles { .. } | Self::NothingToAdopt { .. } => "CLI0052",
            Self::KeyStore { .. } => "CLI0053",
            Self::NotMadeYet { .. } => "CLI0070",
            Self::NotBuilt { .. } => "CLI0082",
            Self::RollOnHosts { .. } => "CLI0092",
            Self::NoBackups { .. } => "ETCD0001",
            Self::NoSnapshot { .. } => "ETCD0004",
            Self::Unsaved { .. } => "ETCD0005",
            Self::EtcdHasMajority { .. } => "ETCD0006",
            Self::NothingToRecover { .. } => "ETCD0007",
            Self::RecoveryInterrupted { .. } => "ETCD0008",
            Self::BackupsNotKept { .. } => "ETCD0009",
            Self::EtcdEmptied { .. } => "ETCD0010",
            Self::NoMembers { .. } => "ETCD0011",
            Self::AmbiguousActor { .. } => code::ACTOR,
            Self::UnapprovedChange { .. } => "RUN0042",
            Self::WithoutEffect { .. } => "HOST0001",
            Self::InfrastructureOnly { .. } => "PLAN0030",
            Self::CannotRotate { .. } => "ROTATE0001",
            Self::RotationInterrupted { .. } => "ROTATE0002",
            Self::NoWayBack { .. } => "ROTATE0003",
            Self::RotationMoved { .. } => "ROTATE0004",
            Self::Unconfirmed(_) => slipway_engine::UNCONFIRMED,
            Self::UnknownToStore { .. } => "STATE0051",
            Self::Foreign { .. } => "STATE0054",
            Self::UnreadableSpec { source, .. } => source.code(),
            Self::UnreadableHosts { .. } => "STATE0053",
        })
    }

    /// Its causes beside the chain of sources: one sentence for each.
    #[must_use]
    pub fn causes(&self) -> Vec<String> {
        match self {
            Self::Provider(error) => vec![format!("class {}", error.class)],
            Self::Version(error) => error.causes(),
            Self::Foreign { objects, .. } => objects
                .iter()
                .map(|Foreign { address, identity, owner }| match owner {
                    Owner::Cluster(uid) => format!("{address}: {identity} belongs to the cluster {uid}"),
                    Owner::Address(tagged) => format!("{address}: {identity} has the ownership tags of {tagged}"),
                })
                .collect(),
            Self::SoundState(_) => {
                vec!["the state is whole: it has the keys that the cluster runs with".to_owned()]
            }
            Self::Protected { lifted_since: Some(generation), .. } => vec![format!(
                "generation {generation}, the last that is complete, has deletionProtection: true; the run that sets it to false did not complete"
            )],
            Self::WithoutEffect { fields: all, .. }
            | Self::InfrastructureOnly { missing: all, .. }
            | Self::StoredPlan { candidates: all, .. } => all.clone(),
            Self::EtcdEmptied { members, .. } => members.clone(),
            Self::CannotWork(findings) => findings
                .iter()
                .map(|finding| match &finding.address {
                    Some(address) => format!("{address}: {}", finding.message),
                    None => finding.message.clone(),
                })
                .collect(),
            Self::Unconfirmed(missing) => missing
                .iter()
                .flat_map(|confirmation| match confirmation.losses.as_slice() {
                    [] => vec![format!("{}: the cluster is deleted", confirmation.name)],
                    losses => {
                        losses.iter().map(|loss| format!("{}: {}", loss.address, loss.reason)).collect()
                    }
                })
                .collect(),
            Self::Unapproved { own: Some(who), .. } | Self::UnapprovedChange { own: Some(who), .. } => {
                vec![format!("{who}, who applies it, approved it")]
            }
            Self::UnknownResource { more, .. } => {
                more.iter().map(|pattern| format!("nor `{pattern}`")).collect()
            }
            Self::AmbiguousObjects(ambiguous) => ambiguous
                .iter()
                .map(|(address, identities)| {
                    let identities: Vec<&str> = identities.iter().map(|identity| identity.as_str()).collect();
                    format!("{address}: {}", identities.join(", "))
                })
                .collect(),
            Self::Download { problem: DownloadProblem::Failed(text), .. } => vec![text.clone()],
            Self::Download { problem: DownloadProblem::OtherDigest { found, pinned }, .. } => {
                vec![format!("it has the SHA-256 {found}, and the spec pins {pinned}")]
            }
            Self::File { source, .. } => vec![source.to_string()],
            Self::NoApi { .. } => vec![
                "kubeconfig and validate need the authority of a cluster and the address of its API, and its state does not \
                 have both"
                    .to_owned(),
            ],
            _ => chain(self),
        }
    }

    /// The ways out, each a command or an edit.
    #[must_use]
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Store(error) => store_hint(error).into_iter().collect(),
            Self::Engine(slipway_engine::Error::Store { source, .. }) => {
                store_hint(source).into_iter().collect()
            }
            Self::Engine(error) => error.hint().into_iter().collect(),
            Self::Version(error) => error.hints(),
            Self::Plan(error) => error.hint().into_iter().collect(),
            Self::Secrets(error) => error.hint().into_iter().collect(),
            Self::Protocol(error) => error.hint().into_iter().collect(),
            Self::Provider(error) => error.hint.iter().cloned().collect(),
            Self::Refused(refusal) => vec![refusal.hint()],
            Self::Import(refusal) => refusal.hint().into_iter().collect(),
            Self::Expansion(error) => error.hint().into_iter().map(str::to_owned).collect(),
            Self::CannotWork(findings) => {
                let mut hints: Vec<String> = Vec::new();
                for hint in findings.iter().filter_map(|finding| finding.hint.as_ref()) {
                    if !hints.contains(hint) {
                        hints.push(hint.clone());
                    }
                }
                if findings.iter().any(|finding| finding.hint.as_deref() != Some(policies::HINT)) {
                    hints.push("`--no-preflight` tries all the same".to_owned());
                }
                hints
            }
            Self::Unconfirmed(missing) => {
                let flags: Vec<String> =
                    missing.iter().map(|missing| format!("--confirm {}", missing.name)).collect();
                vec![format!("to confirm the loss, add {}", flags.join(" "))]
            }
            Self::File { source, .. } => {
                Exceeded::of(source).map(Exceeded::hint).map(|hint| hint.to_string()).into_iter().collect()
            }
            Self::Declined(Declined::Unanswered { hint }) => vec![hint.clone()],
            Self::StoredPlan { hint, .. } => hint.iter().map(|hint| (*hint).to_owned()).collect(),
            _ => self.fixed_hints(),
        }
    }

    /// The ways out that depend on nothing but names.
    fn fixed_hints(&self) -> Vec<String> {
        let one = |text: &str| vec![text.to_owned()];
        match self {
            Self::SoundState(_) => {
                one("undo the change of the key in the spec, or on the node that has another one")
            }
            Self::Manifest { addon, .. } => vec![format!("it is the manifest of the add-on {addon}")],
            Self::Download { problem, .. } => one(match problem {
                DownloadProblem::Offline => "plan once without --offline, or name a `manifest: { file: … }`",
                DownloadProblem::Failed(_) => "fetch it yourself, and name it as `manifest: { file: … }`",
                DownloadProblem::OtherDigest { .. } => {
                    "look at what changed there; if it is what you want, pin its digest"
                }
            }),
            Self::NotBuilt { .. } => one(
                "`cargo build` in this checkout builds it, beside `slipway`; with `--release` for a release build",
            ),
            Self::UnknownCluster { place, .. } => {
                vec![format!(
                    "the state is looked for in {place}: `slipway get clusters` lists its clusters, `--state URL` names \
                     another place"
                )]
            }
            Self::NoRecordedSpec { .. } => one("name the spec with `-f FILE`"),
            Self::UnreadableSpec { cluster, .. } | Self::UnreadableHosts { cluster, .. } => vec![
                "use the version of Slipway that applied it, or a newer one".to_owned(),
                format!("`slipway state show {cluster}` shows the state, and who wrote it"),
            ],
            Self::RotationInterrupted { subject, .. } => vec![
                format!("`slipway rotate {subject} -f …` goes on with the stage"),
                format!("`slipway rotate {subject} -f … --back` goes back to the stage before"),
            ],
            Self::RotationMoved { subject, .. } => {
                vec![format!("run `slipway rotate {subject} -f …` again: it goes on from the present stage")]
            }
            Self::NotMadeYet { .. } => one(
                "`slipway apply -f …` creates the cluster; `--state URL` names another place for the state",
            ),
            Self::Foreign { cluster, objects } => {
                let addresses: Vec<String> = objects.iter().map(|object| object.address.to_string()).collect();
                vec![
                    format!(
                        "`slipway state rebuild {cluster} -f … --force` makes the state from the objects that this cluster owns"
                    ),
                    format!(
                        "`slipway state rm {cluster} {}` forgets the records and leaves the objects",
                        addresses.join(" ")
                    ),
                ]
            }
            Self::UnknownToStore { cluster, .. } => vec![
                "name the store that has its state: `--state URL`, or `SLIPWAY_STATE`".to_owned(),
                format!(
                    "if its state is lost, or the cluster was deleted and its backups were kept: `slipway state rebuild \
                     {cluster} -f …` makes a state from what exists"
                ),
            ],
            Self::WithoutEffect { .. } => one("remove these fields, or do what stands behind each of them"),
            Self::UnknownPool { pools, .. } => vec![format!("its pools are {}", pools.join(", "))],
            Self::RollOnHosts { .. } => one(
                "take a host out of the spec and add another one, each with `slipway apply`; changes of settings roll by \
                 themselves in an apply",
            ),
            Self::NoSnapshot { cluster, .. } => {
                vec![format!("`slipway etcd snapshots {cluster}` lists those that it has")]
            }
            Self::EtcdHasMajority { cluster, .. } => vec![
                format!("`slipway validate {cluster}` shows which members do not run"),
                "only for a machine that is gone for ever: `lost: true` in its Host document and `slipway apply` remove its node and its member of etcd"
                    .to_owned(),
            ],
            Self::NothingToRecover { cluster, .. } => vec![
                "start a control plane that has its data, or repair the connection, and run the command again".to_owned(),
                format!(
                    "`slipway etcd recover {cluster} --from-snapshot NAME` uses a snapshot, on a control plane that can be reached"
                ),
            ],
            Self::RecoveryInterrupted { cluster, .. } => vec![
                "make these machines reachable, and run the command again".to_owned(),
                format!("`slipway etcd recover {cluster} --undo` puts the old data back"),
            ],
            Self::Unsaved { cluster, work, .. } => vec![
                format!("`slipway etcd snapshots {cluster}` shows the control planes that save snapshots, and what fails"),
                format!("`etcd[].backups.enabled: false` in the spec allows the {work} without a snapshot"),
            ],
            Self::EtcdEmptied { cluster, survives, .. } => emptied(cluster, *survives),
            Self::AmbiguousActor { .. } => one(
                "name your account or e-mail address in ASCII letters: `SLIPWAY_ACTOR=NAME`, or `actor` in the configuration file",
            ),
            Self::UnapprovedChange { .. } => one(
                "after another person has run the same command with `--approve`, run it again",
            ),
            Self::BackupsNotKept { cluster, .. } => vec![
                "to keep them, complete `slipway apply -f …` of this spec first".to_owned(),
                format!("to delete them too, run `slipway delete {cluster}`: it takes the spec that was applied last"),
            ],
            Self::NoBackups { .. } => one(
                "set `etcd.backups.enabled: true` in the spec of a cluster on hosts, and apply it; `profile: slipway` has backups \
                 by default",
            ),
            Self::NoMembers { .. } => one(
                "run `slipway apply` if its control planes are hosts of a spec; otherwise use `etcdctl defrag` on its machines",
            ),
            Self::Protected { lifted_since: Some(_), .. } => vec![
                "`slipway apply -f …` completes that run; delete the cluster after that".to_owned(),
                "a cluster that no apply can complete is deleted with `slipway delete … --unprotect`"
                    .to_owned(),
            ],
            Self::Protected { lifted_since: None, .. } => {
                one("set deletionProtection: false in its spec, apply that, and delete again")
            }
            Self::InfrastructureOnly { is_saved: true, .. } => one(
                "make the plan again for the infrastructure alone: `slipway plan -f … --infrastructure-only --out FILE`, then \
                 `slipway apply FILE`",
            ),
            Self::InfrastructureOnly { is_saved: false, .. } => {
                one("to create the infrastructure alone, add `--infrastructure-only`")
            }
            Self::Unapproved { cluster, plan, is_stored, operation, by_other, .. } => {
                let who = if *by_other { "another person" } else { "a person" };
                vec![unapproved((cluster.as_str(), plan.as_str()), who, *is_stored, *operation)]
            }
            Self::Interrupted { upgrade: Some(to), .. } => {
                vec![format!("`slipway upgrade -f … --to {to}` continues the upgrade; then try again")]
            }
            Self::Interrupted { upgrade: None, .. } => {
                one("`slipway apply -f …` takes the run up and finds out what became of it; then try again")
            }
            Self::UnknownResource { cluster, .. } => {
                vec![format!("`slipway state list {cluster}` lists what it has")]
            }
            Self::KnownCluster { .. } => one(
                "`slipway plan` shows what differs from the spec; `slipway state rebuild` mends a damaged state",
            ),
            Self::AmbiguousObjects(_) => {
                one("delete those that are left over, or take the cluster's tags off them")
            }
            Self::MissingFiles { .. } => one(
                "Slipway keeps a cluster's authorities in its state, and signs with them whatever a plan asks for; bring what is \
                 missing there for the time of the adoption. Where keys of authorities must stay elsewhere, nodes are looked after \
                 one by one: `slipway node certs generate-csr` on each, and who has the key signs",
            ),
            Self::KeyStore { source: KeyProblem::Unused, .. } => one("run the command without `--keys`"),
            Self::KeyStore { .. } => vec![
                "allow this caller to read the bucket, and set AWS_REGION if it is not in the region of the cluster".to_owned(),
                "`--keys s3://BUCKET/FOLDER` names a folder with a copy of the keys".to_owned(),
                "`--keys none` adopts the cluster without its keys".to_owned(),
            ],
            Self::NothingToAdopt { .. } => one("`slipway apply` makes a cluster of hosts that have none"),
            Self::NotDamaged { .. } => {
                one("`--force` rebuilds it all the same, and what was applied last is not known afterwards")
            }
            Self::NoApi { cluster, .. } => vec![
                format!("`slipway drift {cluster}` compares the cluster's objects with the state"),
                "clusters of the providers `hosts` and `aws` have an API that Slipway reaches; on AWS not those that were \
                 made with `--infrastructure-only`"
                    .to_owned(),
            ],
            Self::NoAuthority { .. } => {
                one("`slipway apply` makes it; for a cluster that Slipway did not make, ask who made it")
            }
            _ => Vec::new(),
        }
    }

    /// The class that a provider gave its failure, where a provider failed.
    #[must_use]
    pub fn class(&self) -> Option<&ErrorClass> {
        match self {
            Self::Provider(error) => Some(&error.class),
            _ => None,
        }
    }
}

/// The chain of sources, without texts that say the same as the error before.
fn chain(error: &Error) -> Vec<String> {
    let message = error.to_string();
    let mut causes = Vec::new();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let text = cause.to_string();
        if text != message {
            causes.push(text);
        }
        source = cause.source();
    }
    causes
}

/// The way out of a refusal of the state store.
#[must_use]
pub fn store_hint(error: &slipway_state_store::Error) -> Option<String> {
    match error {
        slipway_state_store::Error::Held { holder, .. } => Some(format!(
            "wait until it is done (`--wait 10m`); a holder that is silent for {} s is replaced",
            holder.lease.term_seconds
        )),
        slipway_state_store::Error::HeadLost { cluster, .. } => Some(format!(
            "`slipway state rebuild {cluster} -f …` rebuilds the state from what exists; `slipway state import` brings an \
             archive back"
        )),
        slipway_state_store::Error::HeadReplaced { cluster, .. } => Some(format!(
            "put the newest version of the object `{cluster}/head` back in the state store; if there is none, `slipway state \
             rebuild {cluster} -f …` rebuilds the state from what exists"
        )),
        slipway_state_store::Error::Backend(error) => error.hint(),
        _ => None,
    }
}

/// The ways out when machines have lost the data of etcd. The destructive one comes last.
fn emptied(cluster: &str, survives: bool) -> Vec<String> {
    let mut hints = Vec::new();
    if survives {
        hints.extend([
            "start the other control planes, or repair the connection, and run the command again: a majority of the members takes \
             the empty machines back"
                .to_owned(),
            format!("if they cannot be started, `slipway etcd recover {cluster}` makes a new etcd of the data of one of them"),
        ]);
    }
    hints.push(format!(
        "only if the data of etcd is given up: keep a copy of the state store, whose keys open the snapshots of etcd; then `slipway \
         delete {cluster} --confirm {cluster}` ends the cluster, and `slipway apply` begins an empty one"
    ));
    hints
}

/// How a plan of a cluster gets its approvals: the command that stores it, and those that approve and apply it.
fn unapproved((cluster, plan): (&str, &str), who: &str, is_stored: bool, operation: Option<&str>) -> String {
    let digits = plan.strip_prefix("sha256:").unwrap_or(plan);
    let place = format!("state:{cluster}/{}", digits.get(..8).unwrap_or(digits));
    let approved = format!("after {who} has run `slipway approve {place}`");
    // An approval confirms nothing.
    let applied =
        format!("{approved}, run `slipway apply {place}` with the `--yes` and `--confirm` of this command");
    if is_stored {
        return if operation.is_some() { applied } else { format!("{approved}, run this command again") };
    }
    let command = match operation {
        None => {
            return format!(
                "after {who} has run `slipway approve PLANFILE` of this file, run the command again"
            );
        }
        Some("rotate") => {
            return "`slipway rotate` stores no plan that could be approved: run it where no approval is demanded".to_owned();
        }
        Some("delete") => format!("slipway delete {cluster} --dry-run --out state:"),
        Some("roll") => "slipway roll -f … --dry-run --out state:".to_owned(),
        Some("upgrade") => "slipway upgrade -f … --dry-run --out state:".to_owned(),
        Some(_) => "slipway plan -f … --out state:".to_owned(),
    };
    format!("`{command}`, with the other options of this command, stores the plan; {applied}")
}

#[cfg(test)]
mod tests {
    use super::unapproved;

    #[test]
    fn the_hint_stores_the_plan_by_the_command_that_made_it() {
        let hint = |is_stored, operation| {
            unapproved(("prod", "sha256:86e4337d5a6b"), "another person", is_stored, operation)
        };
        for (operation, command) in [
            ("apply", "`slipway plan -f … --out state:`"),
            ("delete", "`slipway delete prod --dry-run --out state:`"),
            ("roll", "`slipway roll -f … --dry-run --out state:`"),
            ("upgrade", "`slipway upgrade -f … --dry-run --out state:`"),
        ] {
            let text = hint(false, Some(operation));
            assert!(
                text.contains(command) && text.contains("`slipway approve state:prod/86e4337d`"),
                "{text}"
            );
            assert!(
                text.contains("`slipway apply state:prod/86e4337d` with the `--yes` and `--confirm`"),
                "{text}"
            );
            assert!(!hint(true, Some(operation)).contains("--out state:"), "it is stored");
        }
        assert!(hint(true, None).ends_with("run this command again"));
        assert!(hint(false, None).contains("slipway approve PLANFILE"));
    }
}
