//! The system packages that tests need.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::cache;

/// A file that machines need, and the package of Debian and Ubuntu that has it.
const NEEDED: [(&str, &str); 16] = [
    ("/usr/bin/containerd", "containerd"),
    ("/usr/sbin/runc", "runc"),
    ("/usr/lib/cni/bridge", "containernetworking-plugins"),
    ("/sbin/ip", "iproute2"),
    ("/usr/sbin/sshd", "openssh-server"),
    ("/usr/bin/ssh", "openssh-client"),
    ("/usr/sbin/iptables", "iptables"),
    ("/usr/sbin/nft", "nftables"),
    ("/usr/sbin/conntrack", "conntrack"),
    ("/usr/bin/socat", "socat"),
    ("/usr/sbin/ethtool", "ethtool"),
    ("/usr/bin/curl", "curl"),
    ("/usr/bin/strace", "strace"),
    ("/usr/bin/dig", "bind9-dnsutils"),
    ("/usr/bin/nc.openbsd", "netcat-openbsd"),
    ("/usr/share/doc/busybox-static/copyright", "busybox-static"),
];

/// Has the packages installed that machines need and that are missing, without a question, and without starting what they
/// bring.
///
/// # Errors
/// When something is missing, and this is no Debian or Ubuntu, or not root, or the packages cannot be installed.
pub fn install() -> Result<Vec<&'static str>> {
    install_missing(&NEEDED)
}

/// The same for other files, each with the package that has it.
///
/// # Errors
/// As for [`install`].
pub fn install_missing(needed: &[(&'static str, &'static str)]) -> Result<Vec<&'static str>> {
    let missing = || {
        let absent = needed.iter().filter(|(file, _)| !Path::new(file).exists());
        absent.map(|(_, package)| *package).collect::<Vec<_>>()
    };
    if missing().is_empty() {
        return Ok(Vec::new());
    }
    let _one_at_a_time = cache::lock("packages")?;
    let packages = missing();
    if packages.is_empty() {
        return Ok(packages);
    }
    let named = packages.join(" ");
    if !rustix::process::geteuid().is_root() {
        bail!("these packages are missing, and only root can install them: {named}");
    }
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive")
            .args(["-q", "-y", "--no-install-recommends"])
            .args(arguments);
        apt
    };
    let _services = NoServices::new()?;
    let mut install = apt(&["install"]);
    install.args(&packages);
    if cache::run(&mut install).is_err() {
        // The lists of a fresh machine are old, or not there.
        cache::run(&mut apt(&["update"]))?;
        cache::run(&mut install).with_context(|| format!("these packages are missing: {named}"))?;
    }
    match missing() {
        still if still.is_empty() => Ok(packages),
        still => bail!("these packages do not have what they have on Debian: {}", still.join(" ")),
    }
}

/// While it lives, no installed package starts a service: each asks this script first, and 101 is no.
struct NoServices {
    made: bool,
}

const POLICY: &str = "/usr/sbin/policy-rc.d";

impl NoServices {
    fn new() -> Result<Self> {
        let made = !Path::new(POLICY).exists();
        if made {
            std::fs::write(POLICY, "#!/bin/sh\nexit 101\n")?;
            std::fs::set_permissions(POLICY, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        }
        Ok(Self { made })
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if self.made {
            let _ = std::fs::remove_file(POLICY);
        }
    }
}
