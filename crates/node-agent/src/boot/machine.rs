//! Attempts, one after the other, until the machine is a node.

use std::path::Path;
use std::time::Duration;

use slipway_bootstrap::boot::Bootstrap;
use slipway_bootstrap::preflight::{Purpose, Questions};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Stop;
use super::attempt::{self, Prepared};
use super::claim::{self, Seen};
use super::mirrors::Mirrors;
use super::report::{Phase, Report};
use super::{detours, identity, programs, reference, unit, volume};
use crate::caller::Caller;
use crate::code;
use crate::error::Error;
use crate::facts::init_system;
use crate::identity::Identifier;
use crate::machine::Machine;
use crate::phases::Selection;
use crate::preflight;
use crate::spec::{Boot, NodeSpec};
use crate::work::{How, Work};

/// How long it is until something that is waited for is looked at again.
const AGAIN: Duration = Duration::from_secs(1);
/// How long it is at most until the next attempt after a failure.
const LONGEST: Duration = Duration::from_secs(30);
/// Checks that say nothing about a machine of a cloud: its size is the choice of the spec.
const LEFT_TO_THE_SPEC: [&str; 2] = ["NumCPU", "Mem"];

/// Kubeconfigs of the machine by which its plan reaches the API: of a control plane, and of a worker.
const ADMINISTRATORS: &[&str] = &["/etc/kubernetes/super-admin.conf", "/etc/kubernetes/admin.conf"];
const KUBELET: &[&str] = &["/etc/kubernetes/kubelet.conf"];

/// Makes the machine a node. Ends when it is one, when nothing can help, or at a signal.
pub async fn run(caller: &dyn Caller, boot: &Boot, console: &Path) -> Result<(), Error> {
    let notice = |text: &str| caller.notice(text);
    let mut report = Report::new(&notice, console, Path::new(super::report::STATUS));
    report.document.clone_from(&boot.digest);
    let bootstrap = attempt::bootstrap(boot).inspect_err(|error| {
        report.say(Phase::Refused, &format!("this machine does not become a node: {error}"));
    })?;
    report.names = (bootstrap.cluster_name().to_owned(), bootstrap.pool().to_owned());
    let mut signals = Signals::new()?;
    caller.leave_signals();
    let mut pause = AGAIN;
    let mut seen = Seen::default();
    loop {
        let stop = match once(caller, &bootstrap, boot, (&mut report, &mut seen)).await {
            Ok(()) => return Ok(()),
            Err(stop) => stop,
        };
        match stop {
            Stop::Waits(what) => {
                pause = AGAIN;
                report.say(Phase::Waiting, &format!("this machine {what}"));
            }
            Stop::Failed(error) => {
                let text = format!("an attempt to make this machine a node failed: {error}");
                report.say(Phase::Retrying, &text);
                caller.report(error);
                pause = (pause * 2).min(LONGEST);
            }
            Stop::Refused(error) => {
                let text = format!("this machine does not become a node: {error}");
                report.say(Phase::Refused, &text);
                return Err(error);
            }
        }
        if signals.within(pause).await {
            return Err(Error::new(code::BOOT, "the boot was stopped by a signal")
                .hint("the same command continues it"));
        }
    }
}

