//! The largest numbers of things.

/// Nodes of a pool, and of a cluster. Kubernetes is tested with 5,000 nodes; this is twice as many.
pub const NODES: u32 = 10_000;

/// Replicas of an add-on: one on every node of the largest cluster.
pub const REPLICAS: u32 = NODES;

/// Hosts that a spec lists: one for each node at most.
pub const HOSTS: usize = 10_000;

/// Items of any other list of a spec, and keys of a mapping. Rules compare the items of some lists with each other.
pub const ITEMS: usize = 1_000;

/// Ranges of addresses of a network, of its pods, and of its services. A network of AWS has five blocks, and an API server
/// takes two ranges for services.
pub const RANGES: usize = 16;

/// Taints of a pool. The API server has no limit; schedulers compare each with each toleration of each pod.
pub const TAINTS: usize = 100;

/// Volumes of a machine, beside that of the system. AWS attaches 128 at most, most types 27.
pub const VOLUMES: usize = 128;

/// Pools of a cluster. Each may be a group of machines of a cloud, of which accounts have 200 to 500.
pub const POOLS: usize = 1_000;

/// Subnets of a cluster. A network of AWS has 200.
pub const SUBNETS: usize = 500;

/// Subnets of all pools of a cluster together: each pool refers to each of its subnets, and a plan has every such reference. With the
/// most pools, each can have a subnet for machines in twenty zones.
pub const POOL_SUBNETS: usize = 20_000;

/// Zones of a cluster, and of a pool. A region of a cloud has six at most; the racks of a data centre can be zones, too.
pub const ZONES: usize = 100;

/// Sources that may reach the API server, and the SSH port. Each is a rule of a security group, of which AWS allows 1,000 for a
/// network interface at most, and 60 without a higher quota.
pub const ACCESS: usize = 1_000;

/// Labels of the objects of a cloud. AWS and Azure allow 50, Google Cloud 64.
pub const CLOUD_LABELS: usize = 64;

/// The size of a disk, in GiB: 64 TiB, the largest that a cloud sells.
pub const DISK_GIB: u32 = 65_536;

/// Values of a file of specs, everything that its aliases repeat included.
pub const VALUES: usize = 100_000;

/// Documents of a file. Each is read separately.
pub const DOCUMENTS: usize = 5_000;

/// Objects that the simulated cloud adds to a cluster as a load. Benchmarks take 4,000.
pub const OBJECTS: u32 = 100_000;

/// How deep values are nested in a document. The deepest field of a spec is at level 12.
pub const DEPTH: usize = 64;

/// How deep brackets and loops are nested in an expression of a gate or a policy.
pub const EXPRESSION_DEPTH: u16 = 32;

/// Steps of all loops of one evaluation of an expression: a loop over the 110 pods of each of 5,000 nodes takes half of them.
pub const EXPRESSION_STEPS: u64 = 1_000_000;

/// How long one evaluation of an expression may take, in seconds.
pub const EXPRESSION_SECONDS: u64 = 5;

/// Files of specs of one command.
pub const SPEC_FILES: usize = 5_000;

/// Environments of one command, with those that are bases of others.
pub const ENVIRONMENTS: usize = 1_000;

/// How many environments may be bases of each other in a row. Organisation, region, stage and cluster are four.
pub const ENVIRONMENT_DEPTH: usize = 8;

/// Bases of an environment.
pub const BASES: usize = 100;

/// Files of the bases of all environments of one command. A file counts for each environment that has it: 1,000 environments
/// with 100 files each.
pub const BASE_FILES: usize = 100_000;

/// Patches of an environment, and operations of a patch.
pub const PATCHES: usize = 10_000;

/// Variables of an environment.
pub const VARIABLES: usize = 1_000;

/// Values of all documents that the environments of one command render, and of these environments: 1,000 clusters with 1,000
/// values each.
pub const RENDERED_VALUES: usize = 1_000_000;

/// Entries of folders that are looked at to find specs. A command that names a foreign folder by mistake, as `/` or a
/// checkout of the Linux kernel with its 80,000 files, ends at once.
pub const FOLDER_ENTRIES: usize = 50_000;

/// Files of a source in the folders that a controller reads.
pub const SOURCE_FILES: usize = 20_000;

/// Sources of a controller: each is a repository, and one repository has many clusters.
pub const SOURCES: usize = 1_000;

/// How deep folders are looked into for specs.
pub const FOLDER_DEPTH: usize = 16;

/// Problems that are shown of one command. Who repairs the first hundred runs the command again anyway.
pub const PROBLEMS: usize = 200;

/// Operations per second, or MiB per second, of a disk: four times those of the fastest that a cloud sells.
pub const DISK_SPEED: u32 = 1_000_000;

/// Pods of a node: as many as a range of 65,536 addresses holds. The kubelet's own default is 110.
pub const PODS: u32 = 65_536;

/// The size of a log file before it is rotated, in MiB: 1 TiB.
pub const LOG_MEBIBYTES: u32 = 1 << 20;

/// How many days rotated logs are kept: 100 years.
pub const LOG_DAYS: u32 = 36_600;

/// How many rotated logs are kept.
pub const LOG_FILES: u32 = 10_000;

/// Pages of one list of a forge, of up to 100 items each: a pull request with 10,000 comments is not reviewed by people.
pub const FORGE_PAGES: u32 = 100;

/// Open pull requests of a source that a controller reviews: the newest ones.
pub const PULL_REQUESTS: usize = 200;

/// Deliveries of webhooks that are remembered, to refuse the same one a second time: those of several days.
pub const DELIVERIES: usize = 10_000;

/// Causes and hints of one failure that are shown. The checks of one running control plane find about thirty, and those of
/// all hosts belong in one report.
pub const CAUSES: usize = 1_000;

/// How long a provider may ask to be left alone before a call is repeated: an hour.
pub const RETRY_AFTER_MILLISECONDS: u64 = 3_600_000;

/// The longest term of a lease that is waited for, in seconds: a day. Slipway's own leases have a minute.
pub const LEASE_SECONDS: u64 = 86_400;

/// Takeovers of a cluster in a row that left nothing in the journal. Each holder seals the epochs before its own, so there are
/// more only when so many holders were killed between two requests, or when the number in the head is damaged.
pub const EPOCHS: u64 = 100_000;

/// The greatest number of real seconds per simulated second, and factor of a simulated latency.
pub const SIMULATED_FACTOR: f64 = 1_000_000.0;

/// Maximum duration of any wait or validity, in seconds: 100 years. A longer one is a typing mistake, and
/// ends after the last date that certificates and clocks can represent.
pub const SECONDS: u64 = 100 * 366 * 24 * 3600;
