//! A laboratory: an emulator of AWS whose instances are real machines.
//!
//! Whenever the emulator says that an instance runs, a [machine](crate::machine) runs with the instance's address and
//! user data. The machine reaches the instance metadata and the emulator's API. All of it is in the namespaces of one
//! [network](crate::network) and ends with the value.
//!
//! Differences from AWS: networks are not isolated from each other, security groups do not filter, and the
//! network has no access to the outside.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result};

use crate::machine::MachineOptions;
use crate::moto::MENDED;
use crate::wait::until;
use crate::{Moto, Network};

mod balancers;
mod call;
mod controller;
mod dns;
mod emulator;
mod inside;
mod instance;
mod listener;
mod metadata;
mod routes;
mod shared;
mod user_data;
mod volumes;

pub use call::values;
pub use instance::LabInstance;

use emulator::Emulator;
use inside::Inside;
use listener::Listener;
use shared::Shared;

/// The parts of the emulator that make it a laboratory.
const MODULE: &str = concat!(
    include_str!("lab/emulator/instances.py"),
    include_str!("lab/emulator/groups.py"),
    include_str!("lab/emulator/volumes.py"),
    include_str!("lab/emulator/balancing.py"),
    include_str!("lab/emulator/window.py"),
);

/// A running laboratory. It ends with its value, and with the process that made it.
pub struct Lab {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    balancers: Option<JoinHandle<Result<()>>>,
    /// The servers for the machines. Dropped before the network that they are in.
    _listeners: Vec<Listener>,
    moto: Moto,
}

impl Lab {
    /// Starts one. Its machines have these options besides what their instances say.
    ///
    /// # Errors
    /// When this is not root, or something cannot be installed or started.
    pub fn start(options: MachineOptions) -> Result<Self> {
        let network = Network::new()?;
        let folder = network.folder().display().to_string();
        let module = format!("{MENDED}\n{MODULE}");
        let moto = Moto::start_mended_with(&module, &[("LABORATORY_FOLDER", &folder)])?;
        let inside = Inside::of(&network)?;
        routes::prepare(&network)?;
        let shared = Arc::new(Shared::new(network, inside, Emulator::new(moto.port()), options));
        let listeners = vec![
            metadata::serve(&shared, metadata::ADDRESS)?,
            metadata::serve(&shared, metadata::ADDRESS_V6)?,
            Listener::forward(&shared.inside, routes::API, moto.port())?,
        ];
        let controlled = shared.clone();
        let controller = thread::Builder::new().name("controller".to_owned());
        let controller = controller.spawn(move || controller::run(&controlled)).context("no thread")?;
        let mut lab =
            Self { shared, threads: vec![controller], balancers: None, _listeners: listeners, moto };
        lab.threads.push(dns::serve(&lab.shared)?);
        lab.balancers = Some(balancers::run(&lab.shared)?);
        Ok(lab)
    }

    /// The emulator.
    #[must_use]
    pub fn moto(&self) -> &Moto {
        &self.moto
    }

    /// The network that the machines are in.
    #[must_use]
    pub fn network(&self) -> &Network {
        &self.shared.network
    }

    /// The address of the emulator's API for commands in the network and on machines: `http://10.150.0.1`. From outside
    /// it is [`Moto::endpoint`].
    #[must_use]
    pub fn endpoint(&self) -> String {
        routes::endpoint()
    }

    /// The environment of a client in the network that connects to the emulator.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut environment = self.moto.environment();
        for (name, value) in &mut environment {
            if name == "AWS_ENDPOINT_URL" {
                *value = self.endpoint();
            }
        }
        environment
    }

    /// The machine of an instance, when it has started.
    ///
    /// # Errors
    /// When it does not start within five minutes.
    pub fn instance(&self, id: &str) -> Result<LabInstance> {
        until(&format!("{id} has a machine"), || {
            self.shared.check(id)?;
            Ok(self.shared.machine(id).filter(|machine| machine.is_on()))
        })
    }

    /// Waits until the machine of an instance is off, or gone.
    ///
    /// # Errors
    /// When it still runs after five minutes.
    pub fn until_off(&self, id: &str) -> Result<()> {
        until(&format!("the machine of {id} is off"), || {
            Ok(self.shared.machine(id).is_none_or(|machine| !machine.is_on()).then_some(()))
        })
    }

    /// The ids of the instances that run, as the emulator says, in its order.
    ///
    /// # Errors
    /// When the emulator does not answer.
    pub fn running(&self) -> Result<Vec<String>> {
        let state = self.shared.emulator.look()?;
        let running = state.instances.into_iter().filter(|instance| instance.state == "running");
        Ok(running.map(|instance| instance.id).collect())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        if let Some(balancers) = self.balancers.take() {
            let _ = balancers.join();
        }
    }
}
