//! Arguments of the commands that take over clusters of other tools, or export to them.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::SpecArguments;
use super::state::{ChangeArguments, ResultArguments};

#[derive(Debug, Args)]
pub(crate) struct AdoptArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Folder of the cluster in the state store of kOps, from which its keys are adopted; `none` adopts no keys.
    ///
    /// Without it, the folder is `configBase` of the spec.
    #[arg(long, value_name = "URL")]
    pub keys: Option<String>,
    /// Show what would be taken over, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub change: ChangeArguments,
    #[command(flatten)]
    pub result: ResultArguments,
}

/// Write the desired resources in the format of another tool.
#[derive(Debug, Subcommand)]
pub(crate) enum ExportCommand {
    /// Write a Terraform configuration, with `import` blocks for existing resources.
    ///
    /// Resource types and attributes keep their names, so a Terraform provider must have the same ones, as that of `aws` has.
    /// The configuration creates no working cluster by itself: a comment in it lists what only Slipway creates.
    Terraform(TerraformArguments),
    /// Write a manifest that installs the cloud controller of a provider.
    ///
    /// `slipway-cloud-controller` initialises the nodes of a cluster and deletes Nodes whose instance does not exist any
    /// more. It creates load balancers for Services, and routes to pods, if the provider has them. The manifest works on any
    /// conformant cluster, also before a network plugin is installed. It is not a part of a spec: install it with
    /// `kubectl apply -f`.
    CloudControllerManifest(CloudControllerArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CloudControllerArguments {
    /// Name of the provider, such as `aws`.
    #[arg(value_name = "PROVIDER")]
    pub provider: String,
    /// Image with the executables `slipway-cloud-controller` and `slipway-provider-PROVIDER`, and the `provider.toml`.
    #[arg(long, value_name = "IMAGE")]
    pub image: String,
    /// Name of the cluster, as its instances carry it.
    #[arg(long, default_value = "kubernetes", value_name = "NAME")]
    pub cluster_name: String,
    /// YAML file with the region and the configuration of the provider. It becomes a Secret of the manifest.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub cloud_config: Option<PathBuf>,
    /// Namespace of the controller. The manifest creates it.
    #[arg(long, default_value = "slipway-cloud-controller", value_name = "NAME")]
    pub namespace: String,
    /// Range of the pods of the cluster, or one IPv4 and one IPv6 range, divided by a comma. The controller creates routes to
    /// the pods, if the provider has routes.
    #[arg(long, value_name = "CIDRS")]
    pub cluster_cidr: Option<String>,
    /// Let the controller give each node a range of `--cluster-cidr` for its pods. No other controller of the cluster may do so.
    #[arg(long, requires = "cluster_cidr")]
    pub allocate_node_cidrs: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TerraformArguments {
    #[command(flatten)]
    pub spec: SpecArguments,
    /// Write it without state and credentials: nothing is imported.
    #[arg(long)]
    pub offline: bool,
    /// Source of the Terraform provider with the same resource types, in Terraform's registry; `hashicorp/aws` for `aws`.
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub source: Option<String>,
    /// Write to this file instead of standard output.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}
