//! `slipway spec convert`

use std::process::ExitCode;

use slipway_operations::ClusterSpec;
use slipway_spec::diagnostic::Severity;
use slipway_spec::source::SourceFile;
use slipway_spec::{brief_yaml, load_files};

use crate::cli::SpecConvertArguments;
use crate::code;
use crate::error::CommandError;
use crate::program::Context;
use crate::specs::{self, Selection};

/// The comment on values that the documents did not give.
const REMARK: &str = "derived, or a default of kOps";

/// Writes clusters of another format as documents of Slipway's own, and says what is different.
pub(super) fn run(context: &Context, arguments: &SpecConvertArguments) -> Result<ExitCode, CommandError> {
    let mut text = String::new();
    let selected = specs::wanted(context, &Selection::from(&arguments.specs))?;
    let names_cluster = selected.len() > 1;
    for wanted in selected {
        if !text.is_empty() {
            text.push_str("---\n");
        }
        text.push_str(&one(context, &wanted, names_cluster)?);
    }
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The documents of a cluster. Its pools name it when they are printed beside those of other clusters.
fn one(context: &Context, wanted: &ClusterSpec, names_cluster: bool) -> Result<String, CommandError> {
    let cluster = slipway_kops::native(&wanted.cluster);
    let text = brief_yaml(&cluster, &wanted.sources, REMARK, names_cluster)
        .map_err(|error| CommandError::internal("the spec cannot be written", error))?;
    // The written documents must describe the same cluster.
    let again = load_files(vec![SourceFile::new("converted.yaml", text.clone())], &[]);
    if again.clusters.first() != Some(&cluster) {
        return Err(CommandError::new(
            code::CONVERT,
            format!("the cluster {} has no form of Slipway's own", cluster.name),
        )
        .hint("`slipway spec check` says what is wrong with it; keep the documents as they are until then"));
    }
    let problems = again.diagnostics.iter().filter(|problem| problem.severity == Severity::Error);
    for problem in problems {
        let way_out = problem.hint.as_ref().map_or_else(String::new, |hint| format!("; {hint}"));
        context.output.message(&format!(
            "{}: change the written documents before you use them: {}{way_out}",
            cluster.name, problem.message
        ));
    }
    let spelled_out = text.lines().filter(|line| line.ends_with(&format!("# {REMARK}"))).count();
    context.output.message(&format!(
        "{}: {} pools; {spelled_out} values that differ from Slipway's defaults and are derived, or defaults of \
         kOps, are written out and marked",
        cluster.name,
        cluster.pools.len(),
    ));
    Ok(text)
}
