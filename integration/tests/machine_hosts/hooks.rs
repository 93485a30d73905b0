//! Hooks and packages of the spec come to hosts, follow its changes, and are removed with it.

use crate::lab::Lab;

const NETWORK: &str = "  network:\n";
const ROLE: &str = "  role: controlPlane\n";
const PACKAGES: &str = "  packages: [bash]\n";

/// Writes the list of packages in which bash is installed.
const INSTALLED: &str = "mkdir -p /var/lib/dpkg/info /var/lib/dpkg/updates && printf '%s\\n' 'Package: bash' \
     'Status: install ok installed' 'Architecture: all' 'Maintainer: nobody' 'Version: 5' 'Description: a shell' \
     >/var/lib/dpkg/status && dpkg -s bash";

fn hook(word: &str) -> String {
    format!(
        "  nodeFiles:\n    hooks:\n      - name: tune.service\n        content: |\n          [Service]\n          Type=oneshot\n          \
         ExecStart=/bin/sh -c 'echo {word} > /var/lib/tuned'\n"
    )
}

pub(crate) fn run_on_a_host(lab: &Lab) {
    let machine = &lab.machines[0];
    let tuned = || machine.check(["cat", "/var/lib/tuned"]).unwrap();
    lab.edit(NETWORK, &format!("{}{NETWORK}", hook("one")));
    lab.changes("a hook", &["+ service.server/tune"]);
    assert_eq!(tuned(), "one\n");
    machine.check(["systemctl", "is-enabled", "tune.service"]).unwrap();
    lab.edit("echo one", "echo two");
    lab.changes("a changed hook", &["~ service.server/tune"]);
    assert_eq!(tuned(), "two\n");
    lab.edit(&hook("two"), "");
    lab.changes("no hook", &["- service.server/tune"]);
    machine.check(["sh", "-c", "test ! -e /etc/systemd/system/tune.service && rm /var/lib/tuned"]).unwrap();
    // A package that is there: no repository is asked. The machine has the programs of this one, and no packages of its own.
    machine.check(["sh", "-c", INSTALLED]).unwrap();
    lab.edit(ROLE, &format!("{ROLE}{PACKAGES}"));
    lab.changes("a package", &["+ service.server/slipway-packages"]);
    machine.check(["systemctl", "is-enabled", "slipway-packages.service"]).unwrap();
    lab.edit(PACKAGES, "");
    lab.changes("no package", &["- service.server/slipway-packages"]);
}
