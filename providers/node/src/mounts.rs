//! The mounts of the machine.

use std::path::{Path, PathBuf};

use slipway_resource::ProviderError;

use crate::error::of_path;

/// The mount points below a folder, the folder itself left out, the deepest first.
pub(crate) fn below(folder: &Path) -> Result<Vec<PathBuf>, ProviderError> {
    let table = Path::new("/proc/self/mountinfo");
    let text = std::fs::read_to_string(table).map_err(|error| of_path(table, "read", &error))?;
    Ok(parse(&text, folder))
}

fn parse(table: &str, folder: &Path) -> Vec<PathBuf> {
    // mount id, parent id, device, root, mount point (proc_pid_mountinfo(5)); later mounts cover earlier ones.
    let points = table.lines().filter_map(|line| line.split(' ').nth(4)).map(unescaped);
    let mut found: Vec<PathBuf> =
        points.filter(|point| point != folder && point.starts_with(folder)).collect();
    found.reverse();
    found.sort_by_key(|point| std::cmp::Reverse(point.components().count()));
    found
}

/// Blanks and backslashes are escaped, as `\040`.
fn unescaped(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut position = 0;
    while let Some(byte) = bytes.get(position) {
        let digits = text.get(position + 1..position + 4).filter(|_| *byte == b'\\');
        if let Some(code) = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            plain.push(code);
            position += 4;
        } else {
            plain.push(*byte);
            position += 1;
        }
    }
    PathBuf::from(String::from_utf8_lossy(&plain).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_mounts_come_first() {
        let table = "1 0 8:1 / / rw - ext4 /dev/a rw\n\
            2 1 0:1 / /var/lib/kubelet rw - tmpfs t rw\n\
            3 2 0:2 / /var/lib/kubelet/pods/a/volumes/token rw - tmpfs t rw\n\
            4 2 0:3 / /var/lib/kubelet/pods/with\\040blank rw - tmpfs t rw\n\
            5 1 0:4 / /var/lib/kubelet-other rw - tmpfs t rw\n";
        assert_eq!(
            parse(table, Path::new("/var/lib/kubelet")),
            [
                PathBuf::from("/var/lib/kubelet/pods/a/volumes/token"),
                PathBuf::from("/var/lib/kubelet/pods/with blank"),
            ]
        );
    }
}
