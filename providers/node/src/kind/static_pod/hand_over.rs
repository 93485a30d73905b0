//! A pod passes from the kubelet's folder to a DaemonSet of the cluster, and back.
//!
//! In both directions, the next pod runs before the previous one ends, and they listen on the same port meanwhile. A manifest is tried
//! by the kubelet before a DaemonSet gets it, so that a setting with which the component does not start ends nothing that runs. An
//! interrupted change is repeated from its beginning.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value as Json;
use slipway_resource::{ErrorClass, ProviderError};
use tokio::time::Instant;

use super::manifest::Manifest;
use super::running::{self, Before};
use crate::api_server::ApiServer;
use crate::cri::Runtime;
use crate::disk::Access;
use crate::error::{permanent, transient};
use crate::kind::Work;
use crate::ready::Condition;
use crate::self_hosted::{REVISION, Record, Seen, daemon_set, daemon_set_name, shared};

/// How long a pod has to run without a restart until it is trusted.
const STEADY: Duration = Duration::from_secs(10);

/// How long the API has to take a change.
const ACCEPTS: Duration = Duration::from_secs(90);

/// How long pods of a deleted DaemonSet have to end.
const ENDS: Duration = Duration::from_secs(90);

const PAUSE: Duration = Duration::from_millis(500);

/// How often the reason of a wait is reported.
const TELL: Duration = Duration::from_secs(10);

/// A component on its way to a DaemonSet, or back.
pub(crate) struct HandOver<'a> {
    /// The component as it is to be.
    pub(crate) record: Record,
    /// Its manifest.
    pub(crate) text: &'a str,
    /// When it is ready.
    pub(crate) condition: &'a Condition,
}

