//! Lines with styles, before they become terminal text or a part of a comment.

use anstyle::{AnsiColor, Color, Effects, Style as Paint};

/// The meaning of a piece of a line, shown by its colour only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Style {
    /// Nothing special.
    #[default]
    Plain,
    /// A heading or an address.
    Strong,
    /// Less important text.
    Faint,
    /// A created object.
    Added,
    /// A deleted object.
    Removed,
    /// A change in place.
    Changed,
    /// A replaced object.
    Replaced,
    /// A rolled or recorded object.
    Rolled,
    /// A warning.
    Warning,
}

impl Style {
    /// The name of the style in a page.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Strong => "strong",
            Self::Faint => "faint",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Replaced => "replaced",
            Self::Rolled => "rolled",
            Self::Warning => "warning",
        }
    }
}

/// The first column in a comment's diff, which colours the line there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Mark {
    /// None.
    #[default]
    None,
    /// `+`
    Added,
    /// `-`
    Removed,
    /// `!`
    Attention,
    /// `#`
    Remark,
}

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Line {
    indent: usize,
    mark: Mark,
    spans: Vec<(Style, String)>,
}

impl Line {
    /// An empty line at an indentation in columns.
    pub(super) fn at(indent: usize) -> Self {
        Self { indent, ..Self::default() }
    }

    /// The line with one more piece.
    pub(super) fn with(mut self, style: Style, text: impl Into<String>) -> Self {
        self.spans.push((style, text.into()));
        self
    }

    /// The line with one more plain piece.
    pub(super) fn text(self, text: impl Into<String>) -> Self {
        self.with(Style::Plain, text)
    }

    /// The line with its mark.
    pub(super) fn marked(mut self, mark: Mark) -> Self {
        self.mark = mark;
        self
    }

    /// The line further right.
    pub(super) fn indented(mut self, by: usize) -> Self {
        self.indent += by;
        self
    }

    /// Columns before it.
    pub(super) fn indent(&self) -> usize {
        self.indent
    }

    /// Its pieces with their styles.
    pub(super) fn spans(&self) -> &[(Style, String)] {
        &self.spans
    }

    /// Appends the line to a terminal's text.
    pub(super) fn write(&self, out: &mut String, color: bool) {
        out.extend(std::iter::repeat_n(' ', self.indent));
        for (style, text) in &self.spans {
            let paint = style.paint();
            if color && *style != Style::Plain {
                // Display of a style writes its escape sequence.
                out.push_str(&format!("{paint}{text}{paint:#}"));
            } else {
                out.push_str(text);
            }
        }
        trim_end(out);
        out.push('\n');
    }

    /// Appends the line to a fenced diff: the mark first, then the text without colours. A text that begins
    /// with its mark does not repeat it.
    pub(super) fn write_diff(&self, out: &mut String) {
        let mark = match self.mark {
            Mark::None => ' ',
            Mark::Added => '+',
            Mark::Removed => '-',
            Mark::Attention => '!',
            Mark::Remark => '#',
        };
        let text: String = self.spans.iter().map(|(_, text)| text.as_str()).collect();
        match text.strip_prefix(mark) {
            Some(rest) if mark != ' ' && self.indent == 0 => {
                out.push(mark);
                out.push_str(rest);
            }
            Some(rest) if mark != ' ' => {
                out.push(mark);
                out.extend(std::iter::repeat_n(' ', self.indent + 2));
                out.push_str(rest);
            }
            _ => {
                out.push(mark);
                out.extend(std::iter::repeat_n(' ', self.indent + 1));
                out.push_str(&text);
            }
        }
        trim_end(out);
        out.push('\n');
    }
}

fn trim_end(out: &mut String) {
    out.truncate(out.trim_end_matches(' ').len());
}

impl Style {
    fn paint(self) -> Paint {
        let color = |color: AnsiColor| Paint::new().fg_color(Some(Color::Ansi(color)));
        match self {
            Self::Plain => Paint::new(),
            Self::Strong => Paint::new().effects(Effects::BOLD),
            Self::Faint => Paint::new().effects(Effects::DIMMED),
            Self::Added => color(AnsiColor::Green),
            Self::Removed => color(AnsiColor::Red),
            Self::Changed => color(AnsiColor::Yellow),
            Self::Replaced => color(AnsiColor::Magenta),
            Self::Rolled => color(AnsiColor::Cyan),
            Self::Warning => color(AnsiColor::Red).effects(Effects::BOLD),
        }
    }
}
