//! Volumes: files that appear on machines as devices.
//!
//! A device is a loop device of the host. Each machine has only the nodes of its own devices: `/dev/nvme1n1`
//! and so on, with a link of the requested name, and one in `/dev/disk/by-id` as for a volume of a Nitro
//! instance.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::emulator::Volume;
use super::shared::Shared;
use crate::Machine;

/// The volumes of one machine.
#[derive(Debug, Default)]
pub struct Attached {
    /// The start of the machine in which the nodes were made.
    boot: Option<u32>,
    by_id: BTreeMap<String, Device>,
}

#[derive(Debug)]
struct Device {
    /// The number of the loop device of the host.
    number: u32,
    /// The name of the node on the machine.
    node: String,
    links: Vec<String>,
    /// Whether the machine has the node: only since its start.
    is_there: bool,
}

impl Attached {
    /// Takes the next action that brings the machine's devices to the emulator's state, and reports it.
    ///
    /// # Errors
    /// When a device cannot be made.
    pub fn follow(&mut self, shared: &Shared, machine: &Machine, volumes: &[&Volume]) -> Result<()> {
        if self.boot != machine.life() {
            self.boot = machine.life();
            for device in self.by_id.values_mut() {
                device.is_there = false;
            }
        }
        let is_wanted =
            |id: &str| volumes.iter().any(|volume| volume.id == id && volume.status != "detaching");
        let gone: Vec<String> = self.by_id.keys().filter(|id| !is_wanted(id)).cloned().collect();
        for id in gone {
            self.take(machine, &id)?;
        }
        for volume in volumes {
            let file = file(shared, &volume.id);
            if volume.status == "detaching" {
                // An open device, such as a mounted one, keeps its loop device.
                if loop_of(&file)?.is_none() {
                    shared.emulator.settle_volume(&volume.id)?;
                }
            } else if self.give(machine, volume, &file)? && volume.status == "attaching" {
                shared.emulator.settle_volume(&volume.id)?;
            }
        }
        Ok(())
    }

    /// Releases all devices, after the machine has ended.
    pub fn release(&mut self, shared: &Shared) {
        for (id, device) in std::mem::take(&mut self.by_id) {
            if detach(device.number).is_ok() {
                // The emulator may have ended before.
                let _ = shared.emulator.settle_volume(&id);
            }
        }
    }

    /// Attaches a volume to the machine, when no other machine has it any more. Returns whether the machine
    /// has it.
    fn give(&mut self, machine: &Machine, volume: &Volume, file: &Path) -> Result<bool> {
        if !self.by_id.contains_key(&volume.id) {
            // The machine that had it may not be off yet.
            if loop_of(file)?.is_some() {
                return Ok(false);
            }
            let taken =
                |number: &u32| self.by_id.values().any(|device| device.node == format!("nvme{number}n1"));
            let place = (1..).find(|number| !taken(number)).unwrap_or(1);
            let asked = volume.device.trim_start_matches("/dev/").to_owned();
            let serial = volume.id.replace('-', "");
            let links = vec![asked, format!("disk/by-id/nvme-Amazon_Elastic_Block_Store_{serial}")];
            let number = attach(file, volume.size)?;
            let device = Device { number, node: format!("nvme{place}n1"), links, is_there: false };
            self.by_id.insert(volume.id.clone(), device);
        }
        let device = self.by_id.get_mut(&volume.id).filter(|device| !device.is_there);
        if let Some(device) = device.filter(|_| machine.is_on()) {
            let node = format!("/dev/{}", device.node);
            let mut script = format!("mkdir -p /dev/disk/by-id\nmknod -m 660 {node} b 7 {}\n", device.number);
            script.extend(device.links.iter().map(|link| format!("ln -sfn {node} /dev/{link}\n")));
            machine.check(["sh", "-euc", &script])?;
            device.is_there = true;
        }
        Ok(true)
    }

    fn take(&mut self, machine: &Machine, id: &str) -> Result<()> {
        let Some(device) = self.by_id.remove(id) else { return Ok(()) };
        if device.is_there && machine.is_on() {
            let names = device.links.iter().chain([&device.node]).map(|name| format!("/dev/{name}"));
            machine.check(["rm".to_owned(), "-f".to_owned()].into_iter().chain(names))?;
        }
        detach(device.number)
    }
}

/// The file of a volume. It is kept while the laboratory runs, also without its machine.
fn file(shared: &Shared, id: &str) -> PathBuf {
    let folder = shared.network.folder();
    fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()).join("volumes").join(id)
}

/// Makes a loop device of a file, and returns its number. The file takes no space before it is written.
fn attach(file: &Path, gibibytes: u64) -> Result<u32> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let volume = File::options().create(true).truncate(false).write(true).open(file)?;
    if volume.metadata()?.len() == 0 {
        volume.set_len(gibibytes << 30)?;
    }
    // Other processes search for a free device too, and may take the found one.
    for _ in 0..20 {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(file).output()?;
        if output.status.success() {
            let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            let number = said.trim_start_matches("/dev/loop").parse();
            return number.with_context(|| format!("losetup says {said}"));
        }
    }
    bail!("there is no free loop device for {}", file.display())
}

fn detach(number: u32) -> Result<()> {
    crate::cache::run(Command::new("losetup").arg("--detach").arg(format!("/dev/loop{number}")))
}

/// The number of the loop device of a file, if there is one.
fn loop_of(file: &Path) -> Result<Option<u32>> {
    for entry in fs::read_dir("/sys/block")?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(number) = name.strip_prefix("loop").and_then(|number| number.parse().ok()) else { continue };
        let behind = fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        if Path::new(behind.trim()) == file {
            return Ok(Some(number));
        }
    }
    Ok(None)
}
