//! `slipway upgrade`

use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value as Json, json};
use slipway_operations::{
    Baseline, ClusterSpec, Environment, Outcome, Upgrade, UpgradeStep, UpgradeVersions, WayBack,
};
use slipway_spec::source::{Location, Origin};
use slipway_spec::validate::{NEWEST_MINOR, OLDEST_MINOR};
use slipway_spec::value::KubernetesVersion;

use super::{done, pending};
use crate::cli::{OutputFormat, UpgradeArguments};
use crate::code;
use crate::deciding::{Dialogue, Others, outcome_at, report_in};
use crate::error::CommandError;
use crate::files::{self, Readers};
use crate::plan_source;
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::ui::table::table;

/// Brings a cluster to another version: one plan for each minor version on the way, each approved on its own. Without a version, it
/// lists those to which the cluster can be upgraded.
pub(crate) async fn run(context: &Context, arguments: &UpgradeArguments) -> Result<ExitCode, CommandError> {
    if arguments.finalise || arguments.back {
        return change_stage(context, arguments).await;
    }
    let Some(to) = &arguments.to else { return list(context, arguments).await };
    let to = version("--to", to)?;
    let via: Vec<KubernetesVersion> =
        arguments.via.iter().map(|text| version("--via", text)).collect::<Result<_, _>>()?;
    plan_source::check(arguments.save.out.as_deref())?;
    let written = specs::one(context, &Selection::from(&arguments.specs))?;
    if !arguments.dry_run && !arguments.keep_spec {
        check_writable(&written, &to)?;
    }
    let environment = context.environment()?;
    let back = if arguments.reversible { WayBack::Emulation } else { WayBack::None };
    let mut upgrade = Upgrade::begin(&environment, written.clone(), &to, &via, back).await?;
    for passed in via.iter().filter(|version| *version < upgrade.present()) {
        context.output.message(&format!(
            "`--via {passed}` has no effect: the cluster has Kubernetes {}.",
            upgrade.present()
        ));
    }
    while let Some(step) = upgrade.next(&environment).await? {
        if arguments.dry_run {
            return preview(context, arguments, &written, step).await;
        }
        if upgrade.steps() > 1 {
            let (number, steps) = (step.number, upgrade.steps());
            context.output.message(&format!("Step {number} of {steps}: Kubernetes {}", step.version));
        }
        if !step_by(context, &environment, arguments, &written, &step).await? {
            return Ok(done(false));
        }
        if context.signals.is_stopped() && !step.later.is_empty() {
            context.output.notice(&format!(
                "Stopped: the cluster has Kubernetes {}. Run the command again to go on to {to}.",
                step.version
            ));
            return Ok(done(false));
        }
        if let Some(emulated) = &step.emulates {
            context.output.message(&emulating(&step.version, emulated, &to));
        }
    }
    Ok(done(true))
}

/// Finalises a reversible upgrade, or takes it back.
async fn change_stage(context: &Context, arguments: &UpgradeArguments) -> Result<ExitCode, CommandError> {
    plan_source::check(arguments.save.out.as_deref())?;
    let written = specs::one(context, &Selection::from(&arguments.specs))?;
    let environment = context.environment()?;
    let step = match arguments.finalise {
        true => UpgradeStep::finalise(&environment, written.clone()).await?,
        false => UpgradeStep::back(&environment, written.clone()).await?,
    };
    if arguments.dry_run {
        return preview(context, arguments, &written, step).await;
    }
    let is_written = written.cluster.kubernetes_version == step.version;
    if !arguments.keep_spec && !is_written {
        check_writable(&written, &step.version)?;
    }
    let is_complete = step_by(context, &environment, arguments, &written, &step).await?;
    if is_complete {
        context.output.message(&match arguments.finalise {
            true => format!("The upgrade to Kubernetes {} is final.", step.version),
            false => format!("The cluster is back at Kubernetes {}.", step.version),
        });
    }
    Ok(done(is_complete))
}

/// Shows the plan of a step, and saves it if requested.
async fn preview(
    context: &Context,
    arguments: &UpgradeArguments,
    written: &ClusterSpec,
    step: UpgradeStep,
) -> Result<ExitCode, CommandError> {
    let UpgradeStep { opened, mut request, version, emulates, later, .. } = step;
    request.options.infrastructure_only = arguments.infrastructure_only;
    let mut planned = opened.plan(&request).await?;
    let then = |next: &KubernetesVersion| {
        format!("then Kubernetes {next}, as a plan of its own when this one is through")
    };
    planned.plan.outlook = later.iter().map(then).collect();
    if emulates.is_some() {
        let last = "then `slipway upgrade --finalise`, as a plan of its own: until it is applied, there is a way back";
        planned.plan.outlook.push(last.to_owned());
    }
    let out = arguments.save.out.as_deref();
    plan_source::save_and_show(context, &opened, &planned, out, &arguments.show).await?;
    if arguments.save.out.is_some() && written.cluster.kubernetes_version != version {
        let place = written.place("kubernetesVersion");
        let file = place.map_or_else(|| "the spec file".to_owned(), |place| place.file.to_string());
        context.output.message(&format!(
            "`slipway apply` of a saved plan writes no spec file: after it, write `kubernetesVersion: {version}` into {file}."
        ));
    }
    Ok(pending(&planned.plan))
}

