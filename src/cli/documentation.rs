//! Arguments of the verbs about the program itself: completions, manual pages, the version.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::ReportFormat;

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// Shell to complete for.
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct CompleteArguments {
    /// Words of the command line up to the cursor, with the name of the program.
    #[arg(last = true, value_name = "WORD")]
    pub words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Folder to write to; it is created if it does not exist.
    #[arg(value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub directory: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct VersionArguments {
    /// Format of the answer.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    pub output: ReportFormat,
}
