//! Arguments of `slipway provider`.

use clap::{Args, Subcommand};

use super::ReportFormat;

/// List, inspect and pin providers.
#[derive(Debug, Subcommand)]
pub(crate) enum ProviderCommand {
    /// List built-in providers, providers on the search path, and pinned providers.
    List(ProviderListArguments),
    /// Show the resource types of a provider.
    Info(ProviderInfoArguments),
    /// Pin providers: write the digests of their executables to slipway.lock.
    Lock(ProviderLockArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ProviderListArguments {
    /// Format of the list.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ProviderInfoArguments {
    /// Name of the provider.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Format of the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ProviderLockArguments {
    /// Names of the providers.
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Format of the result.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}
