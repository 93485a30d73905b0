//! Progress at a terminal: a line for each running step, a bar for the whole, and a line that stays for each finished step. No
//! line is wider than the terminal.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use slipway_engine::Event;
use slipway_limits::text::visible;
use slipway_plan::{StepId, render};

use super::work::Work;
use super::{failed, milliseconds, short};
use crate::output::Output;

/// How many running steps have a line of their own.
const LINES: usize = 8;

/// How often bars move.
const TICK: Duration = Duration::from_millis(200);

/// Draws until the last event.
pub(super) fn show(events: &Receiver<Event>, output: Output, work: &Work) {
    let mut bars = Bars::new(output, work);
    loop {
        match events.recv_timeout(TICK) {
            Ok(event) => bars.take(event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        bars.refresh();
    }
    bars.whole.finish_and_clear();
}

struct Bars<'w> {
    output: Output,
    work: &'w Work,
    multi: MultiProgress,
    whole: ProgressBar,
    running: BTreeMap<StepId, Running>,
    /// By position.
    is_done: Vec<bool>,
    is_stopping: bool,
    refreshed: Option<Instant>,
}

struct Running {
    bar: Option<ProgressBar>,
    begun: Instant,
    message: String,
}

impl<'w> Bars<'w> {
    fn new(output: Output, work: &'w Work) -> Self {
        let multi = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let whole = multi.add(ProgressBar::new(work.steps.len() as u64));
        if let Ok(style) = ProgressStyle::with_template(&whole_template(output.error_color())) {
            whole.set_style(style.progress_chars("━╸ "));
        }
        whole.enable_steady_tick(TICK);
        Self {
            output,
            work,
            multi,
            whole,
            running: BTreeMap::new(),
            is_done: vec![false; work.steps.len()],
            is_stopping: false,
            refreshed: None,
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Started(id) => {
                let message = visible(self.work.title(id)).into_owned();
                let begun = Instant::now();
                self.running.entry(id).or_insert(Running { bar: None, begun, message });
                self.fill();
            }
            Event::Stopping => {
                self.is_stopping = true;
                self.refreshed = None;
            }
            Event::Progress(id, text) => self.note(id, &text),
            Event::Retrying { step, error, delay } => {
                self.note(step, &format!("again in {}: {}", short(delay), error.message));
            }
            Event::Done(id, elapsed) => {
                let line = finished(self.work.title(id), elapsed, self.output.error_width());
                // Progress that cannot be shown stops nothing.
                drop(self.multi.println(line));
                self.end(id);
            }
            Event::DoneBefore(id) => self.end(id),
            Event::Failed(id, error) => {
                let text = failed(self.work, id, &error.message);
                self.multi.suspend(|| self.output.message(&text));
                self.end(id);
            }
        }
    }

    /// Gives a line to the running steps that have none, the earliest of the plan first.
    fn fill(&mut self) {
        let shown = self.running.values().filter(|running| running.bar.is_some()).count();
        let hidden = self.running.values_mut().filter(|running| running.bar.is_none());
        for running in hidden.take(LINES.saturating_sub(shown)) {
            running.bar = Some(line(&self.multi, running.begun.elapsed(), &running.message));
        }
    }

    fn note(&mut self, id: StepId, text: &str) {
        let Some(running) = self.running.get_mut(&id) else { return };
        // A bar writes to the terminal by itself.
        running.message = visible(&format!("{}: {text}", self.work.title(id))).into_owned();
        if let Some(bar) = &running.bar {
            bar.set_message(running.message.clone());
        }
    }

    fn end(&mut self, id: StepId) {
        if let Some(mark) = self.is_done.get_mut(id.index()) {
            *mark = true;
        }
        if let Some(Running { bar: Some(bar), .. }) = self.running.remove(&id) {
            bar.finish_and_clear();
        }
        self.whole.inc(1);
        self.fill();
    }

    /// Shows what remains, unless it was shown a moment ago.
    fn refresh(&mut self) {
        if self.refreshed.is_some_and(|before| before.elapsed() < TICK) {
            return;
        }
        self.refreshed = Some(Instant::now());
        self.whole.set_message(visible(&self.status()).into_owned());
    }

    fn status(&self) -> String {
        if self.is_stopping {
            return "stopping; Ctrl-C again stops at once".to_owned();
        }
        let ran_ms = |id: StepId| self.running.get(&id).map_or(0, |step| milliseconds(step.begun.elapsed()));
        let time = match self.work.remaining_ms(&self.is_done, ran_ms) {
            0 => None,
            remaining => Some(format!("about {} left", render::duration(remaining))),
        };
        time.into_iter().chain(self.next()).collect::<Vec<_>>().join("; ")
    }

    /// The next step and the step that it waits for.
    fn next(&self) -> Option<String> {
        let is_done = |id: &StepId| self.is_done.get(id.index()).copied().unwrap_or(false);
        let step = self.work.steps.iter().find(|step| {
            !is_done(&step.id)
                && !self.running.contains_key(&step.id)
                && step.waits_for.iter().any(|id| !is_done(id))
        })?;
        let held_by = step.waits_for.iter().find(|id| !is_done(id))?;
        Some(format!("next: {} waits for {}", step.text, self.work.title(*held_by)))
    }
}

/// The bar for the whole, as a template of `indicatif`. `wide_msg` takes the rest of the line and is cut there.
fn whole_template(color: bool) -> String {
    let style = if color { ".green" } else { "" };
    format!("{{elapsed_precise}} [{{bar:20{style}}}] {{pos}}/{{len}} {{wide_msg}}")
}

fn line(multi: &MultiProgress, ran: Duration, message: &str) -> ProgressBar {
    let bar = multi.add(ProgressBar::new_spinner()).with_elapsed(ran);
    if let Ok(style) = ProgressStyle::with_template("  {spinner} {elapsed:>3} {wide_msg}") {
        bar.set_style(style);
    }
    bar.set_message(message.to_owned());
    bar.enable_steady_tick(TICK);
    bar
}

/// The line that a finished step leaves: at most `width` columns.
fn finished(title: &str, elapsed: Duration, width: usize) -> String {
    let (title, time) = (visible(title), format!(" ({})", short(elapsed)));
    let room = width.saturating_sub(2 + time.chars().count());
    if title.chars().count() <= room {
        return format!("✓ {title}{time}");
    }
    let cut: String = title.chars().take(room.saturating_sub(1)).collect();
    format!("✓ {cut}…{time}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_has_a_colour_only_where_colour_is_wanted() {
        assert!(whole_template(true).contains("{bar:20.green}"));
        assert_eq!(whole_template(false), "{elapsed_precise} [{bar:20}] {pos}/{len} {wide_msg}");
    }

    #[test]
    fn the_line_of_a_finished_step_fits_into_the_terminal() {
        let took = Duration::from_secs(12);
        assert_eq!(finished("create sim_network.main", took, 80), "✓ create sim_network.main (12 s)");
        assert_eq!(finished("create sim_network.main", took, 20), "✓ create sim… (12 s)");
    }
}
