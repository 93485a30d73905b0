//! `slipway rotate`

mod pods;

use std::process::ExitCode;

use slipway_operations::Opened;
use slipway_operations::rotation::{Direction, RotatedKey, RotationStep, Stage, next_stage};

use super::{done, pending};
use crate::cli::rotate::RotateCommand;
use crate::deciding::{Dialogue, carry_out};
use crate::error::CommandError;
use crate::program::Context;
use crate::specs::{self, Selection};
use crate::ui;

/// Carries out the next stage of a rotation, and names the one after it.
pub(crate) async fn run(context: &Context, command: &RotateCommand) -> Result<ExitCode, CommandError> {
    if let RotateCommand::Ca(arguments) = command
        && arguments.restart_pods
    {
        return pods::restart(context, arguments).await;
    }
    let (subject, arguments) = command.parts();
    let written = specs::one(context, &Selection::from(&arguments.specs))?;
    let environment = context.environment()?;
    let direction = if arguments.back { Direction::Back } else { Direction::Forward };
    let step = next_stage(&environment, written, subject, direction).await?;
    let RotationStep { opened, request, from, to, is_last } = &step;
    if subject == RotatedKey::KubernetesCa && (*from, *to) == (Stage::Added, Stage::Used) {
        pods::warn(context, opened).await;
    }
    if arguments.dry_run {
        let planned = opened.plan(request).await?;
        ui::show::plan(context, &planned.plan, &arguments.show)?;
        return Ok(pending(&planned.plan));
    }
    let dialogue = Dialogue::showing(&arguments.run, &arguments.show);
    let is_complete = carry_out(context, &environment, opened, request, dialogue).await?;
    if is_complete {
        context.output.message(&reached(subject, *to, *is_last));
        let is_published = *is_last || (*from, *to) == (Stage::Rest, Stage::Added);
        if subject == RotatedKey::KubernetesCa && is_published {
            let written = specs::one(context, &Selection::from(&arguments.specs))?;
            pods::warn(context, &Opened::open(&environment, written).await?).await;
        }
    }
    Ok(done(is_complete))
}

/// What is reached, and what comes next.
fn reached(subject: RotatedKey, stage: Stage, is_last: bool) -> String {
    let command = format!("slipway rotate {}", subject.name());
    let what = if subject.is_authority() { "authority" } else { "key" };
    match stage {
        Stage::Rest if is_last && subject.keeps_old_keys() => {
            "The rotation is complete: the old authority is not accepted any more. Its key stays in the state for older snapshots."
                .to_owned()
        }
        Stage::Rest if is_last => "The rotation is complete: the old key is deleted.".to_owned(),
        Stage::Rest => "The rotation was given up: the new key is deleted.".to_owned(),
        Stage::Added => format!(
            "Stage 1 of 3 is complete: the new {what} is accepted, and the old one is used. `{command}` goes on."
        ),
        Stage::Used => format!(
            "Stage 2 of 3 is complete: the new {what} is used, and the old one is accepted. `{command}` removes the old {what}, after \
             which there is no way back; `{command} --back` goes back."
        ),
    }
}
