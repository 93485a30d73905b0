//! Live progress: one task owns the terminal; plain lines where there is none.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use slipway_engine::Event;
use slipway_limits::text::visible;
use slipway_plan::render;
use slipway_plan::{Plan, StepId};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::output::Output;

/// How many running steps have a line of their own.
const LINES: usize = 8;

/// How long plain lines may say nothing while steps run.
const QUIET: Duration = Duration::from_secs(10);

/// Shows the progress of a run.
pub(crate) struct Progress {
    events: mpsc::UnboundedSender<Event>,
    task: JoinHandle<()>,
}

impl Progress {
    /// Begins to show a run of a plan.
    pub fn new(output: Output, plan: &Plan) -> Self {
        let (events, receiver) = mpsc::unbounded_channel();
        let steps: Arc<[Title]> = plan
            .steps
            .iter()
            .map(|step| Title { text: step.title(), waits_for: step.depends_on.clone() })
            .collect();
        let task = if output.shows_progress() {
            tokio::spawn(bars(receiver, output, steps))
        } else {
            tokio::spawn(lines(receiver, output, steps))
        };
        Self { events, task }
    }

    /// Shows an event of the run.
    pub fn show(&self, event: Event) {
        // A closed channel only means that progress is not shown any more.
        drop(self.events.send(event));
    }

    /// Clears the terminal for what comes after.
    pub fn finish(self) {
        self.task.abort();
    }
}

struct Title {
    text: String,
    waits_for: Vec<StepId>,
}

/// Plain lines: finished and failed steps. The begin of a step is shown only when the step takes long.
async fn lines(mut events: mpsc::UnboundedReceiver<Event>, output: Output, steps: Arc<[Title]>) {
    let title = |id: StepId| steps.get(id.index()).map_or("", |step| step.text.as_str());
    let mut done = 0;
    let mut running: BTreeMap<StepId, Instant> = BTreeMap::new();
    loop {
        let event = match tokio::time::timeout(QUIET, events.recv()).await {
            Ok(Some(event)) => event,
            Ok(None) => return,
            Err(_) => {
                if let Some(text) = waited_for(&running, &title) {
                    output.message(&text);
                }
                continue;
            }
        };
        let count = steps.len();
        match &event {
            Event::Started(id) => drop(running.entry(*id).or_insert_with(Instant::now)),
            Event::Done(id, _) | Event::DoneBefore(id) | Event::Failed(id, _) => drop(running.remove(id)),
            _ => {}
        }
        match event {
            Event::Done(id, elapsed) => {
                done += 1;
                output.message(&format!("[{done}/{count}] {} ({})", title(id), short(elapsed)));
            }
            Event::DoneBefore(_) => done += 1,
            Event::Failed(id, error) => output.message(&format!("failed: {}: {}", title(id), error.message)),
            Event::Retrying { step, error, delay } => {
                let text = format!("again in {}: {}: {}", short(delay), title(step), error.message);
                output.message(&text);
            }
            Event::Progress(id, text) => output.message(&format!("{}: {text}", title(id))),
            Event::Started(_) | Event::Stopping => {}
        }
    }
}

/// The step that has run longest, and the number of other running steps.
fn waited_for<'t>(running: &BTreeMap<StepId, Instant>, title: &dyn Fn(StepId) -> &'t str) -> Option<String> {
    let (id, begun) = running.iter().min_by_key(|(_, begun)| **begun)?;
    let others = match running.len() - 1 {
        0 => String::new(),
        others => format!(", and for {others} more"),
    };
    Some(format!("waiting for: {} ({}){others}", title(*id), short(begun.elapsed())))
}

/// Bars: one for the whole run, one line for each running step, and the steps that the next ones wait for.
async fn bars(mut events: mpsc::UnboundedReceiver<Event>, output: Output, steps: Arc<[Title]>) {
    let multi = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
    let whole = multi.add(ProgressBar::new(steps.len() as u64));
    if let Ok(style) = ProgressStyle::with_template(&whole_template(output.error_color())) {
        whole.set_style(style.progress_chars("━╸ "));
    }
    whole.enable_steady_tick(Duration::from_millis(200));
    let mut running: BTreeMap<StepId, Running> = BTreeMap::new();
    let mut state: Vec<bool> = vec![false; steps.len()];
    while let Some(event) = events.recv().await {
        match event {
            Event::Started(id) if !running.contains_key(&id) => {
                let bar = (running.len() < LINES).then(|| line(&multi, &steps, id));
                running.insert(id, Running { bar, begun: Instant::now() });
            }
            Event::Started(_) | Event::Stopping => {}
            Event::Progress(id, text) => running.get(&id).into_iter().for_each(|line| line.note(&text)),
            Event::Retrying { step, error, delay } => {
                let text = format!("again in {}: {}", short(delay), error.message);
                running.get(&step).into_iter().for_each(|line| line.note(&text));
            }
            Event::Done(id, _) | Event::DoneBefore(id) | Event::Failed(id, _) => {
                if let Event::Failed(_, error) = &event {
                    let title = steps.get(id.index()).map_or("", |step| step.text.as_str());
                    whole.suspend(|| output.message(&format!("failed: {title}: {}", error.message)));
                }
                if let Some(mark) = state.get_mut(id.index()) {
                    *mark = true;
                }
                if let Some(Running { bar: Some(bar), .. }) = running.remove(&id) {
                    bar.finish_and_clear();
                }
                whole.inc(1);
                whole.set_message(next(&steps, &state, &running));
            }
        }
    }
    whole.finish_and_clear();
}

/// The bar for the whole, as a template of `indicatif`.
fn whole_template(color: bool) -> String {
    let style = if color { ".green" } else { "" };
    format!("{{elapsed_precise}} [{{bar:40{style}}}] {{pos}}/{{len}} {{msg}}")
}

struct Running {
    bar: Option<ProgressBar>,
    begun: Instant,
}

impl Running {
    fn note(&self, text: &str) {
        if let Some(bar) = &self.bar {
            // A bar writes to the terminal by itself.
            bar.set_message(format!("{} ({})", visible(text), short(self.begun.elapsed())));
        }
    }
}

fn line(multi: &MultiProgress, steps: &[Title], id: StepId) -> ProgressBar {
    let bar = multi.add(ProgressBar::new_spinner());
    if let Ok(style) = ProgressStyle::with_template("  {spinner} {prefix} {elapsed} {msg}") {
        bar.set_style(style);
    }
    bar.set_prefix(steps.get(id.index()).map(|step| step.text.clone()).unwrap_or_default());
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// The next step and the steps that it waits for.
fn next(steps: &[Title], done: &[bool], running: &BTreeMap<StepId, Running>) -> String {
    let is_done = |id: &StepId| done.get(id.index()).copied().unwrap_or(false);
    let waiting = steps.iter().enumerate().find(|(position, step)| {
        !done.get(*position).copied().unwrap_or(true)
            && !running.keys().any(|id| id.index() == *position)
            && step.waits_for.iter().any(|id| !is_done(id))
    });
    let Some((_, step)) = waiting else { return String::new() };
    let held_by = step.waits_for.iter().find(|id| !is_done(id)).and_then(|id| steps.get(id.index()));
    match held_by {
        Some(other) => format!("next: {} waits for {}", step.text, other.text),
        None => String::new(),
    }
}

fn short(duration: Duration) -> String {
    render::duration(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_has_a_colour_only_where_colour_is_wanted() {
        assert!(whole_template(true).contains("{bar:40.green}"));
        assert_eq!(whole_template(false), "{elapsed_precise} [{bar:40}] {pos}/{len} {msg}");
    }
}