/// Carries a step out, and writes its version into the spec. Returns whether all is done.
async fn step_by(
    context: &Context,
    environment: &Environment,
    arguments: &UpgradeArguments,
    written: &ClusterSpec,
    step: &UpgradeStep,
) -> Result<bool, CommandError> {
    let UpgradeStep { opened, version, .. } = step;
    let mut request = step.request.clone();
    request.options.infrastructure_only = arguments.infrastructure_only;
    let next = continuing(arguments, version);
    let dialogue = Dialogue {
        infrastructure_only: arguments.infrastructure_only,
        others: if step.number > 1 { Others::Earlier } else { Others::None },
        next: Some(&next),
        ..Dialogue::showing(&arguments.run, &arguments.show)
    };
    let baseline = Baseline::take(opened).await;
    let outcome = outcome_at(context, context.state_url(), environment, opened, &request, dialogue).await?;
    if !report_in(context, &opened.spec.cluster.name, &outcome, dialogue)? {
        // Without a run there is nothing to go back from.
        let is_begun = !matches!(outcome, Outcome::Nothing | Outcome::Undecided(_));
        if let Some(emulated) = step.emulates.as_ref().filter(|_| is_begun) {
            context
                .output
                .notice(&format!("`slipway upgrade -f … --back` goes back to Kubernetes {emulated}."));
        }
        return Ok(false);
    }
    if arguments.keep_spec {
        say_kept(context, written, version);
    } else {
        write_version(context, written, version);
    }
    if let Some(baseline) = baseline {
        let lost = baseline.wait(opened, || context.signals.is_stopped()).await;
        if !context.signals.is_stopped() {
            check_baseline(version, &lost)?;
        }
    }
    Ok(true)
}

/// The command that continues a step which did not complete. The spec file has the version before, so that an apply is refused.
fn continuing(arguments: &UpgradeArguments, version: &KubernetesVersion) -> String {
    let change = match (arguments.finalise, arguments.back) {
        (true, _) => "--finalise".to_owned(),
        (_, true) => "--back".to_owned(),
        _ => {
            let to = arguments.to.clone().unwrap_or_else(|| version.to_string());
            let via = arguments.via.iter().map(|via| format!("--via {via}"));
            [format!("--to {to}")].into_iter().chain(via).collect::<Vec<_>>().join(" ")
        }
    };
    format!("slipway upgrade -f … {change}")
}

/// What a cluster has after the first stage of a reversible upgrade, and what comes next.
fn emulating(
    version: &KubernetesVersion,
    emulated: &KubernetesVersion,
    requested: &KubernetesVersion,
) -> String {
    let then = match version.minor == requested.minor {
        true => String::new(),
        false => format!(" After that, `slipway upgrade --to {requested}` goes on."),
    };
    format!(
        "The control plane has Kubernetes {version} and emulates 1.{}. `slipway upgrade --finalise` makes the upgrade final, `slipway upgrade \
         --back` goes back to {emulated}.{then}",
        emulated.minor
    )
}

/// Refuses to go on when nodes or workloads are not ready that were ready before the upgrade.
fn check_baseline(version: &KubernetesVersion, lost: &[String]) -> Result<(), CommandError> {
    if lost.is_empty() {
        return Ok(());
    }
    let message = format!(
        "the cluster has Kubernetes {version}, and these are not ready any more: {}",
        lost.join(", ")
    );
    Err(CommandError::new("CLI0073", message)
        .hint("`kubectl get nodes,pods -A` shows their state; when they are ready, run the command again if more versions follow"))
}

/// The version in an argument.
fn version(flag: &str, text: &str) -> Result<KubernetesVersion, CommandError> {
    text.parse::<KubernetesVersion>().map_err(|error| {
        CommandError::new(code::NO_VERSION, format!("`{text}` is not a Kubernetes version"))
            .cause(format!("{error}"))
            .hint(format!("write all three numbers, as in `{flag} 1.35.2`"))
    })
}

/// Lists the versions to which a cluster can be upgraded.
async fn list(context: &Context, arguments: &UpgradeArguments) -> Result<ExitCode, CommandError> {
    let written = specs::one(context, &Selection::from(&arguments.specs))?;
    let environment = context.environment()?;
    let versions = UpgradeVersions::of(&environment, &written).await?;
    let name = &written.cluster.name;
    let text = match arguments.show.output {
        OutputFormat::Json => format!("{}\n", listed_json(name, &versions)),
        _ => listed(name, &versions),
    };
    context.output.result(&text)?;
    Ok(done(true))
}

