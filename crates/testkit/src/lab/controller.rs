//! Makes machines what the emulator says of instances.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::Result;

use super::emulator::Instance;
use super::instance::LabInstance;
use super::shared::Shared;
use super::volumes::Attached;
use super::{routes, user_data};
use crate::machine;

/// How often the emulator is looked at.
const PAUSE: Duration = Duration::from_millis(150);

/// Looks at the emulator until all is over, and keeps a machine for each instance. Machines are gone when this returns.
pub fn run(shared: &Arc<Shared>) {
    let mut keepers: BTreeMap<String, JoinHandle<()>> = BTreeMap::new();
    while !shared.is_over.load(Ordering::SeqCst) {
        let reported = shared.emulator.report(&shared.take_reports());
        let seen = reported.and_then(|()| shared.emulator.look());
        shared.set_blindness(seen.as_ref().err());
        if let Ok(state) = seen {
            for instance in &state.instances {
                if !keepers.contains_key(&instance.id) {
                    let (shared, id) = (shared.clone(), instance.id.clone());
                    let keeper = thread::Builder::new().name(id.clone()).spawn(move || keep(&shared, &id));
                    keepers.extend(keeper.ok().map(|keeper| (instance.id.clone(), keeper)));
                }
            }
            if state != *shared.state() {
                shared.set_state(state);
            }
        }
        thread::sleep(PAUSE);
    }
    for keeper in keepers.into_values() {
        let _ = keeper.join();
    }
}

/// Keeps the machine of one instance until the instance is terminated, or all is over.
fn keep(shared: &Arc<Shared>, id: &str) {
    let mut reboots = 0;
    let mut was_seen = false;
    let mut attached = Attached::default();
    while !shared.is_over.load(Ordering::SeqCst) {
        let state = shared.state();
        let instance = state.instances.iter().find(|instance| instance.id == id);
        was_seen |= instance.is_some();
        if was_seen {
            let Some(instance) = instance else { break };
            let followed = follow(shared, instance, &mut reboots).and_then(|()| {
                let volumes: Vec<_> = state.volumes.iter().filter(|volume| volume.instance == id).collect();
                let machine = shared.machine(id);
                machine.map_or(Ok(()), |machine| attached.follow(shared, &machine.read(), &volumes))
            });
            if let Err(error) = followed {
                shared.fail(id, &error);
                break;
            }
        }
        shared.wait(&state);
    }
    if let Some(machine) = shared.machine(id) {
        machine.write().kill();
        shared.set_machine(id, None);
    }
    attached.release(shared);
}

/// Does the next thing that makes a machine what its instance is.
fn follow(shared: &Arc<Shared>, instance: &Instance, reboots: &mut u32) -> Result<()> {
    let is_wanted = instance.state == "running";
    match shared.machine(&instance.id) {
        None if is_wanted => {
            *reboots = instance.reboots;
            let machine = start(shared, instance)?;
            shared.set_machine(&instance.id, Some(machine));
        }
        Some(machine) if is_wanted && !machine.is_on() => {
            let mut machine = machine.write();
            if machine.has_ended() {
                machine.kill();
                shared.emulator.shut_down(&instance.id)?;
                shared.set_state(shared.emulator.look()?);
            } else {
                *reboots = instance.reboots;
                machine.start()?;
            }
        }
        Some(machine) if is_wanted && instance.reboots != *reboots => {
            *reboots = instance.reboots;
            let mut machine = machine.write();
            machine.stop()?;
            machine.start()?;
        }
        Some(machine) if !is_wanted && machine.is_on() => machine.write().stop()?,
        _ => {}
    }
    Ok(())
}

fn start(shared: &Shared, instance: &Instance) -> Result<LabInstance> {
    let interface = instance.primary()?;
    let gateway = routes::route(&shared.network, interface)?;
    let subnet = routes::Block::parse(&interface.subnet_block)?;
    let (host_name, domain) = instance.host_name.split_once('.').unwrap_or((&instance.host_name, ""));
    let read = user_data::scripts(instance.user_data.as_deref().unwrap_or_default())?;
    let environment = [("AWS_ENDPOINT_URL", routes::endpoint()), ("AWS_REGION", instance.region.clone())];
    let options = machine::Instance {
        host_name: host_name.to_owned(),
        address: format!("{}/{}", interface.address, subnet.length),
        gateway: gateway.to_string(),
        mac: interface.mac.clone(),
        name_server: routes::NAME_SERVER.to_owned(),
        domain: domain.to_owned(),
        environment: environment.map(|(name, value)| (name.to_owned(), value)).into(),
        scripts: read.scripts,
    };
    let options = machine::MachineOptions { instance: Some(options), ..shared.options.clone() };
    let machine = shared.network.machine(&instance.id, options)?;
    let console = shared.network.folder().join(&instance.id).join("console.log");
    let mut console = File::options().append(true).open(console)?;
    for left_out in read.left_out {
        writeln!(console, "cloud-init: left out: {left_out}")?;
    }
    Ok(LabInstance::new(machine))
}
