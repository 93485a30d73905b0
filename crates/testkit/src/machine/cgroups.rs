//! The control groups of a machine, below those of the test in each hierarchy.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

const MOUNTED: &str = "/sys/fs/cgroup";

/// 2 where all controllers are in one hierarchy, else 1.
pub fn version() -> u8 {
    if Path::new(MOUNTED).join("cgroup.controllers").exists() { 2 } else { 1 }
}

/// Makes groups of this name, writes a list of those that a process joins to be on the machine, and gives those that
/// are the root of what it sees.
pub fn make(name: &str, list: &Path) -> Result<Vec<String>> {
    let (roots, joined) = if version() == 2 { unified(name)? } else { separate(name)? };
    fs::write(list, joined.join("\n") + "\n")?;
    Ok(roots)
}

fn unified(name: &str) -> Result<(Vec<String>, Vec<String>)> {
    // Below our own there is not a place: a group with processes may not share out what it has. The root may.
    let root = Path::new(MOUNTED);
    let controllers = fs::read_to_string(root.join("cgroup.controllers"))?;
    for controller in controllers.split_whitespace() {
        // One that cannot be shared out is one that machines do without.
        let _ = fs::write(root.join("cgroup.subtree_control"), format!("+{controller}"));
    }
    let group = root.join(name);
    create(&group)?;
    let group = group.display().to_string();
    Ok((vec![group.clone()], vec![format!("{group}/init")]))
}

fn separate(name: &str) -> Result<(Vec<String>, Vec<String>)> {
    let mut groups = Vec::new();
    for line in fs::read_to_string("/proc/self/cgroup")?.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(own)) = (parts.next(), parts.next()) else { continue };
        if controllers.is_empty() {
            continue;
        }
        let hierarchy = Path::new(MOUNTED).join(controllers.trim_start_matches("name="));
        let own = hierarchy.join(own.trim_start_matches('/'));
        let group = own.join(name);
        create(&group)?;
        for file in ["cpuset.cpus", "cpuset.mems"].iter().filter(|file| own.join(file).exists()) {
            // A new group has none, and then no process may join it.
            fs::write(group.join(file), fs::read(own.join(file))?)?;
        }
        groups.push(group.display().to_string());
    }
    Ok((groups.clone(), groups))
}

fn create(group: &Path) -> Result<()> {
    fs::create_dir_all(group).with_context(|| format!("the control group {} cannot be made", group.display()))
}

/// Removes the groups of a list, with those below. What still has a process after five seconds stays.
pub fn remove(list: &Path) {
    for group in fs::read_to_string(list).unwrap_or_default().lines() {
        let group = PathBuf::from(group.trim_end_matches("/init"));
        for _ in 0..250 {
            remove_below(&group);
            if !group.exists() {
                break;
            }
            // The kernel takes its time until the last process of a killed machine is gone.
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn remove_below(group: &Path) {
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_below(&entry.path());
        }
    }
    let _ = fs::remove_dir(group);
}
