//! The examples and exit codes of each command.

use super::ExitCodes::{Two, Usual, Verdict};
use super::{ExitCodes, Page};

const PENDING: ExitCodes = Two("changes are pending");

pub(super) const fn page(
    command: &'static str,
    exit_codes: ExitCodes,
    examples: &'static [(&'static str, &'static str)],
) -> Page {
    Page { command, examples, exit_codes }
}

/// One page for each command that does something itself, without those below `slipway node`.
pub(crate) const PAGES: &[Page] = &[
    page(
        "plan",
        PENDING,
        &[
            ("Show the plan for the spec files of a folder", "slipway plan -f clusters/prod"),
            ("Save the plan for a later apply", "slipway plan -f cluster.yaml --out cluster.plan"),
            (
                "Write a comment for a pull request from another person",
                "slipway plan -f clusters/prod --untrusted --state s3://bucket/prefix -o markdown",
            ),
            ("Write a page to look at in a browser", "slipway plan -f cluster.yaml -o html > plan.html"),
            (
                "Show what others changed, and not the changes of the spec",
                "slipway plan -f cluster.yaml --refresh-only",
            ),
            ("Read the spec from another program", "cat cluster.yaml | slipway plan -f -"),
            ("Hold a policy against the plan", "slipway plan -f cluster.yaml --policy policies.yaml"),
        ],
    ),
    page(
        "apply",
        Usual,
        &[
            ("Show the plan, ask, and apply it", "slipway apply -f cluster.yaml"),
            ("Apply a saved plan", "slipway apply cluster.plan"),
            ("Apply in CI, only with an approval", "slipway apply cluster.plan --yes --require-approval"),
            ("Apply in a script that reads the result", "slipway apply -f cluster.yaml --yes -o json"),
            (
                "Change one object of the cloud after the other",
                "slipway apply -f cluster.yaml --parallelism 1",
            ),
        ],
    ),
    page(
        "show",
        Usual,
        &[
            ("Show a saved plan", "slipway show cluster.plan"),
            ("Convert it to JSON for a policy tool", "slipway show cluster.plan -o json > plan.json"),
        ],
    ),
    page(
        "approve",
        Usual,
        &[
            ("Approve a saved plan", "slipway approve cluster.plan --comment reviewed"),
            ("Take an approval back", "slipway approve cluster.plan --revoke"),
        ],
    ),
    page(
        "review",
        Usual,
        &[
            (
                "Review a pull request in a job of GitHub Actions",
                "slipway review --forge github --repository o/infra --pull-request 7 --token-variable GITHUB_TOKEN \
                 --user github-actions[bot] -f 'clusters/*' --policy base:review.toml",
            ),
            (
                "Mark comments as out of date after a push to the base branch",
                "slipway review --stale --forge gitea --url https://git.example.com --repository o/infra --token-file token",
            ),
        ],
    ),
    page(
        "drift",
        Two("something was changed outside Slipway"),
        &[
            ("Show changes that were made outside Slipway", "slipway drift demo"),
            ("Show those of all clusters of the state store", "slipway drift --all"),
            ("Give them to a program, with a line for each cluster", "slipway drift --all -o json"),
        ],
    ),
    page(
        "roll",
        Two("with `--dry-run`: machines would be replaced"),
        &[
            (
                "Show which machines would be replaced",
                "slipway roll -f cluster.yaml --pool general --dry-run",
            ),
            ("Replace the machines of one pool", "slipway roll -f cluster.yaml --pool general"),
            ("Give up a roll that was interrupted", "slipway roll -f cluster.yaml --pool general --abandon"),
        ],
    ),
    page(
        "upgrade",
        Two("with `--dry-run`: changes are pending"),
        &[
            ("List the versions to which the cluster can be upgraded", "slipway upgrade -f cluster.yaml"),
            ("Show the first step of an upgrade", "slipway upgrade -f cluster.yaml --to 1.36.0 --dry-run"),
            ("Upgrade, and write the version into the spec", "slipway upgrade -f cluster.yaml --to 1.36.0"),
            ("Upgrade with a way back", "slipway upgrade -f cluster.yaml --to 1.36.0 --reversible"),
            ("Give up the way back", "slipway upgrade -f cluster.yaml --finalise"),
            ("Go back", "slipway upgrade -f cluster.yaml --back"),
        ],
    ),
    page(
        "rotate encryption-key",
        Two("with `--dry-run`: changes are pending"),
        &[
            ("Show the next stage", "slipway rotate encryption-key -f cluster.yaml --dry-run"),
            ("Carry out the next stage", "slipway rotate encryption-key -f cluster.yaml"),
            (
                "Delete the old key in the last stage",
                "slipway rotate encryption-key -f cluster.yaml --confirm encryption_key.at-rest",
            ),
        ],
    ),
    page(
        "rotate sa-key",
        Two("with `--dry-run`: changes are pending"),
        &[
            ("Carry out the next stage", "slipway rotate sa-key -f cluster.yaml"),
            ("Go back to the stage before", "slipway rotate sa-key -f cluster.yaml --back"),
            (
                "Delete the old key in the last stage",
                "slipway rotate sa-key -f cluster.yaml --confirm keypair.service-accounts",
            ),
        ],
    ),
    page(
        "rotate ca",
        Two("with `--dry-run`: changes are pending"),
        &[
            ("Show the next stage", "slipway rotate ca -f cluster.yaml --dry-run"),
            ("Carry out the next stage", "slipway rotate ca -f cluster.yaml"),
            ("Go back to the stage before", "slipway rotate ca -f cluster.yaml --back"),
            (
                "Delete the old key in the last stage",
                "slipway rotate ca -f cluster.yaml --confirm keypair.kubernetes-ca",
            ),
            (
                "Restart pods that are older than the authorities",
                "slipway rotate ca -f cluster.yaml --restart-pods",
            ),
        ],
    ),
    page(
        "rotate front-proxy-ca",
        Two("with `--dry-run`: changes are pending"),
        &[
            ("Carry out the next stage", "slipway rotate front-proxy-ca -f cluster.yaml"),
            ("Go back to the stage before", "slipway rotate front-proxy-ca -f cluster.yaml --back"),
            (
                "Delete the old key in the last stage",
                "slipway rotate front-proxy-ca -f cluster.yaml --confirm keypair.front-proxy-ca",
            ),
        ],
    ),
    page(
        "rotate etcd-ca",
        Two("with `--dry-run`: changes are pending"),
        &[
            ("Show the next stage", "slipway rotate etcd-ca -f cluster.yaml --dry-run"),
            ("Carry out the next stage", "slipway rotate etcd-ca -f cluster.yaml"),
            ("Go back to the stage before", "slipway rotate etcd-ca -f cluster.yaml --back"),
        ],
    ),
    page(
        "delete",
        Two("with `--dry-run`: something would be deleted"),
        &[
            ("Show what would be deleted", "slipway delete demo --dry-run"),
            ("Delete a cluster, and be asked for its name", "slipway delete demo"),
            ("Delete a cluster without being asked", "slipway delete demo --yes --confirm demo"),
        ],
    ),
    page(
        "validate",
        Verdict("the cluster is healthy", "the cluster is not healthy, or an error"),
        &[("Wait until a cluster is healthy", "slipway validate demo --wait 10m")],
    ),
    page(
        "kubeconfig",
        Usual,
        &[
            ("Write a kubeconfig to a file", "slipway kubeconfig demo --out demo.kubeconfig"),
            ("Merge it into ~/.kube/config", "slipway kubeconfig demo --merge"),
            (
                "Print one for a user without rights, valid for an hour",
                "slipway kubeconfig demo --user ann --group viewers --valid-for 1h",
            ),
        ],
    ),
    page(
        "output",
        Usual,
        &[
            ("Show the values of a cluster", "slipway output demo"),
            ("Give all of them to a program", "slipway output demo -o json"),
            (
                "Write the certificate authority to a file",
                "slipway output demo --only certificate-authority > ca.crt",
            ),
        ],
    ),
    page(
        "logs",
        Usual,
        &[
            ("Show the last lines of a kubelet", "slipway logs m1"),
            ("Show the last 50 lines of an API server", "slipway logs m1 kube-apiserver -n 50"),
            ("Follow the log of a kubelet", "slipway logs m1 -f"),
        ],
    ),
    page(
        "etcd snapshots",
        Verdict(
            "the snapshots are listed",
            "a control plane does not answer, a snapshot failed or cannot be opened, or an error",
        ),
        &[
            ("List the snapshots of a cluster", "slipway etcd snapshots demo"),
            ("Show the newest one for a script", "slipway etcd snapshots demo -o json | jq .snapshots[0]"),
        ],
    ),
    page("etcd backup", Usual, &[("Take a snapshot before a risky change", "slipway etcd backup demo")]),
    page("etcd defragment", Usual, &[("Make the databases of etcd smaller", "slipway etcd defragment demo")]),
    page(
        "etcd restore",
        Two("with `--dry-run`: the snapshot can be restored"),
        &[
            (
                "Show what would be lost",
                "slipway etcd restore demo --snapshot 20261126T074322Z-1234 --dry-run",
            ),
            (
                "Restore without being asked",
                "slipway etcd restore demo --snapshot 20261126T074322Z-1234 --confirm demo",
            ),
            ("Put the old data back after a failure", "slipway etcd restore demo --undo"),
        ],
    ),
    page(
        "etcd recover",
        Two("with `--dry-run`: etcd can be recovered"),
        &[
            ("Show what is left of etcd, and what would be lost", "slipway etcd recover demo --dry-run"),
            ("Recover without being asked", "slipway etcd recover demo --confirm demo"),
            (
                "Recover from a snapshot",
                "slipway etcd recover demo --from-snapshot 20261126T074322Z-1234 --confirm demo",
            ),
            ("Put the old data back after a failure", "slipway etcd recover demo --undo --confirm demo"),
        ],
    ),
    page(
        "support-bundle",
        Usual,
        &[("Collect what a supporter needs", "slipway support-bundle demo --out demo-support")],
    ),
    page(
        "adopt",
        Two("with `--dry-run`: something would be taken over"),
        &[
            ("Show what would be taken over", "slipway adopt -f kops.yaml --dry-run"),
            ("Take the cluster over", "slipway adopt -f kops.yaml"),
            (
                "Take the keys from a copy of the folder in kOps' state store",
                "slipway adopt -f kops.yaml --keys s3://backup/demo.example.com",
            ),
        ],
    ),
    page(
        "export terraform",
        Usual,
        &[("Write a Terraform configuration", "slipway export terraform -f cluster.yaml --out main.tf")],
    ),
    page(
        "export cloud-controller-manifest",
        Usual,
        &[(
            "Install the cloud controller of the provider aws",
            "slipway export cloud-controller-manifest aws --image IMAGE --cluster-name demo | kubectl apply -f -",
        )],
    ),
    page(
        "controller run",
        Usual,
        &[
            ("Run a controller", "slipway controller run -f controller.toml --state s3://bucket/prefix"),
            ("Log as JSON", "slipway controller run -f controller.toml --log-format json"),
        ],
    ),
    page(
        "controller show",
        Usual,
        &[
            ("Show sources and clusters", "slipway controller show"),
            ("Show one cluster with details", "slipway controller show demo"),
            ("Show how far a change has got", "slipway controller show --waves fleet"),
            ("Give the conditions to a program", "slipway controller show -o json"),
        ],
    ),
    page(
        "controller pause",
        Usual,
        &[(
            "Let controllers apply nothing for two hours",
            "slipway controller pause demo --for 2h --reason incident",
        )],
    ),
    page("controller resume", Usual, &[("End a pause", "slipway controller resume demo")]),
    page(
        "controller request",
        Usual,
        &[("Let controllers plan a cluster now", "slipway controller request demo")],
    ),
    page(
        "controller install",
        Usual,
        &[
            (
                "Print a systemd unit",
                "slipway controller install --systemd -f controller.toml > slipway-controller.service",
            ),
            (
                "Install a controller in a Kubernetes cluster",
                "slipway controller install --kubernetes --image IMAGE -f controller.toml --state s3://bucket/prefix | kubectl apply -f -",
            ),
            (
                "Install the definitions of the kinds of objects alone",
                "slipway controller install --definitions | kubectl apply -f -",
            ),
        ],
    ),
    page("get clusters", Usual, &[("List the clusters", "slipway get clusters")]),
    page("get pools", Usual, &[("List the pools of all clusters", "slipway get pools")]),
    page("get nodes", Usual, &[("List the nodes of a cluster", "slipway get nodes demo")]),
    page("get plans", Usual, &[("List the stored plans of a cluster", "slipway get plans demo")]),
    page(
        "state init",
        Usual,
        &[("Create a store in a bucket", "slipway state init --state s3://bucket/prefix")],
    ),
    page(
        "state list",
        Usual,
        &[("List the machine pools of a cluster", "slipway state list demo sim_machine_pool.*")],
    ),
    page("state show", Usual, &[("Show one resource", "slipway state show demo sim_network.main")]),
    page("state history", Usual, &[("Show the last runs of a cluster", "slipway state history demo")]),
    page("state diff", Usual, &[("Compare generation 3 with the current one", "slipway state diff demo 3")]),
    page(
        "state mv",
        Usual,
        &[(
            "Rename a pool's resource in the state",
            "slipway state mv demo sim_machine_pool.workers sim_machine_pool.general",
        )],
    ),
    page(
        "state rm",
        Usual,
        &[("Keep a network when the cluster is deleted", "slipway state rm demo sim_network.main")],
    ),
    page(
        "state export",
        Usual,
        &[("Export the current generation", "slipway state export demo --out demo.json")],
    ),
    page("state import", Usual, &[("Restore an exported generation", "slipway state import demo.json")]),
    page(
        "state rebuild",
        Two("with `--dry-run`: there is a state to be written"),
        &[("Show what would be found", "slipway state rebuild demo -f cluster.yaml --dry-run")],
    ),
    page(
        "state break-lease",
        Usual,
        &[("End the lease of a run that cannot be stopped otherwise", "slipway state break-lease demo")],
    ),
    page(
        "state gc",
        Two("with `--dry-run`: something would be deleted"),
        &[(
            "Show what would be deleted if ten generations were kept",
            "slipway state gc --keep 10 --dry-run",
        )],
    ),
    page(
        "state rekey",
        Usual,
        &[("Encrypt the state of one cluster with new data keys", "slipway state rekey demo")],
    ),
    page(
        "state verify",
        Verdict("the state is sound", "something is damaged, or an error"),
        &[("Check all clusters of the store", "slipway state verify")],
    ),
    page(
        "init",
        Usual,
        &[
            ("Write cluster.yaml", "slipway init demo"),
            (
                "Write a highly available cluster to another file",
                "slipway init demo --shape ha --out ha.yaml",
            ),
        ],
    ),
    page(
        "explain",
        Usual,
        &[
            ("Explain a field of the spec", "slipway explain cluster.spec.network"),
            ("Explain an error code", "slipway explain SPEC0042"),
        ],
    ),
    page(
        "spec show",
        Usual,
        &[("Print a spec with all defaults", "slipway spec show -f cluster.yaml --full")],
    ),
    page("spec check", Usual, &[("Check all specs of a folder", "slipway spec check -f clusters/")]),
    page(
        "spec convert",
        Usual,
        &[("Convert a spec of kOps", "slipway spec convert -f kops.yaml > cluster.yaml")],
    ),
    page(
        "policy test",
        Verdict(
            "all tests passed, or the plan may be applied",
            "a test failed, a policy denies the plan, or an error",
        ),
        &[
            ("Run the tests of a policy file", "slipway policy test policies.yaml"),
            ("Check a plan", "slipway policy test policies.yaml --plan plan.json"),
        ],
    ),
    page("provider list", Usual, &[("List the providers", "slipway provider list")]),
    page("provider info", Usual, &[("Show the resource types of a provider", "slipway provider info sim")]),
    page("provider lock", Usual, &[("Pin a provider", "slipway provider lock aws")]),
    page("completions", Usual, &[("Print the script for bash", "slipway completions bash > slipway.bash")]),
    page("man", Usual, &[("Write the manual pages", "slipway man man/")]),
    page(
        "version",
        Usual,
        &[("Show the version", "slipway version"), ("Show it as JSON", "slipway version -o json")],
    ),
];
