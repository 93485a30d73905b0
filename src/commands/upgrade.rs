//! `slipway upgrade`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use slipway_plan::{Mode, Options};
use slipway_spec::source::{Location, Origin};
use slipway_spec::value::KubernetesVersion;

use super::{done, pending};
use crate::cli::UpgradeArguments;
use crate::error::CommandError;
use crate::files::{self, Readers};
use crate::plan_source;
use crate::planning::{self, Prepared, Request};
use crate::program::Context;
use crate::specs::{self, Selection, Wanted};
use crate::upgrade::{applied_version, check_exists, hops};
use crate::{applying, ui, version_change};

/// Brings a cluster to another version: one plan for each minor version on the way, each approved on its own.
pub(crate) async fn run(context: &Context, arguments: &UpgradeArguments) -> Result<ExitCode, CommandError> {
    let to: KubernetesVersion = arguments.to.parse().map_err(|error| {
        CommandError::new("CLI0017", format!("`{}` is no Kubernetes version", arguments.to))
            .cause(format!("{error}"))
    })?;
    let written = specs::one(context, &Selection::from(&arguments.specs))?;
    let mut prepared = Prepared::open(context, written.clone(), false).await?;
    check_exists(context, &prepared, "upgrade")?;
    // Where a run towards another version did not complete, the machines do not have that version yet.
    let complete = planning::committed(&*context.backend()?, &written.cluster.name).await?;
    let from =
        applied_version(complete.as_ref()).unwrap_or_else(|| written.cluster.kubernetes_version.clone());
    let way = hops(&from, &to)?;
    // Where the state has the version already, the spec still may not.
    let way = if way.is_empty() { vec![to.clone()] } else { way };
    let mut from = from;
    let mut through = true;
    for (index, version) in way.iter().enumerate() {
        let later: Vec<String> = way
            .iter()
            .skip(index + 1)
            .map(|next| format!("then Kubernetes {next}, as a plan of its own when this one is through"))
            .collect();
        let (wanted, change) = version_change::narrowed(&written, prepared.state.as_ref(), &from, version)?;
        prepared = Prepared { wanted, ..prepared };
        let request = Request {
            mode: Mode::Apply,
            options: Options { preflight: true, ..Options::default() },
            offline: false,
            roll: None,
            version_change: Some(change),
            unprotect: false,
        };
        if arguments.dry_run {
            let mut plan = prepared.plan(&request).await?.plan;
            plan.outlook = later;
            plan_source::save(context, &prepared, &plan, arguments.save.out.as_deref()).await?;
            ui::show::plan(context, &plan, &arguments.show)?;
            return Ok(pending(&plan));
        }
        if way.len() > 1 {
            context.output.message(&format!("Step {} of {}: Kubernetes {version}", index + 1, way.len()));
        }
        through = applying::bring(context, &prepared, &request, &arguments.run, arguments.show.full).await?;
        if !through {
            return Ok(done(false));
        }
        if !arguments.keep_spec {
            write_version(context, &written, version)?;
        }
        // The next plan starts from what this one has left.
        from = version.clone();
        prepared = Prepared::open(context, written.clone(), false).await?;
    }
    Ok(done(through))
}

/// Puts the version into the spec file, where it stands, and leaves the rest of the file as it is.
fn write_version(
    context: &Context,
    wanted: &Wanted,
    version: &KubernetesVersion,
) -> Result<(), CommandError> {
    let Origin::Written(location) = wanted.sources.origin("kubernetesVersion") else { return Ok(()) };
    let path = PathBuf::from(location.file.as_ref());
    let text = slipway_limits::file::read_text(&path, slipway_limits::size::SPEC)
        .map_err(|error| CommandError::file("the spec", &path, &error))?;
    match replace_at(&text, location, &version.to_string()) {
        Some(new) if new != text => {
            files::write(&path, new.as_bytes(), Readers::AsUsual)
                .map_err(|error| CommandError::file("the spec", &path, &error))?;
            context
                .output
                .message(&format!("{}: kubernetesVersion is {version} now", Path::new(&path).display()));
        }
        Some(_) => {}
        None => context.output.message(&format!(
            "{location}: set kubernetesVersion to {version}; the file changed meanwhile and was left as it is"
        )),
    }
    Ok(())
}

/// Replaces the version that stands at a place, keeping quotes and a leading `v`. Only the line matters: an
/// earlier replacement may have changed how long the value is.
fn replace_at(text: &str, location: &Location, version: &str) -> Option<String> {
    let start: usize =
        text.split_inclusive('\n').take(usize::try_from(location.line).ok()? - 1).map(str::len).sum();
    let rest = text.get(start..)?;
    let line = rest.lines().next()?;
    let column = usize::try_from(location.column).ok()? - 1;
    let offset = line.char_indices().nth(column).map(|(index, _)| index)?;
    let value = line.get(offset..)?;
    let skipped = value.len() - value.trim_start_matches(['"', '\'', 'v']).len();
    let old = value.get(skipped..)?;
    let length =
        old.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))).unwrap_or(old.len());
    if length == 0 || !old.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let begin = start + offset + skipped;
    let mut new = text.to_owned();
    new.replace_range(begin..begin + length, version);
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_version_is_replaced() {
        let text = "a: 1\nkubernetesVersion: \"v1.34.2\" # pinned\nb: 2\n";
        let location = Location { file: "x".into(), line: 2, column: 20, end_line: 2, end_column: 29 };
        let new = replace_at(text, &location, "1.35.0").unwrap();
        assert_eq!(new, "a: 1\nkubernetesVersion: \"v1.35.0\" # pinned\nb: 2\n");
        assert!(replace_at("a: 1\nx\n", &location, "1.35.0").is_none());
    }
}