/// One attempt.
async fn once(
    caller: &dyn Caller,
    bootstrap: &Bootstrap,
    boot: &Boot,
    (report, seen): (&mut Report<'_>, &mut Seen),
) -> Result<(), Stop> {
    let machine = Machine::open(caller, Path::new("/")).await?;
    let before = machine.spec()?;
    if before.as_ref().is_some_and(|before| before.boot.is_none()) {
        let error = Error::new(code::OTHER_ROLE, "another command made this machine a node already");
        return Err(Stop::Refused(error.hint("`slipway node reset` takes it out of its cluster")));
    }
    let mirrors = Mirrors::new(caller, bootstrap.region());
    let given;
    let document = match bootstrap {
        Bootstrap::Document(document) => document.as_ref(),
        Bootstrap::Reference(found) => {
            given = reference::document(found, boot, &machine, &mirrors).await?;
            &given
        }
    };
    let without_effect = document.without_effect();
    if report.without_effect != without_effect {
        without_effect.iter().for_each(|remark| caller.message(remark));
        report.without_effect = without_effect;
    }
    attempt::has_address(&machine)?;
    let pause = attempt::pause_image(document);
    programs::install(document, &machine.root, &pause, &mirrors).await?;
    volume::settle(document, &machine, boot.provider_id.as_deref()).await?;
    // Sockets and programs may have come.
    let machine = Machine::open(caller, Path::new("/")).await?;
    let prepared = attempt::prepare(caller, &machine, document, boot, (before.as_ref(), Some(seen))).await?;
    let node = prepared.spec.configuration.node.name.clone();
    report.node.clone_from(&node);
    let cluster = document.cluster_name();
    report.say(Phase::Applying, &format!("this machine becomes the node {node} of {cluster}"));
    let root = machine.root.clone();
    carry_out(caller, machine, prepared, before.as_ref()).await?;
    let has_systemd = init_system(&root) == "systemd";
    if !document.is_control_plane() {
        identity::forget(&root);
    } else if has_systemd && Identifier::find(document.provider()).is_some() {
        let command = [unit::own_program()?, "node".to_owned(), "identity".to_owned()];
        unit::IDENTITY.install(&root, &command).await?;
    }
    if has_systemd && document.settings_name().is_some() {
        let command = [unit::own_program()?, "node".to_owned(), "settings".to_owned()];
        unit::SETTINGS.install(&root, &command).await?;
    }
    report.say(Phase::Done, &format!("this machine is the node {node} of {cluster}"));
    Ok(())
}

/// Carries the plan of a machine out that is a node already. Returns why steps of it failed.
pub(super) async fn settle(
    caller: &dyn Caller,
    machine: Machine,
    prepared: Prepared,
) -> Result<Option<String>, Error> {
    let Prepared { spec, phased, secrets, .. } = prepared;
    let work = Work::open(caller, machine, Selection::default(), secrets, access(&spec)).await?;
    let Some(task) = work.apply(spec, phased, How::default())? else { return Ok(None) };
    let went = caller.carry_out(task).await?;
    if went.is_complete {
        return Ok(None);
    }
    Ok(Some(if went.failures.is_empty() {
        "its run did not end".to_owned()
    } else {
        went.failures.join("; ")
    }))
}

/// Carries the machine's plan out. The machine that begins the cluster renews its record meanwhile, and ends when another
/// machine has taken it over: two clusters behind one endpoint are worse than a machine that has to be replaced.
async fn carry_out(
    caller: &dyn Caller,
    machine: Machine,
    mut prepared: Prepared,
    before: Option<&NodeSpec>,
) -> Result<(), Stop> {
    let root = machine.root.clone();
    if prepared.continues {
        claim::remember_continued(&root)?;
    }
    let joining = prepared.joining.take();
    let Some(claim) = prepared.founding.take() else {
        apply(caller, machine, prepared, before).await?;
        return match (joining, volume::cluster(&root)) {
            (Some(claim), Some(cluster)) => claim.remember_etcd(&cluster, false).await,
            _ => Ok(()),
        };
    };
    tokio::select! {
        result = apply(caller, machine, prepared, before) => result?,
        () = claim.until_lost() => return Err(claim::step_down(&root)),
    }
    if let Some(cluster) = volume::cluster(&root) {
        claim.remember_etcd(&cluster, true).await?;
    }
    if !claim.has_begun(true).await? {
        return Err(claim::step_down(&root));
    }
    Ok(claim::remember_begun(&root)?)
}

async fn apply(
    caller: &dyn Caller,
    machine: Machine,
    prepared: Prepared,
    before: Option<&NodeSpec>,
) -> Result<(), Stop> {
    let Prepared { spec, phased, secrets, addresses, .. } = prepared;
    let (root, own) = (machine.root.clone(), machine.detected.address);
    let work = Work::open(caller, machine, Selection::default(), secrets, access(&spec)).await?;
    if before.is_none() {
        let questions = Questions::of(&spec.configuration, spec.role);
        let ignored = LEFT_TO_THE_SPEC.map(str::to_owned);
        if let Some((report, unknown)) = work.check(&questions, &spec, &ignored, None).await? {
            let warnings = preflight::unknown(&unknown).into_iter().chain(preflight::warnings(&report));
            warnings.for_each(|warning| caller.message(&warning));
            preflight::obstacles(&report)?;
        }
    }
    let Some(task) = work.apply(spec, phased, How::default())? else { return Ok(()) };
    // Not before: a detour listens at the port of etcd, which is checked above.
    let went = detours::during(addresses.as_ref(), (&root, own), caller.carry_out(task)).await?;
    if went.is_complete {
        return Ok(());
    }
    Err(Error::new(code::BOOT, "steps of the machine's plan failed; the messages above name them").into())
}

/// How the plan of a machine reaches the API: the kubeconfigs, and the URL of the API server on a control plane.
fn access(spec: &NodeSpec) -> (&'static [&'static str], Option<String>) {
    match spec.role {
        Purpose::JoinWorker => (KUBELET, None),
        _ => (ADMINISTRATORS, Some(spec.configuration.local_endpoint().url())),
    }
}

/// The signals that end the boot between two attempts. A run that is under way ends its steps first.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(super) fn new() -> Result<Self, Error> {
        let of = |kind| signal(kind).map_err(|error| Error::internal("signals cannot be received", &error));
        Ok(Self { terminate: of(SignalKind::terminate())?, interrupt: of(SignalKind::interrupt())? })
    }

    /// Whether a signal came, now or within a while.
    pub(super) async fn within(&mut self, pause: Duration) -> bool {
        tokio::select! {
            biased;
            _ = self.terminate.recv() => true,
            _ = self.interrupt.recv() => true,
            () = tokio::time::sleep(pause) => false,
        }
    }
}
