//! Mirrors of registries are written to hosts, follow the spec, and are removed with it.

use crate::lab::Lab;

const NETWORK: &str = "  network:\n";

/// The file of the mirrors of one registry.
const FILE: &str = "/etc/containerd/certs.d/docker.io/hosts.toml";

fn mirror(host: &str) -> String {
    format!(
        "  containerRuntime:\n    registryMirrors: [ {{ registry: docker.io, endpoints: [ \"https://{host}\" ] }} ]\n"
    )
}

pub(crate) fn are_written_to_a_host(lab: &Lab) {
    let machine = &lab.machines[0];
    let written = || machine.check(["cat", FILE]).unwrap();
    lab.edit(NETWORK, &format!("{}{NETWORK}", mirror("one.example.com")));
    lab.changes("a mirror", &["+ file.server/registry-mirror-docker.io"]);
    assert!(written().contains("[host.\"https://one.example.com\"]"), "{}", written());
    lab.edit("one.example.com", "two.example.com");
    lab.changes("another mirror", &["~ file.server/registry-mirror-docker.io"]);
    assert!(written().contains("[host.\"https://two.example.com\"]"), "{}", written());
    lab.edit(&mirror("two.example.com"), "");
    lab.changes("no mirror", &["- file.server/registry-mirror-docker.io"]);
    machine.check(["test", "!", "-e", FILE]).unwrap();
}
