//! Packages of the operating system on machines: a unit that installs those that are missing, with apt or dnf.

use std::collections::BTreeMap;

use slipway_cluster_input::{Hook, HookTiming, NodePool};

use super::{WithoutEffect, egress_proxy};

/// The name of the unit.
pub(super) const UNIT: &str = "slipway-packages.service";

/// The unit for the packages of a pool, which come through the proxy that these variables name. It runs at each start of the machine, and asks no repository while all packages are installed.
pub(super) fn hook(pool: &NodePool, proxies: &BTreeMap<String, String>) -> Option<Hook> {
    if pool.packages.is_empty() {
        return None;
    }
    let names = pool.packages.join(" ");
    let proxies = egress_proxy::lines(proxies);
    let content = format!(
        "[Unit]\n\
         Description=Slipway: packages of the operating system\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         [Service]\n\
         Type=oneshot\n\
         Environment=DEBIAN_FRONTEND=noninteractive\n\
         {proxies}\
         ExecStart=/bin/sh -c 'if command -v apt-get >/dev/null; then dpkg -s {names} >/dev/null 2>&1 || \
         {{ apt-get -q update && apt-get -q -y --no-install-recommends install {names}; }}; \
         elif command -v dnf >/dev/null; then rpm -q {names} >/dev/null || dnf -q -y install {names}; \
         else echo \"this host has neither apt-get nor dnf\" >&2; exit 1; fi'\n"
    );
    Some(Hook { name: UNIT.to_owned(), content, timing: HookTiming::BeforeKubelet, enabled: true })
}

/// The names of packages that no package manager takes.
pub(super) fn without_effect(pool: &NodePool) -> Option<WithoutEffect> {
    pool.packages.iter().any(|name| !is_name(name)).then(|| WithoutEffect {
        field: format!("pools[{}].packages", pool.name),
        why: "a name of a package has letters, digits and `.+-_:`, and begins with a letter or a digit; correct it",
    })
}

/// Whether a text is the name of a package. It is a word of a shell and of a unit of systemd, so it has no other characters.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".+-_:".contains(&byte);
    text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric()) && text.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_packages_are_words() {
        for name in ["nfs-common", "libc6:amd64", "g++", "python3.12", "open_vm-tools"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-y", "a b", "a;reboot", "$HOME", "a%n", "a'b", "../a"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
