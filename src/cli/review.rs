//! Arguments of `slipway review`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

/// Kind of forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ForgeKind {
    /// GitHub, also GitHub Enterprise Server.
    #[value(name = "github")]
    GitHub,
    /// GitLab.
    #[value(name = "gitlab")]
    GitLab,
    /// Gitea, or Forgejo.
    #[value(name = "gitea")]
    Gitea,
}

#[derive(Debug, Args)]
pub(crate) struct ReviewArguments {
    /// Paths of spec files and folders in the repository, relative to its root. `clusters/*` reads each folder and each YAML
    /// file in `clusters` by itself.
    #[arg(short = 'f', long = "file", num_args = 1.., required_unless_present = "stale", value_name = "PATH")]
    pub files: Vec<PathBuf>,
    /// Further paths in the repository that the specs name files in, such as manifests.
    #[arg(long = "with", value_name = "PATH")]
    pub with: Vec<PathBuf>,
    /// Number of the pull request, or of the merge request.
    #[arg(long, value_name = "NUMBER", required_unless_present = "stale")]
    pub pull_request: Option<u64>,
    /// Plan nothing: mark the comments of all open pull requests whose base or state moved on as out of date.
    #[arg(long, conflicts_with_all = ["pull_request", "files", "with", "policy", "record_approvals"])]
    pub stale: bool,
    /// Git repository that has the commits of the base branch and of the pull request. Nothing is checked out.
    #[arg(long, default_value = ".", value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub checkout: PathBuf,
    /// Policy for forks and approvals (TOML): a file outside of the checkout, or `base:PATH` for a file of the base branch.
    ///
    /// Without a policy, pull requests from forks are not planned, and no approval is needed.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<String>,
    /// Store the approvals of reviews and comments, for `slipway apply --require-approval`.
    #[arg(long)]
    pub record_approvals: bool,
    #[command(flatten)]
    pub forge: ForgeArguments,
}

/// How the forge is reached.
#[derive(Debug, Args)]
#[command(next_help_heading = "Forge")]
pub(crate) struct ForgeArguments {
    /// Kind of forge.
    #[arg(long = "forge", value_enum, value_name = "KIND")]
    pub kind: ForgeKind,
    /// Repository: OWNER/NAME, on GitLab with all groups.
    #[arg(long, value_name = "NAME")]
    pub repository: String,
    /// Address of the forge's site. By default https://github.com or https://gitlab.com.
    #[arg(long, value_name = "URL", required_if_eq("kind", "gitea"))]
    pub url: Option<String>,
    /// Environment variable that has the access token.
    #[arg(
        long,
        value_name = "VARIABLE",
        required_unless_present = "token_file",
        conflicts_with = "token_file"
    )]
    pub token_variable: Option<String>,
    /// File that has the access token.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,
    /// User that the token belongs to, where the forge does not say: in GitHub Actions `github-actions[bot]`.
    #[arg(long, value_name = "LOGIN")]
    pub user: Option<String>,
    /// Page that the statuses link to, such as the job.
    #[arg(long, value_name = "URL")]
    pub page: Option<String>,
    /// Wait at most this long when the rate limit of the forge is used up.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "1m",
        value_parser = super::duration::parse_duration
    )]
    pub wait: Duration,
    /// Allow plain HTTP to a host that is not this machine. The token is sent in clear.
    #[arg(long)]
    pub insecure_http: bool,
}
