//! Files of a spec, places in them, and the place of each field of a cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use serde::Serialize;

/// The longest line that messages show, in bytes.
const LONGEST_SHOWN: usize = 1000;

/// A path with escapes in the place of control characters.
fn shown(path: Arc<str>) -> Arc<str> {
    if !path.contains(char::is_control) {
        return path;
    }
    let mut shown = String::with_capacity(path.len() + 8);
    for letter in path.chars() {
        if letter.is_control() { shown.extend(letter.escape_default()) } else { shown.push(letter) }
    }
    shown.into()
}

/// A file as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    path: Arc<str>,
    text: String,
    /// Where each line begins.
    lines: Vec<usize>,
    /// The files of which a joined one consists, by their first lines.
    parts: Vec<Part>,
}

/// A file of a joined one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// The lines of the joined file before its own.
    lines_before: u32,
    file: Arc<SourceFile>,
}

impl SourceFile {
    /// A file with this path, for messages, and this text. Control characters of the path are escaped: who names a file writes no
    /// lines of a log.
    #[must_use]
    pub fn new(path: impl Into<Arc<str>>, text: impl Into<String>) -> Self {
        let (path, text) = (shown(path.into()), text.into());
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(breaks.map(|(index, _)| index + 1)).collect();
        Self { path, text, lines, parts: Vec::new() }
    }

    /// Several files as one, for documents that have values of more than one file: the lines of each file follow those of the
    /// files before it. Also the number of lines before each file, by which [`Span::down`] moves its spans. Places in the
    /// joined file are places in its files; it has no text of its own.
    pub(crate) fn joined(path: impl Into<Arc<str>>, files: &[Arc<Self>]) -> (Self, Vec<u32>) {
        let mut joined = Self::new(path, "");
        let mut lines_before: u32 = 0;
        for file in files {
            joined.parts.push(Part { lines_before, file: Arc::clone(file) });
            let lines = u32::try_from(file.lines.len()).unwrap_or(u32::MAX);
            // The end of a file may be one line after its last line.
            lines_before = lines_before.saturating_add(lines).saturating_add(1);
        }
        let before = joined.parts.iter().map(|part| part.lines_before).collect();
        (joined, before)
    }

    /// The part of a joined file that has a line.
    fn part(&self, line: u32) -> Option<&Part> {
        let after = self.parts.partition_point(|part| part.lines_before < line);
        after.checked_sub(1).and_then(|index| self.parts.get(index))
    }

    /// The file with this path: this one, or a part of it.
    pub(crate) fn named(&self, path: &str) -> Option<&Self> {
        if self.parts.is_empty() {
            return Some(self).filter(|file| *file.path == *path);
        }
        self.parts.iter().map(|part| &*part.file).find(|file| *file.path == *path)
    }

    /// The path as it is shown.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The whole text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line with this number, counted from 1, without its end; empty when there is none.
    #[must_use]
    pub fn line(&self, number: u32) -> &str {
        if let Some(part) = self.part(number) {
            return part.file.line(number.saturating_sub(part.lines_before));
        }
        let index = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        let start = self.lines.get(index).copied().unwrap_or(self.text.len());
        let end = self.lines.get(index + 1).copied().unwrap_or(self.text.len());
        self.text.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r'])
    }

    /// The line with this number for a message; `None` when it is too long to be shown.
    #[must_use]
    pub fn shown_line(&self, number: u32) -> Option<&str> {
        Some(self.line(number)).filter(|line| line.len() <= LONGEST_SHOWN)
    }

    /// The text of `span` when it is on one line; otherwise the rest of its first line.
    #[must_use]
    pub fn excerpt(&self, span: Span) -> String {
        let length = if span.start.line == span.end.line {
            span.end.column.saturating_sub(span.start.column)
        } else {
            u32::MAX
        };
        let skip = usize::try_from(span.start.column.saturating_sub(1)).unwrap_or(usize::MAX);
        let take = usize::try_from(length).unwrap_or(usize::MAX);
        self.line(span.start.line).chars().skip(skip).take(take).collect()
    }

