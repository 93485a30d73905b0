//! The examples and exit codes of the commands below `slipway node`.

use super::ExitCodes::{Two, Usual, Verdict};
use super::Page;
use super::pages::page;

/// One page for each command that does something itself.
pub(super) const NODE: &[Page] = &[
    page(
        "node init",
        Two("with `--dry-run`: something would change"),
        &[
            ("Create a cluster from a configuration of kubeadm", "slipway node init --config kubeadm.yaml"),
            ("Show the plan", "slipway node init --pod-network-cidr 10.244.0.0/16 --dry-run"),
        ],
    ),
    page(
        "node join",
        Two("with `--dry-run`: something would change"),
        &[(
            "Join as a worker",
            "slipway node join 10.0.0.1:6443 --token abcdef.0123456789abcdef --discovery-token-ca-cert-hash sha256:HASH",
        )],
    ),
    page(
        "node boot",
        Verdict(
            "the machine is a node, or a unit makes it one",
            "the document is refused, or somebody has to change something",
        ),
        &[(
            "Boot as user data does",
            "slipway node boot --document /etc/slipway/bootstrap.json --digest sha256:DIGEST --endpoint api.example.com",
        )],
    ),
    page("node identity", Usual, &[("Serve as the unit does", "slipway node identity")]),
    page("node settings", Usual, &[("Follow the settings as the unit does", "slipway node settings")]),
    page(
        "node reset",
        Two("with `--dry-run`: something would change"),
        &[
            ("Show what would be removed", "slipway node reset --dry-run"),
            ("Reset a control plane without being asked", "slipway node reset --yes --confirm node"),
        ],
    ),
    page("node phase init", Usual, &[("Run one phase", "slipway node phase init certs apiserver")]),
    page("node phase join", Usual, &[("List the phases", "slipway node phase join")]),
    page("node phase reset", Usual, &[("Run one phase", "slipway node phase reset cleanup-node")]),
    page(
        "node plan",
        Two("something differs"),
        &[("Compare the machine with its configuration", "slipway node plan")],
    ),
    page(
        "node apply",
        Two("with `--dry-run`: something would change"),
        &[("Correct the differences", "slipway node apply")],
    ),
    page(
        "node serve",
        Usual,
        &[("Serve on a unix socket", "slipway node serve --socket /run/slipway/node.sock")],
    ),
    page(
        "node etcd-backup",
        Usual,
        &[
            ("Take snapshots as the unit does", "slipway node etcd-backup"),
            (
                "Write a snapshot to a file, to restore it by hand",
                "slipway node etcd-backup --fetch 20261126T074322Z-1234 --out snapshot.db",
            ),
        ],
    ),
    page(
        "node api-balancer",
        Usual,
        &[("Forward connections as the unit does", "slipway node api-balancer")],
    ),
    page(
        "node virtual-address",
        Usual,
        &[("Take part in the election as the unit does", "slipway node virtual-address")],
    ),
    page(
        "node control-plane-recovery",
        Usual,
        &[("Look after the control plane as the unit does", "slipway node control-plane-recovery")],
    ),
    page(
        "node token create",
        Usual,
        &[
            ("Print the command that joins a machine", "slipway node token create --print-join-command"),
            ("Admit one machine under one name", "slipway node token create --node w1 --once --wait"),
        ],
    ),
    page("node token list", Usual, &[("List the tokens", "slipway node token list")]),
    page("node token delete", Usual, &[("Delete a token", "slipway node token delete abcdef")]),
    page(
        "node token approve",
        Usual,
        &[("Decide about requests for ten minutes", "slipway node token approve --follow 10m")],
    ),
    page("node token generate", Usual, &[("Print a random token", "slipway node token generate")]),
    page(
        "node certs check-expiration",
        Two("a certificate expires within thirty days"),
        &[("List the certificates", "slipway node certs check-expiration")],
    ),
    page(
        "node certs renew",
        Two("with `--dry-run`: something would change"),
        &[("Renew all certificates", "slipway node certs renew all")],
    ),
    page(
        "node certs generate-csr",
        Usual,
        &[("Write requests for an external CA", "slipway node certs generate-csr --cert-dir /tmp/pki")],
    ),
    page(
        "node certs certificate-key",
        Usual,
        &[("Print a random key", "slipway node certs certificate-key")],
    ),
    page(
        "node kubeconfig",
        Usual,
        &[("Print a kubeconfig for a user", "slipway node kubeconfig --client-name ann --org viewers")],
    ),
    page(
        "node config print",
        Usual,
        &[("Print the defaults of init", "slipway node config print init-defaults")],
    ),
    page(
        "node config validate",
        Usual,
        &[("Check a file", "slipway node config validate --config kubeadm.yaml")],
    ),
    page(
        "node config migrate",
        Usual,
        &[("Convert a file", "slipway node config migrate --old-config old.yaml --new-config new.yaml")],
    ),
    page(
        "node config images list",
        Usual,
        &[("List the images of a version", "slipway node config images list --kubernetes-version 1.34.4")],
    ),
    page(
        "node config images pull",
        Usual,
        &[("Pull the images", "slipway node config images pull --config kubeadm.yaml")],
    ),
    page("node logs", Usual, &[("Show the last lines of etcd", "slipway node logs etcd -n 50")]),
];