impl HandOver<'_> {
    /// Has the DaemonSet run the pod of the manifest, in place of anything that runs now.
    ///
    /// # Errors
    /// When the pod does not come up with this manifest: what ran before goes on. When the cluster does not run the DaemonSet: the
    /// kubelet goes on with the manifest.
    pub(crate) async fn run(&self, work: &Work, runtime: &mut Runtime) -> Result<(), ProviderError> {
        let disk = &work.host().disk;
        let manifest = Manifest::needed(self.text)?;
        if self.is_done(work, runtime, &manifest).await? {
            return self.condition.wait(work).await;
        }
        let before = disk.read_text(&self.record.path)?;
        if let Err(error) = self.brought_by_file(work, runtime, &shared(self.text)?).await {
            if let Err(why) = self.undo(work, runtime, &manifest, before).await {
                work.tell(format!("the manifest that failed is not taken back: {}", why.message));
            }
            return Err(error);
        }
        // From here on, the recovery starts the component with this manifest.
        self.record.write(disk, self.text)?;
        self.apply(work, &manifest).await?;
        self.is_hosted(work, runtime, &manifest).await?;
        disk.remove(&self.record.path)?;
        running::ended(work, runtime, &manifest).await?;
        if let Err(error) = self.condition.wait(work).await {
            write(work, &self.record.path, &shared(self.text)?)?;
            return Err(error);
        }
        Ok(())
    }

    /// Has the kubelet run the pod of the manifest from its folder again, and deletes the DaemonSet.
    ///
    /// # Errors
    /// When the pod does not come up.
    pub(crate) async fn back(&self, work: &Work, runtime: &mut Runtime) -> Result<(), ProviderError> {
        let disk = &work.host().disk;
        let manifest = Manifest::needed(self.text)?;
        if let Err(error) = self.brought_by_file(work, runtime, &shared(self.text)?).await {
            let is_hosted = !seen(runtime, &manifest).await?.hosted.is_empty();
            // Without an API, as in a cluster that has lost its etcd, no component can become ready.
            if error.class == ErrorClass::Cancelled
                || is_hosted
                || self.is_applied(work, &manifest).await.is_ok()
            {
                return Err(error);
            }
            return self.back_unseen(work).await;
        }
        if let Err(error) = self.delete(work, &manifest).await {
            if error.class == ErrorClass::Cancelled {
                return Err(error);
            }
            // As in a cluster that is deleted. Until then, both pods run.
            work.tell(format!("its DaemonSet is not deleted: {}", error.message));
            return self.record.forget(disk);
        }
        self.is_not_hosted(work, runtime, &manifest).await?;
        self.brought_by_file(work, runtime, self.text).await?;
        self.record.forget(disk)
    }

    /// Gives the manifest back to the kubelet without looking at what runs, and deletes the DaemonSet if the API answers.
    ///
    /// # Errors
    /// When the manifest cannot be written, or the step was cancelled.
    pub(crate) async fn back_unseen(&self, work: &Work) -> Result<(), ProviderError> {
        work.tell("the kubelet has the manifest again; whether its pod becomes ready is not known");
        write(work, &self.record.path, self.text)?;
        self.without_daemon_set(work).await?;
        self.record.forget(&work.host().disk)
    }

    /// Deletes the DaemonSet of a pod that the kubelet runs already, if the API answers.
    ///
    /// # Errors
    /// When the step was cancelled.
    pub(crate) async fn without_daemon_set(&self, work: &Work) -> Result<(), ProviderError> {
        match self.delete(work, &Manifest::needed(self.text)?).await {
            Err(error) if error.class != ErrorClass::Cancelled => {
                work.tell(format!("its DaemonSet is not deleted: {}", error.message));
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Whether the DaemonSet runs the desired revision, and the kubelet nothing from its folder.
    async fn is_done(
        &self,
        work: &Work,
        runtime: &mut Runtime,
        manifest: &Manifest,
    ) -> Result<bool, ProviderError> {
        let disk = &work.host().disk;
        let is_recorded = Record::of(disk, &self.record.path)?.as_ref() == Some(&self.record)
            && self.record.manifest(disk)? == self.text;
        if !is_recorded || disk.status(&self.record.path)?.is_some() {
            return Ok(false);
        }
        let seen = seen(runtime, manifest).await?;
        let is_wanted = |revision: &String| *revision == self.record.revision;
        let runs = !seen.hosted.is_empty() && seen.hosted.iter().all(|hosted| is_wanted(&hosted.revision));
        // The object may have been deleted a moment ago.
        Ok(runs && self.is_applied(work, manifest).await?)
    }

    /// Has the kubelet run a manifest from its folder; waits until its pod runs well.
    async fn brought_by_file(
        &self,
        work: &Work,
        runtime: &mut Runtime,
        text: &str,
    ) -> Result<(), ProviderError> {
        let manifest = Manifest::needed(text)?;
        let there = work.host().disk.read_text(&self.record.path)?;
        let mut before = Before::default();
        if there.as_deref() != Some(text) {
            let other = there.as_deref().and_then(Manifest::of);
            if other.is_some_and(|other| other.digest != manifest.digest) {
                before.hashes = running::hashes(runtime, &manifest).await?;
            }
            write(work, &self.record.path, text)?;
        }
        running::wait(work, runtime, &manifest, &before, self.condition).await?;
        running::holds(work, runtime, &manifest, &before, STEADY).await
    }

    /// Takes a manifest that failed from the kubelet, if something else of the component runs, and puts back what was there.
    async fn undo(
        &self,
        work: &Work,
        runtime: &mut Runtime,
        manifest: &Manifest,
        before: Option<String>,
    ) -> Result<(), ProviderError> {
        if !seen(runtime, manifest).await?.hosted.is_empty() {
            work.tell("the manifest is taken back; the pod of the DaemonSet goes on");
            return work.host().disk.remove(&self.record.path).map(drop);
        }
        match before {
            Some(before) => {
                work.tell("the manifest before comes back");
                write(work, &self.record.path, &before)
            }
            // The recovery starts what was checked last.
            None => work.host().disk.remove(&self.record.path).map(drop),
        }
    }

    /// Creates the DaemonSet, or changes it.
    async fn apply(&self, work: &Work, manifest: &Manifest) -> Result<(), ProviderError> {
        work.tell("the cluster gets the DaemonSet of the pod");
        let until = Instant::now() + ACCEPTS;
        loop {
            match self.put(work, manifest).await {
                Ok(true) => return Ok(()),
                Err(error) if error.class != ErrorClass::Transient || Instant::now() >= until => {
                    return Err(error);
                }
                Ok(false) if Instant::now() >= until => {
                    return Err(transient("the DaemonSet of the pod changes again and again"));
                }
                Ok(false) | Err(_) => work.pause(PAUSE * 2).await?,
            }
        }
    }

    /// Writes the DaemonSet. Returns whether it was written: not if it changed in between.
    async fn put(&self, work: &Work, manifest: &Manifest) -> Result<bool, ProviderError> {
        let api = self.record.api.connect(&work.host().disk)?;
        let node = &self.record.node;
        let found = api.get(&format!("/api/v1/nodes/{node}")).await?;
        let uid = found.as_ref().and_then(|found| found.pointer("/metadata/uid")?.as_str());
        let uid = uid.ok_or_else(|| transient(format!("the cluster has no node {node}")))?;
        let mut object = daemon_set(self.text, (node, uid), &self.record.revision)?;
        let path = self.object_path(manifest);
        match api.get(&path).await? {
            None => api.post(&collection(manifest), &object).await.map(|_| true),
            Some(there) => {
                object["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"].clone();
                api.put(&path, &object).await
            }
        }
    }

    async fn is_applied(&self, work: &Work, manifest: &Manifest) -> Result<bool, ProviderError> {
        let api: ApiServer = self.record.api.connect(&work.host().disk)?;
        let there = api.get(&self.object_path(manifest)).await?;
        let annotations = there.as_ref().and_then(|there| there.pointer("/metadata/annotations"));
        let revision = annotations.and_then(|annotations| annotations.get(REVISION)).and_then(Json::as_str);
        Ok(revision == Some(self.record.revision.as_str()))
    }

    /// Deletes the DaemonSet; waits for an API that does not answer, for a while.
    async fn delete(&self, work: &Work, manifest: &Manifest) -> Result<(), ProviderError> {
        let until = Instant::now() + ACCEPTS;
        loop {
            let api = self.record.api.connect(&work.host().disk)?;
            match api.delete(&self.object_path(manifest)).await {
                Err(error) if error.class == ErrorClass::Transient && Instant::now() < until => {
                    work.pause(PAUSE * 2).await?;
                }
                outcome => return outcome,
            }
        }
    }

    /// Waits until the pod of the DaemonSet runs with the desired revision, without a restart for a while.
    async fn is_hosted(
        &self,
        work: &Work,
        runtime: &mut Runtime,
        manifest: &Manifest,
    ) -> Result<(), ProviderError> {
        let begun = Instant::now();
        let until = work.deadline.min(begun + self.condition.timeout());
        let mut reported = begun;
        // The containers, and since when these run.
        let mut same: Option<(BTreeSet<String>, Instant)> = None;
        loop {
            let seen = seen(runtime, manifest).await?;
            let is_new = !seen.hosted.is_empty()
                && seen.hosted.iter().all(|hosted| hosted.revision == self.record.revision);
            let containers = is_new.then(|| seen.containers());
            same = match (same.take(), containers) {
                (_, None) => None,
                (Some((before, since)), Some(now)) if before == now => Some((before, since)),
                (_, Some(now)) => Some((now, Instant::now())),
            };
            if same.as_ref().is_some_and(|(_, since)| since.elapsed() >= STEADY) {
                return Ok(());
            }
            if reported.elapsed() >= TELL {
                work.tell("waits until the pod of the DaemonSet runs");
                reported = Instant::now();
            }
            if Instant::now() + PAUSE >= until {
                let name = daemon_set_name(&manifest.name, &self.record.node);
                let text = format!(
                    "the pod of the DaemonSet {name} did not run well within {} s; the kubelet goes on with the manifest",
                    begun.elapsed().as_secs()
                );
                return Err(permanent(text).with_hint(format!(
                    "`kubectl --namespace {} describe daemonset {name}` tells why; the step may be run again",
                    manifest.namespace
                )));
            }
            work.pause(PAUSE).await?;
        }
    }

    /// Waits until no pod of the DaemonSet runs. Those that do not end are removed.
    async fn is_not_hosted(
        &self,
        work: &Work,
        runtime: &mut Runtime,
        manifest: &Manifest,
    ) -> Result<(), ProviderError> {
        let begun = Instant::now();
        loop {
            let left = seen(runtime, manifest).await?.hosted;
            if left.is_empty() {
                return Ok(());
            }
            if begun.elapsed() >= ENDS {
                for hosted in left {
                    runtime.remove_pod(&hosted.pod).await?;
                }
                return Ok(());
            }
            work.pause(PAUSE).await?;
        }
    }

    fn object_path(&self, manifest: &Manifest) -> String {
        format!("{}/{}", collection(manifest), daemon_set_name(&manifest.name, &self.record.node))
    }
}

/// The path of all DaemonSets in the namespace of a pod.
fn collection(manifest: &Manifest) -> String {
    format!("/apis/apps/v1/namespaces/{}/daemonsets", manifest.namespace)
}

async fn seen(runtime: &mut Runtime, manifest: &Manifest) -> Result<Seen, ProviderError> {
    let (pods, containers) = (runtime.pods().await?, runtime.containers().await?);
    Ok(Seen::of(&pods, &containers, manifest))
}

fn write(work: &Work, path: &str, text: &str) -> Result<(), ProviderError> {
    work.host().disk.write(path, text.as_bytes(), Access::mode(0o600))
}
