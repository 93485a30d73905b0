use std::fmt::Write as _;

use super::{Diagnostic, Severity};

/// One problem as text, without colours, ending in a line break:
///
/// ```text
/// error[SPEC0003]: unknown field `machinetype`
///   --> specs/a.yaml:14:11
///    |
/// 14 |   machinetype: sim.large
///    |   ^^^^^^^^^^^
///    = hint: did you mean `machineType`?
/// ```
#[must_use]
pub fn render(diagnostic: &Diagnostic) -> String {
    let mut text =
        format!("{}[{}]: {}\n", diagnostic.severity.as_str(), diagnostic.code.id, diagnostic.message);
    let mut margin = "  ".to_owned();
    if let Some(location) = &diagnostic.location {
        let number = location.line.to_string();
        margin = " ".repeat(number.len());
        line(&mut text, &format!("{margin}--> {location}"));
        if let Some(source) = &diagnostic.source_line {
            line(&mut text, &format!("{margin} |"));
            line(&mut text, format!("{number} | {}", source.replace('\t', " ")).trim_end());
            let begin = usize::try_from(location.column.saturating_sub(1)).unwrap_or_default();
            let rest = source.chars().count().saturating_sub(begin);
            let length = if location.end_line == location.line {
                usize::try_from(location.end_column.saturating_sub(location.column)).unwrap_or_default()
            } else {
                rest
            };
            let carets = "^".repeat(length.min(rest).max(1));
            line(&mut text, &format!("{margin} | {}{carets}", " ".repeat(begin)));
        }
    }
    if let Some(hint) = &diagnostic.hint {
        line(&mut text, &format!("{margin} = hint: {hint}"));
    }
    for related in &diagnostic.related {
        line(&mut text, &format!("{margin} = note: {}: {}", related.location, related.message));
    }
    text
}

/// All problems as text, an empty line between them, with their count at the end; empty when there are none.
#[must_use]
pub fn render_all(diagnostics: &[Diagnostic]) -> String {
    if diagnostics.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    for diagnostic in diagnostics {
        text.push_str(&render(diagnostic));
        text.push('\n');
    }
    line(&mut text, &count(diagnostics).to_string());
    text
}

/// How many problems there are of each severity. Prints as `2 errors, 1 warning`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// The errors.
    pub errors: usize,
    /// The warnings.
    pub warnings: usize,
    /// The notes.
    pub notes: usize,
}

/// Counts problems by severity.
#[must_use]
pub fn count(diagnostics: &[Diagnostic]) -> Count {
    diagnostics.iter().fold(Count::default(), |mut count, diagnostic| {
        match diagnostic.severity {
            Severity::Error => count.errors += 1,
            Severity::Warning => count.warnings += 1,
            Severity::Note => count.notes += 1,
        }
        count
    })
}

impl std::fmt::Display for Count {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts: Vec<String> = [(self.errors, "error"), (self.warnings, "warning"), (self.notes, "note")]
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}{}", if count == 1 { "" } else { "s" }))
            .collect();
        if parts.is_empty() {
            formatter.write_str("no problems")
        } else {
            formatter.write_str(&parts.join(", "))
        }
    }
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnostic::code,
        source::{Position, SourceFile, Span},
    };

    #[test]
    fn shows_the_line_with_carets() {
        let file = SourceFile::new("specs/a.yaml", "spec:\n  machinetype: sim.large\n");
        let span = Span { start: Position { line: 2, column: 3 }, end: Position { line: 2, column: 14 } };
        let diagnostic = Diagnostic::error(code::UNKNOWN_FIELD, "unknown field `machinetype`")
            .at(&file, span)
            .hint("did you mean `machineType`?");
        assert_eq!(
            render_all(&[diagnostic]),
            "error[SPEC0003]: unknown field `machinetype`\n \
             --> specs/a.yaml:2:3\n  |\n2 |   machinetype: sim.large\n  |   ^^^^^^^^^^^\n  \
             = hint: did you mean `machineType`?\n\n1 error\n"
        );
    }
}
