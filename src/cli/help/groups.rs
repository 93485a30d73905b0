//! The examples and exit codes of commands that only have commands below them.

use super::ExitCodes::{Two, Usual};
use super::pages::page;
use super::{ExitCodes, Page};

const DRY_RUNS: ExitCodes = Two("dry runs: changes are pending");

/// One page for each group of commands.
pub(crate) const GROUPS: &[Page] = &[
    page(
        "rotate",
        DRY_RUNS,
        &[
            ("Show the next stage of a rotation", "slipway rotate sa-key -f cluster.yaml --dry-run"),
            ("Carry out the next stage", "slipway rotate sa-key -f cluster.yaml"),
        ],
    ),
    page(
        "etcd",
        DRY_RUNS,
        &[
            ("List the snapshots of a cluster", "slipway etcd snapshots demo"),
            ("Take a snapshot", "slipway etcd backup demo"),
        ],
    ),
    page("export", Usual, &[("Write a Terraform configuration", "slipway export terraform -f cluster.yaml")]),
    page(
        "controller",
        Usual,
        &[
            ("Run a controller", "slipway controller run -f controller.toml"),
            ("Show sources and clusters", "slipway controller show"),
        ],
    ),
    page("policy", Usual, &[("Run the tests of a policy file", "slipway policy test policies.yaml")]),
    page(
        "get",
        Usual,
        &[
            ("List the clusters", "slipway get clusters"),
            ("List the nodes of a cluster as JSON", "slipway get nodes demo -o json"),
        ],
    ),
    page(
        "state",
        DRY_RUNS,
        &[
            ("List the resources of a cluster", "slipway state list demo"),
            ("Show the last runs of a cluster", "slipway state history demo"),
            ("Check all clusters of the store", "slipway state verify"),
        ],
    ),
    page(
        "node",
        DRY_RUNS,
        &[
            ("Create a cluster on this machine", "slipway node init --config kubeadm.yaml"),
            ("Show what would be removed from this machine", "slipway node reset --dry-run"),
            ("Show the last lines of the kubelet", "slipway node logs kubelet"),
        ],
    ),
    page("node phase", DRY_RUNS, &[("List the phases of init", "slipway node phase init")]),
    page(
        "node token",
        Usual,
        &[("Print the command that joins a machine", "slipway node token create --print-join-command")],
    ),
    page(
        "node certs",
        Two("a certificate expires within thirty days, or a dry run would renew one"),
        &[
            ("List the certificates", "slipway node certs check-expiration"),
            ("Renew all certificates", "slipway node certs renew all"),
        ],
    ),
    page("node config", Usual, &[("Check a file", "slipway node config validate --config kubeadm.yaml")]),
    page("node config images", Usual, &[("List the images", "slipway node config images list")]),
    page(
        "spec",
        Usual,
        &[
            ("Check all specs of a folder", "slipway spec check -f clusters/"),
            ("Print a spec with all defaults", "slipway spec show -f cluster.yaml --full"),
        ],
    ),
    page("provider", Usual, &[("List the providers", "slipway provider list")]),
];
