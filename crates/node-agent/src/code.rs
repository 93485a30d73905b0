//! Codes of the errors of machines, each with the title of its page in `docs/errors`. A code has one meaning.

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $title:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $id;)*
    };
}

codes! {
    /// An option or a field of a document has a value that cannot be used.
    SETTING = "NODE0001", "a node setting is not valid";
    /// The host does not fulfil what a node needs.
    PREFLIGHT = "NODE0002", "the preflight checks of the host failed";
    /// A component has no log on this machine.
    NO_COMPONENT_LOG = "NODE0003", "the component has no log on this machine";
    /// This machine has no state of its own.
    NO_STATE = "NODE0004", "this machine has no Slipway state";
    /// This machine has another role already.
    OTHER_ROLE = "NODE0005", "this machine already has another role in a cluster";
    /// A file is not the certificate, key or kubeconfig that it should be.
    CERTIFICATE = "NODE0006", "a certificate, key or kubeconfig cannot be used";
    /// The cluster has a node of this name.
    SAME_NAME = "NODE0007", "the cluster already has a node with this name";
    /// A bootstrap token does not exist.
    NO_BOOTSTRAP_TOKEN = "NODE0008", "the bootstrap token does not exist";
    /// The cluster has no stable endpoint for another control plane.
    NO_ENDPOINT = "NODE0009", "the cluster has no stable endpoint for a second control plane";
    /// The configuration in the cluster cannot be used.
    CLUSTER_CONFIGURATION = "NODE0010", "the configuration in the cluster cannot be used";
    /// Certificates that control planes share are missing.
    SHARED_CERTIFICATES = "NODE0011", "shared certificates are missing";
    /// A phase does not exist.
    NO_PHASE = "NODE0012", "the phase does not exist";
    /// A container image cannot be pulled.
    IMAGE = "NODE0013", "a container image cannot be pulled";
    /// The API of the cluster cannot be used.
    API = "NODE0014", "the Kubernetes API cannot be used";
    /// The Node object cannot be removed.
    NODE_OBJECT = "NODE0015", "the Node object cannot be removed";
    /// A token is bound to another name.
    BOUND_TOKEN = "NODE0016", "the token is bound to another node name";
    /// A setting is required and missing.
    MISSING_SETTING = "NODE0017", "a node setting is missing";
    /// An attempt to boot the machine did not succeed.
    BOOT = "NODE0018", "an attempt to boot the machine did not succeed";
    /// The unit that boots the machine cannot be started.
    BOOT_UNIT = "NODE0019", "the boot unit cannot be started";
    /// Programs are not installed on this operating system.
    OPERATING_SYSTEM = "NODE0020", "programs are not installed on this operating system";
    /// The machine cannot boot from its document.
    DOCUMENT = "NODE0021", "the machine cannot boot from its bootstrap document";
    /// Another control plane has begun the cluster.
    OTHER_BEGINNING = "NODE0022", "another control plane has begun the cluster";
    /// The identity of a machine cannot be used.
    IDENTITY = "NODE0023", "the identity of a machine cannot be used";
    /// The control plane gives this machine no credential.
    NO_CREDENTIAL = "NODE0024", "the control plane gives this machine no credential";
    /// The settings of the pool cannot be used on this machine.
    POOL_SETTINGS = "NODE0025", "the settings of the pool cannot be used on this machine";
    /// A folder or a name has no certificate.
    NO_CERTIFICATE = "NODE0030", "there is no such certificate";
    /// A key, a request or a kubeconfig cannot be created.
    NOT_CREATED = "NODE0031", "a key, request or kubeconfig cannot be created";
    /// The ConfigMap `cluster-info`, or a file in its place, cannot be used.
    CLUSTER_INFO = "NODE0032", "cluster-info cannot be used";
    /// The volume of a member of etcd cannot be attached, formatted or mounted.
    VOLUME = "NODE0033", "the volume of a member of etcd cannot be used";
}