/// The versions to which a cluster can be upgraded, for programs.
fn listed_json(cluster: &str, versions: &UpgradeVersions) -> Json {
    let text = |version: &KubernetesVersion| version.to_string();
    let ways: Vec<Json> = versions
        .ways
        .iter()
        .filter_map(|way| {
            Some(json!({ "version": text(way.last()?), "steps": way.iter().map(text).collect::<Vec<_>>() }))
        })
        .collect();
    json!({
        "cluster": cluster,
        "version": text(&versions.current),
        "emulated": versions.emulated.as_ref().map(text),
        "unfinished": versions.unfinished.as_ref().map(text),
        "upgrades": ways,
        "supported": { "oldest": format!("1.{OLDEST_MINOR}"), "newest": format!("1.{NEWEST_MINOR}") },
    })
}

/// The versions to which a cluster can be upgraded, for people.
fn listed(cluster: &str, versions: &UpgradeVersions) -> String {
    let UpgradeVersions { current, emulated, unfinished, ways } = versions;
    let mut text = format!("{cluster} has Kubernetes {current}.\n");
    if let Some(to) = unfinished {
        text.push_str(&format!(
            "Its upgrade to {to} did not complete: `slipway upgrade -f … --to {to}` continues it.\n"
        ));
    }
    if let Some(emulated) = emulated {
        text.push_str(&format!(
            "Its control plane emulates 1.{}: `--finalise` makes the upgrade final, `--back` goes back to {emulated}.\n",
            emulated.minor
        ));
    }
    if ways.is_empty() && emulated.is_none() {
        text.push_str("This version of Slipway knows no newer release that it supports.\n");
    } else if !ways.is_empty() {
        let steps = |way: &Vec<KubernetesVersion>| way.iter().map(ToString::to_string).collect::<Vec<_>>();
        let row = |steps: Vec<String>| {
            let version = steps.last().cloned().unwrap_or_default();
            vec![version, steps.len().to_string(), steps.join(", ")]
        };
        let rows: Vec<Vec<String>> = ways.iter().map(steps).map(row).collect();
        text.push_str(&format!("\n{}\n", table(&["UPGRADE TO", "PLANS", "STEPS"], &rows)));
        text.push_str("Other patch releases can be named with `--to` and `--via`.\n");
    }
    text.push_str(&format!("Supported minor versions are 1.{OLDEST_MINOR} to 1.{NEWEST_MINOR}.\n"));
    text
}

/// The new version has to be written somewhere: the spec must not come from standard input, from a read-only file or from a base of an
/// environment, and the version must be plain text in it. A YAML anchor or alias gives the version to other fields too, or has it
/// from them.
fn check_writable(written: &ClusterSpec, to: &KubernetesVersion) -> Result<(), CommandError> {
    let Origin::Written(location) = written.sources.origin("kubernetesVersion") else { return Ok(()) };
    let keep = "leave the spec as it is with `--keep-spec`";
    if &*location.file == "<stdin>" {
        return Err(CommandError::new(
            code::NOT_WRITTEN,
            "the new version cannot be written into a spec from standard input; nothing was done",
        )
        .hint(format!("name the file with `-f FILE`, or {keep}")));
    }
    if written.is_in_base(location) {
        let message = format!(
            "{location}: the new version cannot be written here, because other environments may have this base; nothing was done"
        );
        return Err(CommandError::new(code::NOT_WRITTEN, message)
            .hint(format!(
                "write the current version into the environment, in `values` or a patch, and run the command again; or {keep}"
            )));
    }
    if let Some(other) = written.shares_place("kubernetesVersion") {
        let message = format!(
            "{location}: the new version cannot be written here, because {other} refers to the same variable; nothing was done"
        );
        return Err(CommandError::new(code::NOT_WRITTEN, message)
            .hint(format!("let {other} have a value or a variable of its own, or {keep}")));
    }
    if let Some(other) = written.shares_version_with() {
        let message = format!(
            "{location}: the new version cannot be written here, because the cluster {other} refers to the same variable; nothing \
             was done"
        );
        return Err(CommandError::new(code::NOT_WRITTEN, message)
            .hint(format!("let the cluster {other} have a version or a variable of its own, or {keep}")));
    }
    if replace_at(&read(location)?, location, &to.to_string()).is_some() {
        return files::check_replaceable(Path::new(location.file.as_ref())).map_err(|error| {
            let message = format!(
                "{location}: the new version cannot be written into this file: {error}; nothing was done"
            );
            CommandError::new(code::NOT_WRITTEN, message)
                .hint(format!("make the file and its folder writable, or {keep}"))
        });
    }
    let message = format!(
        "{location}: the new version cannot be written here, because kubernetesVersion is not plain text, as with a YAML anchor or \
         alias; nothing was done"
    );
    Err(CommandError::new(code::NOT_WRITTEN, message).hint(format!(
        "write `kubernetesVersion: {}` without an anchor or an alias, or {keep}",
        written.cluster.kubernetes_version
    )))
}

