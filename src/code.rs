//! Codes of the errors that the command line itself reports, each with the title of its page in `docs/errors`. A code has one
//! meaning. Libraries declare the codes of their own errors.

pub(crate) use slipway_node_agent::code::{
    CERTIFICATE, DOCUMENT, IDENTITY, IMAGE, NO_BOOTSTRAP_TOKEN, NO_CERTIFICATE, NO_COMPONENT_LOG, NO_PHASE,
    NO_STATE, NOT_CREATED, OTHER_ROLE,
};
pub(crate) use slipway_operations::code::{
    CHANGED_MEANWHILE, DECLINED, FILE, INTERNAL, PROVIDER, UNANSWERED, WRONG_NAME,
};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $title:literal;)*) => {
        $($(#[$doc])* pub(crate) const $name: &str = $id;)*
    };
}

codes! {
    /// A configuration file has mistakes.
    CONFIGURATION = "CLI0003", "the configuration file is not valid";
    /// `--cluster` names no cluster of the specs.
    NO_CLUSTER = "CLI0004", "the cluster is not in the specs";
    /// The command works on one cluster.
    SEVERAL_CLUSTERS = "CLI0005", "the specs have several clusters";
    /// The settings of `--provider-config` have the wrong form.
    PROVIDER_CONFIG = "CLI0006", "the value of --provider-config is not a JSON object";
    /// The text after `--to` is no version.
    NO_VERSION = "CLI0017", "not a Kubernetes version";
    /// `slipway explain` was asked about a field that does not exist.
    NO_FIELD = "CLI0018", "the field does not exist";
    /// `slipway state mv` cannot give a resource this address.
    NEW_ADDRESS = "CLI0032", "the new address is not allowed";
    /// A kubeconfig cannot be merged into a file.
    MERGE = "CLI0042", "the kubeconfig cannot be merged";
    /// No cluster of the state has the node.
    NO_NODE = "CLI0043", "no cluster has this node";
    /// Nodes of several clusters have the name.
    SEVERAL_NODES = "CLI0044", "several clusters have this node";
    /// Logs of something that is no component.
    NO_COMPONENT = "CLI0045", "this is not the name of a component";
    /// The log of a node cannot be read from here.
    NO_LOGS = "CLI0046", "this log can only be read on the machine";
    /// A cluster has settings that documents cannot express.
    CONVERT = "CLI0060", "the cluster cannot be converted to Slipway documents";
    /// `slipway roll --abandon` finds no roll that did not end.
    NO_ROLL = "CLI0077", "no roll is unfinished";
    /// The file of `--out` is something else than an older output.
    OTHER_OUTPUT = "CLI0090", "the file after `--out` is not an older output";
    /// `slipway upgrade` cannot write the new version into the spec.
    NOT_WRITTEN = "CLI0093", "the new version cannot be written into the spec";
    /// The path of `--out` cannot be a file.
    NO_FILE = "CLI0094", "`--out` does not name a file that can be written";
    /// `--confirm` names neither a resource nor the cluster.
    CONFIRMS_NOTHING = "CLI0096", "the confirmation names nothing";
    /// Terraform has no provider for the objects.
    NO_TERRAFORM = "CLI0097", "the provider has no Terraform provider";
    /// The policies of a file, or the plan that they are tested with, cannot be used.
    POLICY_FILE = "CLI0098", "a policy file cannot be used";
    /// A text is not the address of a resource.
    NO_ADDRESS = "CLI0111", "the text is not the address of a resource";
    /// `slipway explain` was asked about a code that does not exist.
    NO_CODE = "CLI0114", "the error code does not exist";
    /// `slipway output` was asked for a value that the cluster does not have.
    NO_VALUE = "CLI0120", "the cluster does not have this value";
    /// The variable for the token of a forge is not set.
    NO_TOKEN = "FORGE0012", "the environment variable has no token";
    /// The policy of a review is in the repository that it reviews.
    POLICY = "FORGE0015", "a pull request could change the policy of its own review";
    /// An argument of `--trust` has the wrong form.
    TRUST_ARGUMENT = "TRUST0014", "the argument of --trust is not valid";
}
