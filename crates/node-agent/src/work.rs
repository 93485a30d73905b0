//! One piece of work on the machine: checked, and made into a task that is planned and carried out.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use slipway_bootstrap::expand::Phased;
use slipway_bootstrap::preflight::{Questions, Report};
use slipway_operations::Request;
use slipway_plan::file::Mode;
use slipway_plan::{Options, Providers};

use crate::access::NodeAccess;
use crate::boot::unit;
use crate::caller::Caller;
use crate::error::Error;
use crate::facts::below;
use crate::leave::Leaving;
use crate::machine::Machine;
use crate::phases::Selection;
use crate::plannable::{PlannableNode, Released};
use crate::preflight;
use crate::secrets::NodeSecrets;
use crate::spec::NodeSpec;

/// A piece of work on the machine.
pub struct Work {
    /// The machine.
    pub machine: Machine,
    /// The phases that are meant.
    pub selection: Selection,
    /// The secrets of the machine.
    pub secrets: NodeSecrets,
    providers: Providers,
    exists: Arc<AtomicBool>,
}

/// How a plan is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct How<'a> {
    /// Whether the plan is only shown: then nothing is written.
    pub dry_run: bool,
    /// The resources that are replaced although nothing differs.
    pub replace: &'a [String],
}

/// A plan to make, and to show or carry out.
pub struct Task {
    /// The folder of the machine's own state, as plans name it.
    pub place: String,
    /// The machine with its desired state.
    pub plannable: PlannableNode,
    /// What is planned.
    pub request: Request,
}

/// How a plan was carried out.
#[derive(Debug)]
pub struct Went {
    /// Whether nothing is left to do.
    pub is_complete: bool,
    /// Why steps of the run failed.
    pub failures: Vec<String>,
}

impl Work {
    /// Opens the machine's providers. The first existing kubeconfig of these is used for the cluster's API.
    ///
    /// # Errors
    /// When a provider cannot be opened.
    pub async fn open(
        caller: &dyn Caller,
        machine: Machine,
        selection: Selection,
        secrets: NodeSecrets,
        (files, server): (&[&str], Option<String>),
    ) -> Result<Self, Error> {
        let files: Vec<PathBuf> = files.iter().map(|path| below(&machine.root, path)).collect();
        let access = NodeAccess { files, server, exists: Arc::new(AtomicBool::new(false)) };
        let (providers, exists) = machine.providers(caller.waits(), access).await?;
        Ok(Self { machine, selection, secrets, providers, exists })
    }

    /// Runs the checks if their phase is selected. Returns their report, and the names to ignore that no check has.
    ///
    /// # Errors
    /// When the objects of earlier runs cannot be read. Findings are no error.
    pub async fn check(
        &self,
        questions: &Questions,
        spec: &NodeSpec,
        ignored: &[String],
        clock_ahead_seconds: Option<i64>,
    ) -> Result<Option<(Report, Vec<String>)>, Error> {
        if !self.selection.means("preflight") {
            return Ok(None);
        }
        let owned = self.machine.owned(&self.providers).await?;
        let mut looking = self.machine.looking(spec.configuration.node.cri_socket.as_ref(), owned);
        looking.clock_ahead_seconds = clock_ahead_seconds;
        looking.etcd = spec.configuration.cluster.etcd.external().cloned();
        let mut ignored = ignored.to_vec();
        ignored.extend(spec.configuration.node.ignore_preflight_errors.iter().cloned());
        Ok(Some(preflight::run(questions, &looking, &ignored).await))
    }

    /// The task that brings the machine to its desired state; `None` when the selected phases make nothing.
    ///
    /// # Errors
    /// When the machine cannot keep its state or its secrets.
    pub fn apply(self, spec: NodeSpec, phased: Vec<Phased>, how: How<'_>) -> Result<Option<Task>, Error> {
        let released = (Released::Passing, Leaving::AsKnown);
        self.task(spec, phased, Mode::Apply, released, how)
    }

    /// The task that removes the objects on the machine; `None` when the selected phases remove nothing.
    ///
    /// # Errors
    /// When the machine cannot keep its state or its secrets.
    pub fn remove(
        self,
        spec: NodeSpec,
        released: (Released, Leaving),
        how: How<'_>,
    ) -> Result<Option<Task>, Error> {
        self.task(spec, Vec::new(), Mode::Delete, released, how)
    }

    fn task(
        self,
        spec: NodeSpec,
        phased: Vec<Phased>,
        mode: Mode,
        (released, leaving): (Released, Leaving),
        how: How<'_>,
    ) -> Result<Option<Task>, Error> {
        if !how.dry_run {
            self.machine.keep_to_itself()?;
            self.secrets.store().map_err(|error| {
                Error::file("the folder of the machine's secrets", &self.machine.root, &error)
            })?;
        }
        let place = self.machine.place();
        let plannable = PlannableNode {
            spec,
            phased,
            selection: self.selection,
            providers: self.providers,
            backend: self.machine.backend,
            texts: Arc::new(self.secrets),
            state: self.machine.state,
            api_exists: self.exists,
            released,
            leaving,
        };
        let is_nothing = match mode {
            Mode::Delete => plannable.nothing_leaves(),
            Mode::Apply | Mode::Drift => plannable.is_nothing(),
        };
        if is_nothing {
            return Ok(None);
        }
        let options = Options { preflight: true, replace: how.replace.to_vec(), ..Options::default() };
        let request = match mode {
            Mode::Delete => Request::delete_with(options),
            Mode::Apply | Mode::Drift => Request::apply_with(options),
        };
        Ok(Some(Task { place, plannable, request }))
    }
}

/// Removes Slipway's units and records from a machine on which no objects are left. It may then join any cluster.
///
/// # Errors
/// When a file or a folder cannot be removed, or a unit cannot be stopped.
pub async fn forget(root: &Path) -> Result<(), Error> {
    unit::remove(root).await?;
    slipway_provider_node::remove_empty_folders(root)?;
    for name in ["secrets", "owned", "boot"] {
        let folder = below(root, &format!("/var/lib/slipway/{name}"));
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file("the folder", &folder, &error));
            }
            _ => {}
        }
    }
    let owner = below(root, "/var/lib/slipway/owner");
    match std::fs::remove_file(&owner) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::file("the file", &owner, &error))
        }
        _ => Ok(()),
    }
}
