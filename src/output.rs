//! Where results and messages go: results to standard output only, everything else to standard error.

use std::io::{self, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use slipway_engine::WaitHandler;

use crate::cli::ColorWhen;
use crate::error::CommandError;

/// Standard output and standard error, with or without colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    out_color: bool,
    error_color: bool,
}

impl Output {
    /// Colour as asked for; `auto` looks at the terminal, `NO_COLOR` and `CLICOLOR_FORCE`.
    pub fn new(when: ColorWhen) -> Self {
        let choice = |auto: ColorChoice| match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => auto != ColorChoice::Never,
        };
        Self {
            out_color: choice(AutoStream::choice(&io::stdout())),
            error_color: choice(AutoStream::choice(&io::stderr())),
        }
    }

    /// As the terminal and the environment say.
    pub fn standard() -> Self {
        Self::new(ColorWhen::Auto)
    }

    /// Whether results may be coloured.
    pub fn color(self) -> bool {
        self.out_color
    }

    /// Whether a person can be asked and can see progress.
    pub fn is_interactive(self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// How many columns a result may take.
    pub fn width(self) -> usize {
        std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(100)
    }

    /// Writes a result to standard output.
    pub fn result(self, text: &str) -> Result<(), CommandError> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        out.flush()?;
        Ok(())
    }

    /// Writes a message to standard error. That it may get lost is no reason to fail.
    pub fn message(self, text: &str) {
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
