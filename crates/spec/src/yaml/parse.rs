use saphyr_parser::{Event, Parser};
use slipway_limits::{count, size};

use super::Node;
use crate::{
    diagnostic::{Diagnostic, code},
    source::{Position, SourceFile, Span},
};

mod builder;
mod syntax;

use builder::{Builder, Stop};

/// After so many mistakes the rest of a file is left unread.
const MAX_MISTAKES: usize = 100;

/// A document of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedDocument {
    /// Its outermost value, never null: documents without a value are left out.
    pub root: Node,
    /// Whether its end is missing because of a mistake.
    pub truncated: bool,
}

/// Reads all documents of a file, with every problem of its YAML.
///
/// After a mistake in one document the next ones are read too, and of the faulty one the part before the
/// mistake.
#[must_use]
pub fn parse(file: &SourceFile) -> (Vec<ParsedDocument>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let mut documents = Vec::new();
    if file.text().len() > size::SPEC.in_memory() {
        let diagnostic =
            Diagnostic::error(code::OVER_BUDGET, format!("the file is larger than {}", size::SPEC))
                .at(file, Span::START)
                .hint("split it into several files of one folder");
        return (documents, vec![diagnostic]);
    }
    // A parser misinterprets such characters.
    if let Some(diagnostic) = syntax::unprintable(file) {
        return (documents, vec![diagnostic]);
    }
    let mut text = file.text().to_owned();
    let mut lines_before = 0;
    let mut repaired = false;
    loop {
        let mut segment = Segment { file, lines_before, documents: Vec::new(), diagnostics: Vec::new() };
        let failure = segment.read(&text);
        if let Some(failure) = &failure
            && !repaired
            && let Some((without_tabs, found)) = syntax::replace_tabs(file, &text, lines_before, failure.line)
        {
            diagnostics.extend(found);
            text = without_tabs;
            repaired = true;
            continue;
        }
        documents.append(&mut segment.documents);
        diagnostics.append(&mut segment.diagnostics);
        if diagnostics.len() > MAX_MISTAKES {
            break;
        }
        if documents.len() > count::DOCUMENTS {
            let message = format!("the file holds more than {} documents", count::DOCUMENTS);
            let diagnostic = Diagnostic::error(code::OVER_BUDGET, message)
                .at(file, Span::START)
                .hint("split it into several files of one folder");
            return (Vec::new(), vec![diagnostic]);
        }
        let Some((rest, skipped)) =
            failure.and_then(|failure| after_document(&text, failure.line - lines_before))
        else {
            break;
        };
        text = rest;
        lines_before += skipped;
    }
    documents.retain(|document| !document.root.is_null());
    (documents, diagnostics)
}

/// The text after the next `---` after a line, with the number of lines before it.
fn after_document(text: &str, line: u32) -> Option<(String, u32)> {
    let mut number = 0;
    for (offset, content) in text.split_inclusive('\n').scan(0, |offset, content| {
        let start = *offset;
        *offset += content.len();
        Some((start, content))
    }) {
        number += 1;
        if number > line && (content.trim_end() == "---" || content.starts_with("--- ")) {
            return Some((text[offset..].to_owned(), number - 1));
        }
    }
    None
}

/// Where reading had to stop: a line of the file.
struct Failure {
    line: u32,
}

/// A part of a file that is read in one go.
struct Segment<'a> {
    file: &'a SourceFile,
    lines_before: u32,
    documents: Vec<ParsedDocument>,
    diagnostics: Vec<Diagnostic>,
}

impl Segment<'_> {
    fn read(&mut self, text: &str) -> Option<Failure> {
        let mut parser = Parser::new_from_str(text);
        let mut builder = Builder::new(self.file);
        loop {
            let (event, span) = match parser.next_event() {
                None | Some(Ok((Event::StreamEnd, _))) => {
                    self.diagnostics.append(&mut builder.diagnostics);
                    return None;
                }
                Some(Ok(next)) => next,
                Some(Err(error)) => {
                    let position = self.position(error.marker());
                    let (diagnostic, line) =
                        syntax::explain(self.file, error.info(), position, builder.open());
                    self.diagnostics.append(&mut builder.diagnostics);
                    self.diagnostics.push(diagnostic);
                    if let Some(root) = builder.unwind() {
                        self.documents.push(ParsedDocument { root, truncated: true });
                    }
                    return Some(Failure { line });
                }
            };
            let span = Span { start: self.position(&span.start), end: self.position(&span.end) };
            match builder.take(event, span) {
                Ok(None) => {}
                Ok(Some(root)) => self.documents.push(ParsedDocument { root, truncated: false }),
                Err(Stop) => {
                    self.diagnostics.append(&mut builder.diagnostics);
                    return Some(Failure { line: span.start.line });
                }
            }
        }
    }

    fn position(&self, marker: &saphyr_parser::Marker) -> Position {
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Position { line: number(marker.line()) + self.lines_before, column: number(marker.col()) + 1 }
    }
}

#[cfg(test)]
mod tests;
