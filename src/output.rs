//! Where results and messages go: results to standard output only, everything else to standard error.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use slipway_engine::WaitHandler;
use slipway_limits::text;

use crate::cli::ColorWhen;
use crate::error::CommandError;

/// Standard output and standard error, with or without colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    out_color: bool,
    error_color: bool,
    quiet: bool,
}

impl Output {
    /// Colour by the option; `auto` checks the terminal, `NO_COLOR` and `CLICOLOR_FORCE`.
    pub fn new(when: ColorWhen) -> Self {
        let choice = |auto: ColorChoice| match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => auto != ColorChoice::Never,
        };
        Self {
            out_color: choice(AutoStream::choice(&io::stdout())),
            error_color: choice(AutoStream::choice(&io::stderr())),
            quiet: false,
        }
    }

    /// The same without messages: results, errors and questions only.
    #[must_use]
    pub fn quiet(self, quiet: bool) -> Self {
        Self { quiet, ..self }
    }

    /// As the terminal and the environment say.
    pub fn standard() -> Self {
        Self::new(ColorWhen::Auto)
    }

    /// Whether results may be coloured.
    pub fn color(self) -> bool {
        self.out_color
    }

    /// Whether messages may be coloured.
    pub fn error_color(self) -> bool {
        self.error_color
    }

    /// Whether a person can be asked and can see progress.
    pub fn is_interactive(self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Whether progress is drawn over and over: on a terminal, unless `--quiet` is given.
    pub fn shows_progress(self) -> bool {
        !self.quiet && self.is_interactive()
    }

    /// Whether notes are part of results.
    pub fn shows_notes(self) -> bool {
        !self.quiet
    }

    /// How many columns a result may take: `COLUMNS`, or the width of the terminal, or 100.
    pub fn width(self) -> usize {
        let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        named.or_else(|| terminal_width(io::stdout())).unwrap_or(100)
    }

    /// How many columns the terminal has that messages are written to; 80 where it does not say.
    pub fn error_width(self) -> usize {
        terminal_width(io::stderr()).unwrap_or(80)
    }

    /// Whether results are cut and folded to the width: only a person at a terminal reads them then.
    pub fn fits_width(self) -> bool {
        io::stdout().is_terminal()
    }

    /// Writes a result to standard output. Control sequences in it are written as text, such as `\u001b`,
    /// because they come from a spec, a provider or a host. The meaning of text and JSON is not changed.
    pub fn result(self, text: &str) -> Result<(), CommandError> {
        let text = fit(text, self.out_color);
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        out.flush()?;
        Ok(())
    }

    /// Writes how something ended that was carried out. A reader that closed the pipe does not make it a failure: the exit code
    /// is about what was done.
    ///
    /// # Errors
    /// When it cannot be written for another reason, as on a full disk.
    pub fn outcome(self, text: &str) -> Result<(), CommandError> {
        match self.result(text) {
            Err(error) if error.is_broken_pipe() => Ok(()),
            written => written,
        }
    }

    /// Writes a note, a warning or progress to standard error, unless `--quiet` is given.
    pub fn message(self, text: &str) {
        if !self.quiet {
            self.notice(text);
        }
    }

    /// Writes an error or a question to standard error, made fit for a terminal as a result is. A failure to write it is
    /// ignored.
    pub fn notice(self, text: &str) {
        let text = fit(text, self.error_color);
        let mut out = io::stderr().lock();
        let _ = out.write_all(text.as_bytes());
        if !text.ends_with('\n') {
            let _ = out.write_all(b"\n");
        }
    }

    /// Says on standard error what a command waits for.
    pub fn waits(self) -> WaitHandler {
        WaitHandler::new(move |wait| self.message(&wait.to_string()))
    }

    /// A word in the colour of errors.
    pub fn style_error(self, text: &str) -> String {
        self.style(Style::new().bold().fg_color(Some(AnsiColor::Red.into())), text)
    }

    /// A word in the colour of hints.
    pub fn style_hint(self, text: &str) -> String {
        self.style(Style::new().bold().fg_color(Some(AnsiColor::Cyan.into())), text)
    }

    fn style(self, style: Style, text: &str) -> String {
        if self.error_color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}

/// The columns of a terminal; `None` for anything else, and for a terminal that does not know.
fn terminal_width(of: impl AsFd) -> Option<usize> {
    let columns = rustix::termios::tcgetwinsize(of).ok()?.ws_col;
    (columns > 0).then_some(usize::from(columns))
}

/// A text for a terminal, with its colours where there may be some: only colours and weights of the kind that Slipway's
/// own styles have, so that a text of others can at worst be coloured, never hidden or moved.
fn fit(text: &str, color: bool) -> Cow<'_, str> {
    text::visible_but(text, |rest| if color { style_length(rest) } else { None })
}

/// The length of a style at the beginning of a text: `ESC [ n m`, as `anstyle` writes each effect and colour.
fn style_length(text: &str) -> Option<usize> {
    let (number, _) = text.strip_prefix("\u{1b}[")?.split_once('m')?;
    // Off, bold, faint, italic, underlined; the sixteen colours of a text.
    let known = matches!(number.parse::<u8>(), Ok(0..=4 | 30..=37 | 39 | 90..=97));
    (known && number.len() <= 2).then(|| number.len() + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_of_styles_stay_and_everything_else_is_written_out() {
        let style = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        let ours = format!("{style}error{style:#}: text");
        assert_eq!(fit(&ours, true), ours);
        assert_eq!(fit("\u{1b}[1mbold", false), "\\u001b[1mbold");
        for theirs in
            ["\u{1b}[2J", "\u{1b}[8m", "\u{1b}[1;8m", "\u{1b}]0;title\u{7}", "\u{9b}31m", "\u{1b}[", "\r"]
        {
            assert!(!fit(theirs, true).contains(|letter: char| letter.is_control()), "{theirs:?}");
        }
    }
}
