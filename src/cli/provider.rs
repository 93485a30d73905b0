//! Looking at providers and pinning them.

use clap::{Args, Subcommand};

use super::ReportFormat;

/// Look at providers and pin them.
#[derive(Debug, Subcommand)]
pub(crate) enum ProviderCommand {
    /// List the providers that are built in, found on the search path, and pinned.
    List(ProviderListArguments),
    /// Show a provider's resource types.
    Info(ProviderInfoArguments),
    /// Pin providers by the digest of their executables in slipway.lock.
    Lock(ProviderLockArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ProviderListArguments {
    /// The form of the list.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ProviderInfoArguments {
    /// The provider's name.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The form of the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ProviderLockArguments {
    /// The providers' names.
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
}
