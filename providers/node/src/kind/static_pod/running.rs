//! Whether the kubelet runs the present manifest, and not the previous one.
//!
//! While a pod is replaced, the old one may still answer at its URL. Both may run side by side when the
//! kubelet was restarted in the same moment. The runtime distinguishes them: the kubelet labels each pod of a
//! file with a hash over its internal Go types, which no other program can compute. So the hashes of old pods
//! are recorded, and any other hash is that of the new manifest.

use std::collections::BTreeSet;
use std::time::Duration;

use slipway_resource::{ErrorClass, ProviderError};
use tokio::time::Instant;

use super::manifest::Manifest;
use crate::cri::{self, Container, PodSandbox, Runtime};
use crate::kind::Work;
use crate::ready::Condition;
use crate::supervise;

/// How long the kubelet may take to see a changed manifest: without notifications, it looks every twenty
/// seconds.
pub(super) const SEEN: Duration = Duration::from_secs(45);
/// The number of attempts after which an ended container counts as crashing: the kubelet waits 10, 20 and 40
/// s between them.
const CRASHES: u32 = 3;
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(200);
/// How often the reason of a wait is reported.
const TELL: Duration = Duration::from_secs(10);

/// The pods that must end before the desired manifest runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Before {
    /// The kubelet's hashes of other manifests.
    pub(super) hashes: BTreeSet<String>,
    /// Containers that were stopped.
    pub(super) containers: BTreeSet<String>,
}

impl Before {
    pub(super) fn is_empty(&self) -> bool {
        self.hashes.is_empty() && self.containers.is_empty()
    }
}

/// How far the kubelet is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Progress {
    /// Only the old pod runs.
    Untouched,
    /// The kubelet is at work: why this is not enough.
    UnderWay(String),
    /// A container ends whenever it is started: the reason.
    Crashes(String),
    /// Only the desired pod runs, in these containers.
    Runs(BTreeSet<String>),
}

/// The kubelet's hashes of the pods of a manifest that run.
pub(super) async fn hashes(
    runtime: &mut Runtime,
    manifest: &Manifest,
) -> Result<BTreeSet<String>, ProviderError> {
    let pods = runtime.pods().await?;
    let ours = cri::of_manifest(&pods, &manifest.namespace, &manifest.name);
    Ok(ours.filter(|pod| pod.is_ready()).map(|pod| pod.hash().to_owned()).collect())
}

/// Waits until a manifest runs in place of the old one, and its condition holds. The kubelet may see no
/// difference and keep the pod: it gets time to notice the change, and then the condition alone counts.
pub(super) async fn wait(
    work: &Work,
    runtime: &mut Runtime,
    manifest: &Manifest,
    before: &Before,
    condition: &Condition,
) -> Result<(), ProviderError> {
    let begun = Instant::now();
    let until = work.deadline.min(begun + condition.timeout());
    let seen_by = begun + SEEN + Duration::from_secs(manifest.grace_seconds);
    let mut reported = None::<Instant>;
    loop {
        let why = match look(runtime, manifest, before).await? {
            progress @ Progress::Runs(_) => match condition.look(&work.host().disk).await {
                // The endpoint has answered. It was this pod, if it still runs.
                Ok(()) if look(runtime, manifest, before).await? == progress => return Ok(()),
                Ok(()) => "its containers have ended again".to_owned(),
                Err(why) => why,
            },
            Progress::Untouched if Instant::now() < seen_by => {
                "the kubelet has not restarted the pod yet".to_owned()
            }
            Progress::Untouched if !condition.is_empty() && is_stopped(work).await => {
                "the kubelet does not run".to_owned()
            }
            Progress::Untouched => {
                work.tell("the kubelet makes no other pod of the changed manifest");
                return condition.wait(work).await;
            }
            Progress::UnderWay(why) => why,
            Progress::Crashes(why) => {
                let text = format!("{} does not come up: {why}", work.identity());
                return Err(ProviderError::new(ErrorClass::Permanent, text)
                    .with_hint("what the pod says in its log on the node: `slipway node logs COMPONENT`"));
            }
        };
        if reported.is_none_or(|reported| reported.elapsed() >= TELL) {
            work.tell(format!("waits until the new pod is ready: {why}"));
            reported = Some(Instant::now());
        }
        if Instant::now() + PAUSE >= until {
            let seconds = begun.elapsed().as_secs_f64().ceil();
            let text = format!("{} was not ready within {seconds} s: {why}", work.identity());
            return Err(ProviderError::new(ErrorClass::Permanent, text).with_hint(
                "what the kubelet and the pod say in their logs on the node; the step may be run again",
            ));
        }
        work.pause(PAUSE).await?;
    }
}