    /// The place of `span` in this file.
    #[must_use]
    pub fn location(&self, span: Span) -> Location {
        if let Some(part) = self.part(span.start.line) {
            return part.file.location(span.up(part.lines_before));
        }
        Location {
            file: Arc::clone(&self.path),
            line: span.start.line,
            column: span.start.column,
            end_line: span.end.line,
            end_column: span.end.column,
        }
    }
}

/// A place between two characters: line and column, both counted from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A span of text, its end not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Where it begins.
    pub start: Position,
    /// Where it has ended.
    pub end: Position,
}

impl Span {
    /// The empty stretch at the beginning of a file.
    pub const START: Self =
        Self { start: Position { line: 1, column: 1 }, end: Position { line: 1, column: 1 } };

    /// The same span, some lines further down.
    pub(crate) const fn down(self, lines: u32) -> Self {
        let Self { start, end } = self;
        Self {
            start: Position { line: start.line.saturating_add(lines), column: start.column },
            end: Position { line: end.line.saturating_add(lines), column: end.column },
        }
    }

    /// The same span, some lines further up.
    const fn up(self, lines: u32) -> Self {
        let Self { start, end } = self;
        Self {
            start: Position { line: start.line.saturating_sub(lines), column: start.column },
            end: Position { line: end.line.saturating_sub(lines), column: end.column },
        }
    }
}

/// A stretch of text in a named file. Prints as `file:line:column`, which editors and terminals open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    /// The file's path as it is shown.
    pub file: Arc<str>,
    /// The first line, counted from 1.
    pub line: u32,
    /// The first column, counted from 1 in characters.
    pub column: u32,
    /// The last line.
    pub end_line: u32,
    /// The column behind the last character.
    pub end_column: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// Where the value of a field comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin<'a> {
    /// The documents set the value here.
    Written(&'a Location),
    /// The documents do not set it: it is a default, or follows from other fields.
    Default,
}

/// The places of one field: of its name and of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    key: Option<Location>,
    value: Location,
}

/// The places of one cluster's fields, by their path in the model: `network.subnets[us-east-1a].cidr`,
/// `pools[workers].image`. Items of lists are named by their `name`, or by their index where they have none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSources {
    places: BTreeMap<String, Place>,
}

impl FieldSources {
    /// Records that the field at `path` is written at `value`, its name at `key`.
    pub fn insert(&mut self, path: impl Into<String>, key: Option<Location>, value: Location) {
        self.places.insert(path.into(), Place { key, value });
    }

    /// Where the field at `path` comes from.
    #[must_use]
    pub fn origin(&self, path: &str) -> Origin<'_> {
        self.places.get(path).map_or(Origin::Default, |place| Origin::Written(&place.value))
    }

    /// Whether the documents set the field at `path`, or a part of it.
    #[must_use]
    pub fn is_written(&self, path: &str) -> bool {
        let is_part = |known: &str| {
            known.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        self.places
            .range(path.to_owned()..)
            .map(|(known, _)| known)
            .take_while(|known| known.starts_with(path))
            .any(|known| is_part(known))
    }

    /// Where the name of the field at `path` is written; for items of lists, the item itself.
    #[must_use]
    pub fn key(&self, path: &str) -> Option<&Location> {
        self.places.get(path).map(|place| place.key.as_ref().unwrap_or(&place.value))
    }

    /// The place of a message about the field at `path`: its value, or its name when the value begins on another
    /// line of the same file; else the name of the closest written field around it.
    #[must_use]
    pub fn nearest(&self, path: &str) -> Option<&Location> {
        if let Some(Place { key, value }) = self.places.get(path) {
            // The value of a variable may be in another file than the field that has it.
            let is_other_line = |key: &&Location| key.file == value.file && key.line != value.line;
            return key.as_ref().filter(is_other_line).or(Some(value));
        }
        let mut rest = path;
        while let Some(parent) = parent(rest) {
            if let Some(location) = self.key(parent) {
                return Some(location);
            }
            rest = parent;
        }
        self.key("")
    }

    /// The files that contain the fields, in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let places = self.places.values();
        let files = places.flat_map(|place| place.key.iter().chain([&place.value])).map(|place| &*place.file);
        files.collect::<BTreeSet<&str>>().into_iter()
    }

    /// Every written path, in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }
}

