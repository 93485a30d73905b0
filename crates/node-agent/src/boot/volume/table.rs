//! The table of file systems that the machine mounts when it starts (fstab(5)).

use slipway_bootstrap::boot::ETCD_MOUNT;

use super::filesystem::TYPE;

/// The file with the table.
pub(super) const PATH: &str = "/etc/fstab";

/// The table with the volume of etcd. The machine starts without the volume as well; etcd waits for it then.
pub(super) fn with_volume(table: &str, uuid: &str) -> String {
    let mut lines: Vec<&str> = table.lines().filter(|line| !is_of_etcd(line)).collect();
    let own = format!("UUID={uuid} {ETCD_MOUNT} {TYPE} defaults,nofail 0 2");
    lines.push(&own);
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

fn is_of_etcd(line: &str) -> bool {
    !line.trim_start().starts_with('#') && line.split_whitespace().nth(1) == Some(ETCD_MOUNT)
}