/// The text of the spec file that has a field.
fn read(location: &Location) -> Result<String, CommandError> {
    let path = Path::new(location.file.as_ref());
    slipway_limits::file::read_text(path, slipway_limits::size::SPEC)
        .map_err(|error| CommandError::file("the spec", path, error))
}

/// Says that the spec still has the old version, which the next plan refuses.
fn say_kept(context: &Context, written: &ClusterSpec, version: &KubernetesVersion) {
    let old = &written.cluster.kubernetes_version;
    if let Some(place) = written.place("kubernetesVersion").filter(|_| old != version) {
        context.output.message(&format!(
            "{place}: kubernetesVersion is still {old}. Write `kubernetesVersion: {version}` there: the next plan would be refused."
        ));
    }
}

/// Writes the version into its place in the spec file, and leaves the rest of the file unchanged. The cluster has the version
/// already: a file that cannot be written is no failure of the upgrade, and the message says what to change.
fn write_version(context: &Context, written: &ClusterSpec, version: &KubernetesVersion) {
    let Origin::Written(location) = written.sources.origin("kubernetesVersion") else { return };
    let path = Path::new(location.file.as_ref());
    let replaced = read(location).map(|text| (replace_at(&text, location, &version.to_string()), text));
    let message = match replaced {
        Ok((Some(new), text)) if new == text => return,
        Ok((Some(new), _)) => match files::write(path, new.as_bytes(), Readers::AsUsual) {
            Ok(()) => format!("{}: kubernetesVersion is {version} now", path.display()),
            Err(error) => {
                format!(
                    "{location}: set kubernetesVersion to {version}; the file could not be written: {error}"
                )
            }
        },
        Ok((None, _)) => format!(
            "{location}: set kubernetesVersion to {version}; the file changed meanwhile and was left as it is"
        ),
        Err(_) => format!("{location}: set kubernetesVersion to {version}; the file could not be read"),
    };
    context.output.message(&message);
}

/// Replaces the version at a place, and keeps quotes and a leading `v`. Only the line matters: an earlier
/// replacement may have changed the length of the value.
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
    fn versions_are_listed_with_their_steps() {
        let version = |text: &str| text.parse::<KubernetesVersion>().unwrap();
        let ways = vec![vec![version("1.36.6")], vec![version("1.36.6"), version("1.37.2")]];
        let text = listed(
            "demo",
            &UpgradeVersions { current: version("1.35.10"), emulated: None, unfinished: None, ways },
        );
        let expected = "demo has Kubernetes 1.35.10.\n\nUPGRADE TO  PLANS  STEPS\n1.36.6      1      1.36.6\n\
                        1.37.2      2      1.36.6, 1.37.2\n\nOther patch releases";
        assert!(text.starts_with(expected), "{text}");
        let without = |current: &str, emulated: Option<&str>| {
            let emulated = emulated.map(version);
            listed(
                "demo",
                &UpgradeVersions { current: version(current), emulated, unfinished: None, ways: Vec::new() },
            )
        };
        let newest = without("1.37.2", None);
        assert!(newest.contains("no newer release") && newest.contains("1.37."), "{newest}");
        let emulating = without("1.34.4", Some("1.33.13"));
        assert!(
            emulating.contains("emulates 1.33:") && emulating.contains("goes back to 1.33.13"),
            "{emulating}"
        );
        assert!(!emulating.contains("no newer release") && !emulating.contains("UPGRADE TO"), "{emulating}");
    }

    #[test]
    fn only_the_version_is_replaced() {
        let text = "a: 1\nkubernetesVersion: \"v1.34.2\" # pinned\nb: 2\n";
        let location = Location { file: "x".into(), line: 2, column: 20, end_line: 2, end_column: 29 };
        let new = replace_at(text, &location, "1.35.0").unwrap();
        assert_eq!(new, "a: 1\nkubernetesVersion: \"v1.35.0\" # pinned\nb: 2\n");
        assert!(replace_at("a: 1\nx\n", &location, "1.35.0").is_none());
        for value in ["&v 1.34.2", "*v", "!!str 1.34.2", ">-"] {
            let text = format!("a: 1\nkubernetesVersion: {value}\n");
            assert!(replace_at(&text, &location, "1.35.0").is_none(), "{value}");
        }
    }
}