/// Waits for a while, in which the containers of a manifest must not end. Its URL alone does not tell: another process may answer at
/// the same port. Before, the kubelet gets time to end a pod of an interrupted attempt.
pub(super) async fn holds(
    work: &Work,
    runtime: &mut Runtime,
    manifest: &Manifest,
    before: &Before,
    time: Duration,
) -> Result<(), ProviderError> {
    let begun = Instant::now();
    let mut first = look(runtime, manifest, before).await?;
    while matches!(first, Progress::UnderWay(_)) && begun.elapsed() < SEEN {
        work.pause(PAUSE).await?;
        first = look(runtime, manifest, before).await?;
    }
    let until = Instant::now() + time;
    loop {
        let now = look(runtime, manifest, before).await?;
        if now != first || !matches!(now, Progress::Runs(_)) {
            let text = format!("{} does not come up: its containers have ended again", manifest.name);
            return Err(ProviderError::new(ErrorClass::Permanent, text)
                .with_hint("what the pod says in its log on the node: `slipway node logs COMPONENT`"));
        }
        if Instant::now() >= until {
            return Ok(());
        }
        work.pause(PAUSE).await?;
    }
}

/// Waits until the kubelet has ended the pods of a manifest that was removed from its folder. Those that it does not end are
/// removed.
pub(super) async fn ended(
    work: &Work,
    runtime: &mut Runtime,
    manifest: &Manifest,
) -> Result<(), ProviderError> {
    let begun = Instant::now();
    loop {
        let pods = runtime.pods().await?;
        let left: Vec<String> = cri::of_manifest(&pods, &manifest.namespace, &manifest.name)
            .filter(|pod| pod.is_ready())
            .map(|pod| pod.id.clone())
            .collect();
        if left.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > SEEN {
            for pod in left {
                runtime.remove_pod(&pod).await?;
            }
            return Ok(());
        }
        work.pause(PAUSE).await?;
    }
}

/// Whether there is a kubelet that does not run.
async fn is_stopped(work: &Work) -> bool {
    let kubelet = supervise::of(work.host()).state(work.host(), "kubelet").await;
    kubelet.is_ok_and(|state| state.is_some_and(|state| !state.running))
}

async fn look(
    runtime: &mut Runtime,
    manifest: &Manifest,
    before: &Before,
) -> Result<Progress, ProviderError> {
    let pods = runtime.pods().await?;
    let containers = runtime.containers().await?;
    Ok(judge(&pods, &containers, manifest, before))
}

