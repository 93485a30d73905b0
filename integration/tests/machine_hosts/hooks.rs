//! Hooks of the spec run on hosts, follow its changes, and are removed with it.

use crate::lab::Lab;

const NETWORK: &str = "  network:\n";

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
}
