//! The container runtime of nodes is replaced by the one that the spec lists. Pods keep running.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use slipway_testkit::Machine;

use super::{containers, publish};
use crate::lab::Lab;

/// A containerd that prints its version, and exits whenever it is started.
const BROKEN: &str = "#!/bin/sh
if [ \"$1\" = --version ]; then echo 'containerd example.org/containerd v9.9.9 abc'; exit 0; fi
echo 'fatal error: this containerd never starts' >&2
exit 1
";

/// Lists containerd, runc and the CNI plugins after a line of a spec, then a containerd that does not start, and nothing again.
/// The cluster runs with the runtime that its hosts brought.
pub(super) fn comes_from_the_list(lab: &Lab, folder: &Path, line: &str) {
    let pods = containers(lab);
    let runc = lab.machines[0].check(["sh", "-c", "command -v runc"]).unwrap();
    let runc = publish(folder, "runc", &fs::read(runc.trim()).unwrap());
    let programs = ["containerd", "containerd-shim-runc-v2", "ctr"];
    let own = folder.join("own");
    fs::create_dir_all(own.join("bin")).unwrap();
    for program in programs {
        fs::copy(Path::new("/usr/bin").join(program), own.join("bin").join(program)).unwrap();
    }
    let containerd = archive(folder, "containerd.tgz", &own, "bin");
    let plugins = archive(folder, "plugins.tgz", Path::new("/usr/lib/cni"), ".");
    let program = own.join("bin/containerd");
    fs::write(&program, BROKEN).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let broken = archive(folder, "broken.tgz", &own, "bin");
    let listed = format!("{{ name: containerd, path: containerd.tgz, sha256: {containerd} }}");
    let more = format!(
        "{line}      - {listed}\n      - {{ name: runc, path: runc, sha256: {runc} }}\n      - {{ name: cniPlugins, path: \
         plugins.tgz, sha256: {plugins} }}\n"
    );
    lab.edit(line, &more);
    lab.pending(&["+ installed_programs.cp-0/containerd", "+ installed_programs.worker-0/runc"]);
    lab.apply("containerd, runc and the CNI plugins of the spec");
    lab.is_as_wanted();
    for machine in &lab.machines {
        assert_eq!(running(machine), "/usr/local/bin/slipway-runtime/containerd", "{}", machine.name());
        machine.check(["test", "-f", "/opt/cni/bin/.slipway-cni-plugins/original/loopback"]).unwrap();
    }
    assert_eq!(containers(lab), pods);

    // A containerd that does not start is noticed on one node, which gets the previous one back.
    lab.edit(&listed, &format!("{{ name: containerd, version: 9.9.9, path: broken.tgz, sha256: {broken} }}"));
    let plan = lab.pending(&["~ installed_programs × 2", "→ \"9.9.9\""]);
    assert!(plan.contains("is restarted: pods on the node keep running"), "{plan}");
    let failed = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap().err;
    let words = failed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("containerd does not run well with its new programs"), "{failed}");
    assert!(
        words.contains("previous programs were put back, and containerd runs well with them"),
        "{failed}"
    );
    for machine in &lab.machines {
        assert_eq!(running(machine), "/usr/local/bin/slipway-runtime/containerd", "{}", machine.name());
    }
    assert_eq!(containers(lab), pods);

    // Without a list, hosts run what they brought.
    let listed = more.replace("path: containerd.tgz", "version: 9.9.9, path: broken.tgz");
    lab.edit(&listed.replace(&containerd, &broken), line);
    lab.apply("the programs of the hosts");
    lab.is_as_wanted();
    for machine in &lab.machines {
        assert_eq!(running(machine), "/usr/bin/containerd", "{}", machine.name());
        machine
            .check(["sh", "-c", "! ls -d /usr/local/bin/slipway-runtime/* /opt/cni/bin/.slipway-*"])
            .unwrap();
        machine.check(["test", "-L", "/opt/cni/bin/loopback"]).unwrap();
    }
    assert_eq!(containers(lab), pods);
}

/// Packs a part of a folder, and puts it on the mirror; gives the digest.
fn archive(folder: &Path, name: &str, from: &Path, part: &str) -> String {
    let packed = folder.join(name);
    let status = Command::new("tar").arg("-C").arg(from).arg("-czf").arg(&packed).arg(part).status();
    assert!(status.unwrap().success(), "{name}");
    publish(folder, name, &fs::read(&packed).unwrap())
}

/// The program of the containerd that a machine runs.
fn running(machine: &Machine) -> String {
    let process = machine.check(["systemctl", "show", "--value", "-p", "MainPID", "containerd"]).unwrap();
    let program = machine.check(["readlink", &format!("/proc/{}/exe", process.trim())]).unwrap();
    program.trim().to_owned()
}