fn judge(pods: &[PodSandbox], containers: &[Container], manifest: &Manifest, before: &Before) -> Progress {
    let ours: Vec<&PodSandbox> = cri::of_manifest(pods, &manifest.namespace, &manifest.name).collect();
    let is_old = |pod: &PodSandbox| before.hashes.contains(pod.hash());
    let runs_in = |pod: &PodSandbox| -> Vec<&Container> {
        containers.iter().filter(|container| container.pod == pod.id && container.is_running()).collect()
    };
    let wanted: Vec<&&PodSandbox> = ours.iter().filter(|pod| pod.is_ready() && !is_old(pod)).collect();
    let has_old = ours.iter().any(|pod| is_old(pod) && (pod.is_ready() || !runs_in(pod).is_empty()));
    let has_stopped = containers
        .iter()
        .any(|container| container.is_running() && before.containers.contains(&container.id));
    let (pod, has_old) = match wanted.as_slice() {
        [] if has_old => return Progress::Untouched,
        [] => return Progress::UnderWay("the kubelet has not started it yet".to_owned()),
        [pod] => (*pod, has_old || has_stopped),
        _ => return Progress::UnderWay("more than one of it runs".to_owned()),
    };
    if has_old {
        return Progress::UnderWay("the one before still runs".to_owned());
    }
    let running = runs_in(pod);
    let missing = manifest.containers.iter().find(|name| running.iter().all(|one| one.name() != *name));
    let was_stopped = |container: &Container| before.containers.contains(&container.id);
    // The attempts of a pod are counted as long as it lives: those before a restart say nothing about what came after it.
    let earlier = containers.iter().filter(|one| was_stopped(one)).map(|one| one.attempt() + 1).max();
    let crashes = |one: &Container| {
        !one.is_running() && !was_stopped(one) && one.attempt() >= CRASHES + earlier.unwrap_or_default()
    };
    match missing {
        Some(name)
            if containers.iter().any(|one| one.pod == pod.id && one.name() == *name && crashes(one)) =>
        {
            Progress::Crashes(format!("its container {name} ends whenever it is started"))
        }
        Some(name) => Progress::UnderWay(format!("its container {name} does not run")),
        None => Progress::Runs(running.iter().map(|container| container.id.clone()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(id: &str, hash: &str, is_ready: bool) -> PodSandbox {
        PodSandbox::of_file(id, "kube-system", "web-node", hash, is_ready)
    }

    #[test]
    fn a_new_pod_runs_when_the_one_before_does_not() {
        let manifest = Manifest::of(
            "kind: Pod\nmetadata: {name: web, namespace: kube-system}\nspec: {containers: [{name: a}, {name: b}]}\n",
        );
        let manifest = manifest.unwrap();
        let before = Before { hashes: BTreeSet::from(["old".to_owned()]), ..Before::default() };
        let (old, new) = (pod("1", "old", true), pod("2", "new", true));
        let containers = ["a", "b"].map(|name| Container::running(&format!("1{name}"), "1", name));
        let [a, b] = ["a", "b"].map(|name| Container::running(&format!("2{name}"), "2", name));
        let judge = |pods: &[&PodSandbox], containers: &[&Container]| {
            let pods: Vec<PodSandbox> = pods.iter().map(|pod| (*pod).clone()).collect();
            let containers: Vec<Container> = containers.iter().map(|one| (*one).clone()).collect();
            super::judge(&pods, &containers, &manifest, &before)
        };
        let [old_a, old_b] = &containers;
        assert_eq!(judge(&[&old], &[old_a, old_b]), Progress::Untouched);
        for (pods, containers) in [
            (vec![&old, &new], vec![old_a, old_b, &a, &b]),
            (vec![&new], vec![&a]),
            (vec![&new], vec![]),
            (vec![], vec![]),
        ] {
            assert!(matches!(judge(&pods, &containers), Progress::UnderWay(_)), "{pods:?} {containers:?}");
        }
        // A sandbox that has ended, with a container that has not.
        let ending = pod("1", "old", false);
        assert!(matches!(judge(&[&ending, &new], &[old_a, &a, &b]), Progress::UnderWay(_)));
        // Pods of others do not matter.
        let other = PodSandbox::of_file("3", "kube-system", "website-node", "old", true);
        let running = Progress::Runs(["2a", "2b"].map(str::to_owned).into());
        assert_eq!(judge(&[&ending, &new, &other], &[&a, &b]), running);
    }

    #[test]
    fn a_container_that_ends_again_and_again_is_not_waited_for() {
        let manifest = Manifest::of(
            "kind: Pod\nmetadata: {name: web, namespace: kube-system}\nspec: {containers: [{name: a}]}\n",
        );
        let manifest = manifest.unwrap();
        let pods = [pod("p", "new", true)];
        let judge = |attempt: u32| {
            let containers = [Container::ended("1", "p", "a", attempt)];
            super::judge(&pods, &containers, &manifest, &Before::default())
        };
        assert!(matches!(judge(0), Progress::UnderWay(_)) && matches!(judge(2), Progress::UnderWay(_)));
        assert!(matches!(judge(3), Progress::Crashes(_)));

        // One that has been restarted often, by intention, and the one after it.
        let before = Before { containers: BTreeSet::from(["1".to_owned()]), ..Before::default() };
        let judge = |attempt: Option<u32>| {
            let next = attempt.map(|attempt| Container::ended("2", "p", "a", attempt));
            let containers: Vec<Container> =
                [Container::ended("1", "p", "a", 7)].into_iter().chain(next).collect();
            super::judge(&pods, &containers, &manifest, &before)
        };
        for attempt in [None, Some(8), Some(10)] {
            assert!(matches!(judge(attempt), Progress::UnderWay(_)), "{attempt:?}");
        }
        assert!(matches!(judge(Some(11)), Progress::Crashes(_)));
    }

    #[test]
    fn containers_that_were_stopped_must_have_ended() {
        let manifest = Manifest::of(
            "kind: Pod\nmetadata: {name: web, namespace: kube-system}\nspec: {containers: [{name: a}]}\n",
        );
        let manifest = manifest.unwrap();
        let before = Before { containers: BTreeSet::from(["1".to_owned()]), ..Before::default() };
        let pods = [pod("p", "same", true)];
        let judge = |ids: &[&str]| {
            let containers: Vec<Container> = ids.iter().map(|id| Container::running(id, "p", "a")).collect();
            super::judge(&pods, &containers, &manifest, &before)
        };
        assert!(matches!(judge(&["1"]), Progress::UnderWay(_)));
        assert!(matches!(judge(&[]), Progress::UnderWay(_)));
        assert!(matches!(judge(&["2"]), Progress::Runs(_)));
    }
}
