//! The stable codes. A code is never given a second meaning; one that is no longer used stays reserved.

/// A stable code and its title. Other crates that read documents have their own codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    /// The code, as in `SPEC0003`.
    pub id: &'static str,
    /// Its title, in a few words.
    pub title: &'static str,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $id:expr, $title:literal;)*) => {
        $($(#[$doc])* pub const $name: Code = Code { id: $id, title: $title };)*

        /// Every code of this crate, in order.
        pub const ALL: &[Code] = &[$($name),*];
    };
}

codes! {
    /// A kernel parameter has another value than the kubelet requires.
    KERNEL_DEFAULTS = "HARD0001", "a kernel parameter keeps the kubelet from starting";
    /// A pipe, a device, a socket where a file belongs.
    NOT_A_FILE = slipway_limits::NOT_A_FILE, "the path is not a regular file";
    /// A file is larger than its kind may be.
    TOO_LARGE = slipway_limits::TOO_LARGE, "the file is too large";
    /// There are more files than a command reads.
    TOO_MANY = "LIMIT0003", "too many spec files";
    /// There are more problems than are shown.
    MORE_PROBLEMS = "LIMIT0004", "not all problems are shown";
    /// The file is not YAML.
    SYNTAX = "SPEC0001", "the file is not valid YAML";
    /// A key is given twice in one mapping.
    DUPLICATE_KEY = "SPEC0002", "a key is given twice";
    /// A field does not exist.
    UNKNOWN_FIELD = "SPEC0003", "unknown field";
    /// A value has the wrong type.
    WRONG_TYPE = "SPEC0004", "a value has the wrong type";
    /// A field that must be given is missing.
    MISSING_FIELD = "SPEC0005", "a required field is missing";
    /// A value is none of those that are allowed.
    UNKNOWN_VALUE = "SPEC0006", "a value is not one of the allowed words";
    /// A text does not have the form of its field: an address range, a version, a duration.
    BAD_FORMAT = "SPEC0007", "a value has the wrong format";
    /// A number is out of bounds.
    OUT_OF_RANGE = "SPEC0008", "a number is out of range";
    /// Exactly one of several keys must be given.
    NOT_ONE_OF = "SPEC0009", "exactly one of several keys is required";
    /// A document's apiVersion or kind is not known.
    UNKNOWN_KIND = "SPEC0010", "unknown apiVersion or kind";
    /// A file or folder cannot be read.
    UNREADABLE = "SPEC0011", "a spec file cannot be read";
    /// Nothing was found to load.
    NOTHING_FOUND = "SPEC0012", "no documents were found";
    /// The document is too large, too deep, or expands to too much.
    OVER_BUDGET = "SPEC0013", "a document is too large";
    /// A field has another name than before, and the former one is still read.
    RENAMED = "SPEC0014", "a field has a new name";
    /// Two things of one kind have the same name.
    DUPLICATE_NAME = "SPEC0020", "a name is used twice";
    /// A name is not a DNS name, a label key is malformed, and the like.
    BAD_NAME = "SPEC0021", "a name is not valid";
    /// Something is named that does not exist.
    UNKNOWN_REFERENCE = "SPEC0022", "a reference to an object that does not exist";
    /// A pool names no cluster, and it is not clear which is meant.
    NO_CLUSTER = "SPEC0023", "a pool names no cluster";
    /// A range of addresses is outside the one that must contain it.
    NOT_CONTAINED = "SPEC0030", "a range is outside its parent range";
    /// Two ranges of addresses overlap.
    OVERLAP = "SPEC0031", "two ranges overlap";
    /// Address families do not fit together.
    ADDRESS_FAMILY = "SPEC0032", "address families do not match";
    /// A range of addresses is too small or too large for its use.
    RANGE_SIZE = "SPEC0033", "a range has the wrong size";
    /// Subnets do not fit the topology, or lack what their egress needs.
    TOPOLOGY = "SPEC0034", "the subnets do not match the topology";
    /// The Kubernetes release is not supported.
    UNSUPPORTED_VERSION = "SPEC0040", "the Kubernetes version is not supported";
    /// A pool's release does not fit the control plane's.
    VERSION_SKEW = "SPEC0041", "the Kubernetes version of a pool is outside the version skew";
    /// The cluster has no control plane, or one of an unsuitable size.
    CONTROL_PLANE = "SPEC0042", "the number of control-plane nodes is not suitable";
    /// The members of an etcd cluster are unsuitable.
    ETCD_MEMBERS = "SPEC0043", "the members of an etcd cluster are not suitable";
    /// The endpoint of the control plane is unsuitable.
    ENDPOINT = "SPEC0044", "the endpoint of the control plane is not suitable";
    /// A pool's size, or how it is replaced, cannot work.
    POOL_SIZE = "SPEC0050", "the size of a pool is not valid";
    /// A rollout could never make progress.
    ROLLOUT = "SPEC0051", "a roll could never make progress";
    /// Machines are chosen in a way that cannot work, or is dangerous.
    MACHINES = "SPEC0052", "the choice of machines is not suitable";
    /// A label or taint is reserved, malformed, or has no effect.
    LABELS = "SPEC0053", "a label or taint is not suitable";
    /// Hosts are described in a way that cannot work.
    HOSTS = "SPEC0054", "hosts are not described correctly";
    /// A flag that Slipway sets itself.
    RESERVED_ARGUMENT = "SPEC0060", "the flag is set by Slipway";
    /// The spec contains a secret.
    INLINE_SECRET = "SPEC0061", "the spec contains a secret";
    /// Two settings contradict each other, or one lacks another.
    CONTRADICTION = "SPEC0062", "two settings contradict each other";
    /// A setting is allowed, and opens more than most clusters should.
    EXPOSED = "SPEC0063", "a setting allows more access than usual";
    /// The secret for encryption at rest is not a key that an API server accepts.
    ENCRYPTION_KEY = "SPEC0064", "the encryption key is not valid";
    /// A gate of the spec has nothing to read, or an expression that cannot be evaluated.
    GATE = "SPEC0065", "a gate cannot be evaluated";
    /// There are more things of a kind than Slipway handles.
    TOO_MANY_THINGS = "SPEC0080", "the cluster is larger than Slipway supports";
    /// An alias is inside of the value of its own anchor.
    ALIAS = "SPEC0090", "an alias is inside of its own anchor";
    /// A network or a subnet has no room for what lives in it.
    NO_ROOM = "SPEC0091", "a network has no room for subnets or machines";
    /// A base of an environment cannot be used.
    BASE = "SPEC0100", "a base of an environment cannot be used";
    /// A patch does not fit what the bases have.
    PATCH = "SPEC0101", "a patch does not apply";
    /// A variable, its value, or a reference to it is not valid.
    VARIABLE = "SPEC0102", "a variable or its value is not valid";
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_are_unique_and_ordered() {
        assert!(super::ALL.windows(2).all(|pair| pair[0].id < pair[1].id));
    }
}
