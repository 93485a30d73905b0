use crate::{
    diagnostic::{Diagnostic, code},
    source::{Position, SourceFile, Span},
};

/// How many lines above a mistake its cause is looked for.
const LOOK_BACK: u32 = 500;

/// Replaces tabs in the indentation by spaces, each reported; `None` when there are none.
///
/// Only called after a mistake, because a tab may also be part of a block of text. Lines that begin with a tab never
/// are; of the others only the one where reading stopped is taken.
pub(super) fn replace_tabs(
    file: &SourceFile,
    text: &str,
    lines_before: u32,
    failed: u32,
) -> Option<(String, Vec<Diagnostic>)> {
    let mut found = Vec::new();
    let mut replaced = String::with_capacity(text.len());
    let mut above = "";
    for (number, line) in (lines_before + 1..).zip(text.split_inclusive('\n')) {
        let rest = line.trim_start_matches([' ', '\t']);
        let (indentation, _) = line.split_at(line.len() - rest.len());
        let blank = rest.trim().is_empty();
        if blank || !(indentation.starts_with('\t') || number == failed && indentation.contains('\t')) {
            replaced.push_str(line);
            if !blank {
                above = line;
            }
            continue;
        }
        let column = indentation.chars().take_while(|letter| *letter == ' ').count() + 1;
        let column = u32::try_from(column).unwrap_or(u32::MAX);
        let start = Position { line: number, column };
        let span = Span { start, end: Position { line: number, column: column + 1 } };
        found.push(
            Diagnostic::error(code::SYNTAX, "the indentation contains a tab")
                .at(file, span)
                .hint("YAML is indented with spaces only; replace the tab with two spaces"),
        );
        // The probable intention: inside the line above, or beside it.
        let deeper = if above.trim_end().ends_with(':') { 2 } else { 0 };
        let outer = above.len() - above.trim_start().len();
        let column_of_line = if outer + deeper > 0 { outer + deeper } else { indentation.len() * 2 };
        replaced.push_str(&" ".repeat(column_of_line));
        replaced.push_str(rest);
    }
    if found.is_empty() { None } else { Some((replaced, found)) }
}

/// The first character that is not allowed in a YAML file (YAML 1.2, production `c-printable`).
pub(super) fn unprintable(file: &SourceFile) -> Option<Diagnostic> {
    let printable = |letter: char| {
        matches!(letter,
            '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
    };
    let (index, letter) = file.text().char_indices().find(|(_, letter)| !printable(*letter))?;
    let before = &file.text()[..index];
    let line = u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX).saturating_add(1);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    let start = Position { line, column: u32::try_from(column).unwrap_or(u32::MAX).saturating_add(1) };
    let end = Position { column: start.column.saturating_add(1), ..start };
    let number = u32::from(letter);
    let message = format!("the control character U+{number:04X} cannot stand in YAML");
    Some(
        Diagnostic::error(code::SYNTAX, message)
            .at(file, Span { start, end })
            .hint(format!("delete it; where it is meant, write it in double quotes as \"\\x{number:02x}\"")),
    )
}

/// The meaning of a parser's error, at the line of the mistake. Returns also the line where the parser
/// stopped.
pub(super) fn explain(
    file: &SourceFile,
    info: &str,
    position: Position,
    open: Option<Span>,
) -> (Diagnostic, u32) {
    let stopped = position.line;
    if info.contains("recursion limit") {
        let diagnostic = Diagnostic::error(code::OVER_BUDGET, "values are nested too deeply")
            .at(file, to_line_end(file, position))
            .hint("a spec needs far less; write it flatter");
        return (diagnostic, stopped);
    }
    if info.contains("unknown anchor") {
        let span = alias_at(file, position);
        return (unknown_alias(&file.excerpt(span)).at(file, span), stopped);
    }
    if let Some(start) = unclosed_quote(file, position.line) {
        let diagnostic = Diagnostic::error(code::SYNTAX, "a quoted text is never closed")
            .at(file, to_line_end(file, start))
            .hint("close the quote on the same line, or leave both quotes out");
        return (diagnostic, stopped);
    }
    let at_end = file.line(position.line).trim().is_empty();
    if let Some(open) = open
        && let Some(bracket) = file.line(open.start.line).chars().nth(column_index(open.start))
        && let Some(closing) = match bracket {
            '[' => Some(']'),
            '{' => Some('}'),
            _ => None,
        }
    {
        let diagnostic = Diagnostic::error(code::SYNTAX, format!("a `{bracket}` is never closed"))
            .at(
                file,
                Span { start: open.start, end: Position { column: open.start.column + 1, ..open.start } },
            )
            .hint(format!("close it with `{closing}`"));
        return (diagnostic, stopped);
    }
    if let Some(start) = missing_space_after_hyphen(file, position.line) {
        let diagnostic = Diagnostic::error(code::SYNTAX, "a list item has no space after its hyphen")
            .at(file, to_line_end(file, start))
            .hint("write a space between the hyphen and the item, as in `- item`");
        return (diagnostic, stopped);
    }
    if let Some(start) = missing_space_after_colon(file, position.line) {
        let diagnostic = Diagnostic::error(code::SYNTAX, "a key has no space after its colon")
            .at(file, to_line_end(file, start))
            .hint("write a space between the colon and the value, as in `name: value`");
        return (diagnostic, stopped);
    }
    let line = if at_end { last_content_line(file, position.line) } else { position.line };
    let text = file.line(line);
    let start = Position {
        line,
        column: first_column(text).max(if line == position.line { position.column } else { 1 }),
    };
    let (message, hint) = describe(info, text);
    (Diagnostic::error(code::SYNTAX, message).at(file, to_line_end(file, start)).hint(hint), stopped)
}

