//! The layout of `terraform fmt`: the equals signs of neighbouring lines are in one column.

/// A line, as far as the layout is concerned.
enum Line<'a> {
    /// `name = value`, with the whole value on the line: the name with its indentation, and what begins at the sign.
    Assignment(&'a str, &'a str),
    /// Any other line. It ends the lines that are neighbours.
    Other(&'a str),
}

/// The text of a configuration with aligned equals signs. As in `terraform fmt`, a line whose value continues
/// below is not aligned, and the lines before and after it are not neighbours. A here document counts as one
/// line.
pub(super) fn aligned(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut neighbours: Vec<(&str, String)> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        match read(line) {
            Line::Assignment(name, rest) => {
                let mut value = rest.to_owned();
                if let Some(end) = heredoc(rest) {
                    for line in lines.by_ref() {
                        value.push('\n');
                        value.push_str(line);
                        if line.trim() == end {
                            break;
                        }
                    }
                }
                neighbours.push((name, value));
            }
            Line::Other(line) => {
                write(&mut out, &mut neighbours);
                push(&mut out, line);
            }
        }
    }
    write(&mut out, &mut neighbours);
    out
}

fn push(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

/// Writes neighbouring lines, which are none afterwards.
fn write(out: &mut String, neighbours: &mut Vec<(&str, String)>) {
    let columns = |name: &str| name.chars().count();
    let widest = neighbours.iter().map(|(name, _)| columns(name)).max().unwrap_or_default();
    for (name, rest) in neighbours.drain(..) {
        out.push_str(name);
        out.extend(std::iter::repeat_n(' ', widest - columns(name) + 1));
        push(out, &rest);
    }
}

fn read(line: &str) -> Line<'_> {
    let Some(place) = sign(line) else { return Line::Other(line) };
    let (name, rest) = line.split_at(place);
    if is_open(rest) { Line::Other(line) } else { Line::Assignment(name.trim_end(), rest) }
}

/// The position of the sign of an assignment: after a name or a quoted key.
fn sign(line: &str) -> Option<usize> {
    let begin = line.len() - line.trim_start().len();
    let body = line.get(begin..)?;
    let name = match body.strip_prefix('"') {
        Some(quoted) => 1 + end_of_text(quoted)?,
        None => body.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))?,
    };
    let between = body.get(name..)?;
    let place = between.len() - between.trim_start().len();
    let sign = between.get(place..)?;
    let is_sign = name > 0 && sign.starts_with("= ");
    is_sign.then_some(begin + name + place)
}

/// Where a quoted text ends, behind its closing quote; `quoted` begins behind the opening one.
fn end_of_text(quoted: &str) -> Option<usize> {
    let mut escaped = false;
    // The depth of interpolations, in which quotes are those of texts of their own.
    let mut depth = 0_usize;
    let mut inner = false;
    let mut before = ' ';
    for (place, c) in quoted.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' if depth == 0 => return Some(place + 1),
            '"' => inner = !inner,
            '{' if !inner && (depth > 0 || matches!(before, '$' | '%')) => depth += 1,
            '}' if !inner => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = c;
    }
    None
}

/// Whether more brackets are opened on a line than are closed, texts left out.
fn is_open(rest: &str) -> bool {
    let mut depth = 0_i64;
    let mut left = rest;
    while let Some(c) = left.chars().next() {
        left = &left[c.len_utf8()..];
        match c {
            '"' => left = end_of_text(left).and_then(|end| left.get(end..)).unwrap_or_default(),
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            _ => {}
        }
    }
    depth != 0
}

/// The word that ends the here document which begins behind a sign.
fn heredoc(rest: &str) -> Option<&str> {
    let word = rest.strip_prefix('=')?.trim().strip_prefix("<<")?;
    Some(word.strip_prefix('-').unwrap_or(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_neighbours_stand_in_one_column() {
        let text = "resource \"a\" \"b\" {\n  name = \"x\"\n  a_long_name = 1\n  list = [\n    \"a = b\",\n  ]\n  tags = {\n    \
                    \"k\" = \"${c == d ? \"}\" : e}\"\n    \"longer\" = f(1)\n  }\n  policy = <<JSON\n{\n  a = 1\n  long = 2\n}\nJSON\n  \
                    next_one = true\n}\n";
        let wanted = "resource \"a\" \"b\" {\n  name        = \"x\"\n  a_long_name = 1\n  list = [\n    \"a = b\",\n  ]\n  \
                      tags = {\n    \"k\"      = \"${c == d ? \"}\" : e}\"\n    \"longer\" = f(1)\n  }\n  policy   = <<JSON\n{\n  \
                      a = 1\n  long = 2\n}\nJSON\n  next_one = true\n}\n";
        assert_eq!(aligned(text), wanted);
        assert_eq!(aligned(wanted), wanted);
    }
}