/// The path of the mapping or list that contains the field at `path`; `None` at the top.
#[must_use]
pub fn parent(path: &str) -> Option<&str> {
    let mut inside = false;
    for (index, letter) in path.char_indices().rev() {
        match letter {
            ']' => inside = true,
            '[' => return Some(&path[..index]),
            '.' if !inside => return Some(&path[..index]),
            _ => {}
        }
    }
    None
}

/// The places of all loaded clusters' fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceMap {
    clusters: BTreeMap<String, FieldSources>,
}

impl SourceMap {
    /// Adds the places of a cluster's fields.
    pub fn insert(&mut self, cluster: impl Into<String>, sources: FieldSources) {
        self.clusters.insert(cluster.into(), sources);
    }

    /// The places of a cluster's fields.
    #[must_use]
    pub fn cluster(&self, name: &str) -> Option<&FieldSources> {
        self.clusters.get(name)
    }

    /// Where the field at `path` of a cluster comes from; a default when the cluster is not known.
    #[must_use]
    pub fn origin(&self, cluster: &str, path: &str) -> Origin<'_> {
        self.cluster(cluster).map_or(Origin::Default, |sources| sources.origin(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_up_paths_over_names_with_dots() {
        assert_eq!(parent("pools[a.b].image"), Some("pools[a.b]"));
        assert_eq!(parent("pools[a.b]"), Some("pools"));
        assert_eq!(parent("pools"), None);
    }

    #[test]
    fn a_path_has_no_control_characters() {
        let path = |path: &str| SourceFile::new(path, "").path().to_owned();
        assert_eq!(path("a\n::add-mask::b\u{1b}[1m.yaml"), "a\\n::add-mask::b\\u{1b}[1m.yaml");
        assert_eq!(path("specs/größe.yaml"), "specs/größe.yaml");
    }

    #[test]
    fn a_joined_file_has_the_places_of_its_files() {
        let files = ["a: 1\nb: 2\n", "c: 3", "d: 4\n"];
        let files: Vec<Arc<SourceFile>> = files
            .iter()
            .enumerate()
            .map(|(number, text)| Arc::new(SourceFile::new(format!("{number}.yaml"), *text)))
            .collect();
        let (joined, before) = SourceFile::joined("all", &files);
        let span = Span { start: Position { line: 1, column: 4 }, end: Position { line: 1, column: 5 } };
        for (file, lines) in files.iter().zip(before) {
            let moved = span.down(lines);
            assert_eq!(joined.location(moved), file.location(span));
            assert_eq!(joined.line(moved.start.line), file.line(1));
            assert_eq!(joined.excerpt(moved), file.excerpt(span));
            assert_eq!(joined.named(file.path()), Some(&**file));
        }
        assert_eq!(joined.named("all"), None);
    }

    #[test]
    fn finds_the_nearest_written_field() {
        let file = SourceFile::new("a.yaml", "pools:\n- name: a\n");
        let mut sources = FieldSources::default();
        sources.insert("pools[a]", None, file.location(Span::START));
        assert_eq!(sources.origin("pools[a].image"), Origin::Default);
        assert!(sources.is_written("pools") && sources.is_written("pools[a]"));
        assert!(!sources.is_written("pools[a].image") && !sources.is_written("pool"));
        assert_eq!(sources.nearest("pools[a].image").unwrap().to_string(), "a.yaml:1:1");
        assert_eq!(sources.nearest("etcd"), None);
    }
}