/// An alias without an anchor above it.
pub(super) fn unknown_alias(alias: &str) -> Diagnostic {
    let message = format!("the alias `{alias}` names no anchor above it in its document");
    let name = alias.trim_start_matches('*');
    Diagnostic::error(code::SYNTAX, message).hint(format!(
        "write its anchor `&{name}` before it, correct its name, or put a text that begins with `*` in quotes"
    ))
}

/// The alias at which a parser stopped.
fn alias_at(file: &SourceFile, position: Position) -> Span {
    let letters = file.line(position.line).chars().skip(column_index(position));
    let ends = |letter: &char| letter.is_whitespace() || matches!(letter, ',' | '[' | ']' | '{' | '}');
    let length = letters.take_while(|letter| !ends(letter)).count();
    let length = u32::try_from(length).unwrap_or(u32::MAX).max(1);
    Span { start: position, end: Position { column: position.column.saturating_add(length), ..position } }
}

fn describe(info: &str, line: &str) -> (String, &'static str) {
    let content = line.trim_start();
    if content.matches(": ").count() > 1 && info.contains("mapping values are not allowed") {
        return (
            "a text holds `: `, which begins another key".to_owned(),
            "put the text in quotes, as in `key: \"a: b\"`",
        );
    }
    if info.contains("mapping values")
        || info.contains("indent")
        || info.contains("block mapping")
        || info.contains("block collection")
        || info.contains("simple key")
        || info.contains("block sequence")
    {
        return (
            "the indentation does not fit the lines around it".to_owned(),
            "give all fields of one mapping the same indentation, two spaces deeper than the field that holds them",
        );
    }
    if content.starts_with(['@', '`', '%']) || info.contains("unexpected character") {
        return (
            "a text begins with a character that YAML keeps for itself".to_owned(),
            "put the text in quotes",
        );
    }
    if info.contains("anchor") || info.contains("alias") {
        return (
            "an alias names no anchor above it".to_owned(),
            "write the anchor before the alias, as in `&name`, or put a text that begins with `*` or `&` in quotes",
        );
    }
    (
        format!("this is not valid YAML: {info}"),
        "check the indentation, the quotes, and the colons of this line",
    )
}

/// The beginning of a quoted text that was never closed, looking back from the line where reading stopped.
fn unclosed_quote(file: &SourceFile, stopped: u32) -> Option<Position> {
    for number in (stopped.saturating_sub(LOOK_BACK).max(1)..=stopped).rev() {
        let line = file.line(number);
        let Some((column, quote)) = open_quote(line) else {
            if line.starts_with("---") && number != stopped {
                return None;
            }
            continue;
        };
        // A quote that a later line closes cleanly is a text of several lines, which is fine.
        let closed = (number + 1..stopped).any(|later| {
            let text = file.line(later);
            text.trim_end().ends_with(quote)
                && text.matches(quote).count() % 2 == 1
                && open_quote(text).is_none()
        });
        if !closed {
            return Some(Position { line: number, column });
        }
    }
    None
}

/// The quote that opens a value on this line and is not closed on it, with its column.
fn open_quote(line: &str) -> Option<(u32, char)> {
    let mut quote: Option<(u32, char)> = None;
    let mut before = ' ';
    let mut escaped = false;
    for (column, letter) in (1..).zip(line.chars()) {
        match quote {
            None if letter == '#' && before == ' ' => return None,
            None if matches!(letter, '"' | '\'') && matches!(before, ' ' | '[' | '{' | ',') => {
                quote = Some((column, letter));
            }
            Some((_, '"')) if escaped => escaped = false,
            Some((_, '"')) if letter == '\\' => escaped = true,
            Some((_, open)) if letter == open => quote = None,
            _ => {}
        }
        before = letter;
    }
    quote
}

/// A line such as `name:value`, at or right above the line where reading stopped.
fn missing_space_after_colon(file: &SourceFile, stopped: u32) -> Option<Position> {
    (stopped.saturating_sub(1).max(1)..=stopped).rev().find_map(|number| {
        let line = file.line(number);
        let content = line.trim_start().trim_start_matches("- ");
        let (key, rest) = content.split_once(':')?;
        let name = !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric());
        let glued = rest.chars().next().is_some_and(|letter| !letter.is_whitespace() && letter != '/');
        (name && glued).then(|| Position { line: number, column: first_column(line) })
    })
}

/// The first of the lines such as `-item` right above the line where reading stopped.
fn missing_space_after_hyphen(file: &SourceFile, stopped: u32) -> Option<Position> {
    let glued = |number: &u32| {
        let content = file.line(*number).trim_start();
        content
            .strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_alphabetic()))
    };
    let above = (1..stopped).rev().take_while(glued).last();
    let line = above.or_else(|| glued(&stopped).then_some(stopped))?;
    Some(Position { line, column: first_column(file.line(line)) })
}

fn last_content_line(file: &SourceFile, from: u32) -> u32 {
    (1..=from).rev().find(|number| !file.line(*number).trim().is_empty()).unwrap_or(1)
}

fn first_column(line: &str) -> u32 {
    let spaces = line.chars().take_while(|letter| letter.is_whitespace()).count();
    u32::try_from(spaces).unwrap_or_default() + 1
}

fn column_index(position: Position) -> usize {
    usize::try_from(position.column.saturating_sub(1)).unwrap_or(usize::MAX)
}

fn to_line_end(file: &SourceFile, start: Position) -> Span {
    let length = u32::try_from(file.line(start.line).trim_end().chars().count()).unwrap_or(u32::MAX);
    let end = Position { line: start.line, column: (length + 1).max(start.column + 1) };
    Span { start, end }
}
