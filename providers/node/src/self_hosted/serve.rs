//! The program of the recovery: gives the manifests of self-hosted components to the kubelet while no pod of theirs runs.
//!
//! It needs the container runtime and the disk only, so that it works when every machine of the cluster lost power at once.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use slipway_resource::ProviderError;
use tokio::time::Instant;

use super::form::shared;
use super::lock::Lock;
use super::record::Record;
use super::seen::Seen;
use super::settings::Settings;
use super::watch::{Action, Watch};
use crate::cri::{Container, PodSandbox, Runtime};
use crate::disk::{Access, Disk};
use crate::error::transient;
use crate::kind::Manifest;
use crate::own_program::{OwnProgram, Version};
use crate::root::Root;

/// The time between two looks at the container runtime.
const LOOK: Duration = Duration::from_secs(2);

/// Looks after the self-hosted components of this machine by the settings in a file, until this process is ended, its program is
/// replaced, or the settings change; says what it does.
///
/// # Errors
/// When the settings cannot be read.
pub async fn serve_control_plane_recovery(
    path: &Path,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), ProviderError> {
    let version = Version::of(path);
    let settings = Settings::read(path)?;
    let program = OwnProgram::now();
    let mut recovery = Recovery {
        disk: Disk::new(Root::new(settings.root), None),
        watches: BTreeMap::new(),
        complaint: None,
        tell,
    };
    loop {
        tokio::time::sleep(LOOK).await;
        if program.is_replaced() {
            tell("the program was replaced; the new one goes on");
            return Ok(());
        }
        if Version::of(path) != version {
            tell("the settings changed; the next process goes on with them");
            return Ok(());
        }
        recovery.round().await;
    }
}

struct Recovery<'a> {
    disk: Disk,
    /// The components, by the paths of their manifests.
    watches: BTreeMap<String, Watch>,
    /// The last complaint: a repeated one is not reported again.
    complaint: Option<String>,
    tell: &'a (dyn Fn(&str) + Send + Sync),
}

impl Recovery<'_> {
    /// Looks once at all components.
    async fn round(&mut self) {
        let failed = match self.look().await {
            Ok(failed) => failed,
            Err(error) => {
                self.watches.values_mut().for_each(Watch::interrupted);
                Some(error)
            }
        };
        let complaint = failed.map(|error| error.message);
        if let Some(text) = complaint.as_ref().filter(|text| self.complaint.as_ref() != Some(*text)) {
            (self.tell)(text);
        }
        self.complaint = complaint;
    }

    /// Looks after each component. Returns the first problem of one of them, which does not keep it from the others.
    async fn look(&mut self) -> Result<Option<ProviderError>, ProviderError> {
        let (mut records, mut failed) = (Vec::new(), None);
        for record in Record::each(&self.disk)? {
            match record {
                Ok(record) => records.push(record),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        self.watches.retain(|path, _| records.iter().any(|record| record.path == *path));
        let Some(first) = records.first() else { return Ok(failed) };
        let Some(_lock) = Lock::try_take(&self.disk)? else {
            // The agent changes components, and looks after them meanwhile.
            self.watches.values_mut().for_each(Watch::interrupted);
            return Ok(failed);
        };
        let mut runtime = Runtime::of(&self.disk, first.runtime_endpoint.as_deref())
            .await
            .ok_or_else(|| transient("the container runtime does not answer"))?;
        let (pods, containers) = (runtime.pods().await?, runtime.containers().await?);
        for record in &records {
            if let Err(error) = self.look_after(record, &pods, &containers) {
                self.watches.entry(record.path.clone()).or_default().interrupted();
                failed = failed.or(Some(error));
            }
        }
        Ok(failed)
    }

    /// Gives the manifest of one component to the kubelet, or takes it away, if it is time.
    fn look_after(
        &mut self,
        record: &Record,
        pods: &[PodSandbox],
        containers: &[Container],
    ) -> Result<(), ProviderError> {
        let text = record.manifest(&self.disk)?;
        let Some(manifest) = Manifest::of(&text) else { return Ok(()) };
        let seen = Seen::of(pods, containers, &manifest);
        let has_manifest = self.disk.status(&record.path)?.is_some();
        let watch = self.watches.entry(record.path.clone()).or_default();
        match watch.look(&seen, has_manifest, Instant::now()) {
            Some(Action::Give) => self.give(record, &text, &manifest.name)?,
            Some(Action::Take) => {
                self.disk.remove(&record.path)?;
                (self.tell)(&format!("{} runs by its DaemonSet again", manifest.name));
            }
            None => {}
        }
        Ok(())
    }

    /// Gives the manifest that was checked last to the kubelet, in place of any other one.
    fn give(&self, record: &Record, text: &str, component: &str) -> Result<(), ProviderError> {
        let text = shared(text)?;
        if self.disk.read_text(&record.path)?.as_deref() == Some(text.as_str()) {
            return Ok(());
        }
        self.disk.write(&record.path, text.as_bytes(), Access::mode(0o600))?;
        (self.tell)(&format!("{component} does not run: the kubelet starts it from {}", record.path));
        Ok(())
    }
}
