use std::{
    collections::BTreeSet,
    fs::{self, Metadata},
    io::{self, IsTerminal as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use slipway_limits::{Exceeded, count, file, size};

use crate::{
    diagnostic::{Code, Diagnostic, code},
    source::SourceFile,
};

/// The path that means standard input.
const STDIN: &str = "-";
/// The name of standard input in diagnostics.
pub(super) const STDIN_SHOWN: &str = "<stdin>";

/// The problem of a file or a folder, checked before it is opened.
pub(super) type Guard<'a> = &'a dyn Fn(&Path) -> Option<Diagnostic>;

/// How much may still be read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest {
    files: usize,
    /// Entries of folders.
    entries: usize,
    bytes: u64,
}

impl Default for Rest {
    fn default() -> Self {
        Self { files: count::SPEC_FILES, entries: count::FOLDER_ENTRIES, bytes: size::SPECS.bytes }
    }
}

/// Reads all spec files at some paths, each once, with what could not be read. Nothing is opened that the guard refuses.
/// Where there is more than a command takes, no file is returned: the folder is a foreign one, and problems of its files
/// would take long to find and say nothing.
pub(super) fn read(paths: &[PathBuf], guard: Guard<'_>) -> (Vec<SourceFile>, Vec<Diagnostic>) {
    let mut rest = Rest::default();
    let mut search = Search::new(guard, &mut rest);
    for path in paths {
        if let Err(stop) = search.given(path) {
            search.diagnostics.push(stop);
            return (Vec::new(), search.diagnostics);
        }
    }
    let Search { found, diagnostics, .. } = search;
    texts(found, diagnostics, guard, &mut rest)
}

/// Reads the spec files at a path that an environment names, as far as the rest allows. See [`read`]; standard input, pipes and
/// devices are refused, and files that are not called like specs.
pub(super) fn read_base(
    path: &Path,
    guard: Guard<'_>,
    rest: &mut Rest,
) -> (Vec<SourceFile>, Vec<Diagnostic>) {
    let mut search = Search::new(guard, rest);
    if let Err(stop) = search.base(path) {
        search.diagnostics.push(stop);
        return (Vec::new(), search.diagnostics);
    }
    let Search { found, diagnostics, .. } = search;
    texts(found, diagnostics, guard, rest)
}

/// Reads the files that were found. Links may have changed since the guard was asked, so it decides again, about the real path of
/// the file, and no link in this path is followed.
fn texts(
    found: Vec<PathBuf>,
    mut diagnostics: Vec<Diagnostic>,
    guard: Guard<'_>,
    rest: &mut Rest,
) -> (Vec<SourceFile>, Vec<Diagnostic>) {
    let mut files: Vec<SourceFile> = Vec::new();
    for path in found {
        let from_stdin = path == Path::new(STDIN);
        let shown = if from_stdin { STDIN_SHOWN.to_owned() } else { path.display().to_string() };
        let read = match () {
            () if from_stdin => stdin(),
            () if file::is_handed_over(&path) => file::read_given_text(&path, size::SPEC),
            () => match fs::canonicalize(&path) {
                Ok(real) => {
                    if let Some(refused) = guard(&real) {
                        diagnostics.push(refused);
                        continue;
                    }
                    file::read_real_text(&real, size::SPEC)
                }
                Err(error) => Err(error),
            },
        };
        match read {
            Ok(text) if text.len() as u64 > rest.bytes => {
                let message = format!("the spec files have more than {} together", size::SPECS);
                diagnostics.push(too_much(message));
                return (Vec::new(), diagnostics);
            }
            Ok(text) => {
                rest.bytes -= text.len() as u64;
                files.push(SourceFile::new(shown, text));
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => diagnostics.push(
                Diagnostic::error(code::UNREADABLE, format!("{shown} is not UTF-8 text"))
                    .hint("save it as UTF-8"),
            ),
            Err(error) => diagnostics.push(unreadable(Path::new(&shown), &error)),
        }
    }
    (files, diagnostics)
}

/// Everything on standard input.
fn stdin() -> io::Result<String> {
    let input = io::stdin();
    if input.is_terminal() {
        return Err(io::Error::other("it is a terminal; pipe a spec into the command"));
    }
    let bytes = file::bounded(input.lock(), 0, size::SPEC)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The search for spec files. A file or a folder that several paths lead to, as symbolic links do, is taken once.
struct Search<'a> {
    guard: Guard<'a>,
    found: Vec<PathBuf>,
    diagnostics: Vec<Diagnostic>,
    seen: BTreeSet<(u64, u64)>,
    rest: &'a mut Rest,
}

impl<'a> Search<'a> {
    fn new(guard: Guard<'a>, rest: &'a mut Rest) -> Self {
        Self { guard, found: Vec::new(), diagnostics: Vec::new(), seen: BTreeSet::new(), rest }
    }

    /// Takes a path that an environment names.
    fn base(&mut self, path: &Path) -> Result<(), Diagnostic> {
        if self.is_refused(path) {
            return Ok(());
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => self.folder(path, &found, 0),
            Ok(found) => match file::not_a_file(&found) {
                // Other files have nothing for a spec, and may have what nobody should see, as `.git/config` and `.env` do.
                None if !is_spec(path) => {
                    let message = format!("{} is not called like a spec", path.display());
                    let refused = Diagnostic::error(code::BASE, message)
                        .hint("name a file that ends in .yaml, .yml or .json, or a folder with such files");
                    self.diagnostics.push(refused);
                    Ok(())
                }
                None => self.file(path, &found),
                Some(kind) => {
                    self.diagnostics.push(unreadable(path, &Exceeded::NotAFile { kind }.into()));
                    Ok(())
                }
            },
            Err(error) => {
                self.diagnostics.push(unreadable(path, &error));
                Ok(())
            }
        }
    }

    /// Takes a path that the caller names: whatever it is called, it is read.
    fn given(&mut self, path: &Path) -> Result<(), Diagnostic> {
        if path == Path::new(STDIN) {
            if !self.found.iter().any(|found| found == path) {
                self.found.push(path.to_owned());
            }
            return Ok(());
        }
        if self.is_refused(path) {
            return Ok(());
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => self.folder(path, &found, 0),
            Ok(found) => self.file(path, &found),
            Err(error) => {
                self.diagnostics.push(unreadable(path, &error));
                Ok(())
            }
        }
    }

    /// Whether the guard refuses to open a path; the refusal is then among the diagnostics.
    fn is_refused(&mut self, path: &Path) -> bool {
        let refused = (self.guard)(path);
        let is_refused = refused.is_some();
        self.diagnostics.extend(refused);
        is_refused
    }

    fn file(&mut self, path: &Path, found: &Metadata) -> Result<(), Diagnostic> {
        if !self.seen.insert((found.dev(), found.ino())) {
            return Ok(());
        }
        let Some(left) = self.rest.files.checked_sub(1) else {
            return Err(too_much(format!("there are more than {} spec files", count::SPEC_FILES)));
        };
        self.rest.files = left;
        self.found.push(path.to_owned());
        Ok(())
    }

    fn folder(&mut self, path: &Path, found: &Metadata, depth: usize) -> Result<(), Diagnostic> {
        if depth >= count::FOLDER_DEPTH || !self.seen.insert((found.dev(), found.ino())) {
            return Ok(());
        }
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) => {
                self.diagnostics.push(unreadable(path, &error));
                return Ok(());
            }
        };
        let mut below = Vec::new();
        for entry in entries {
            let Some(left) = self.rest.entries.checked_sub(1) else {
                let message = format!(
                    "there are more than {} files and folders to look at; the search ended in {}",
                    count::FOLDER_ENTRIES,
                    path.display()
                );
                return Err(too_much(message));
            };
            self.rest.entries = left;
            match entry {
                Ok(entry) => below.push(entry.path()),
                Err(error) => self.diagnostics.push(unreadable(path, &error)),
            }
        }
        below.sort();
        // Its own files come first: of a file that is linked into a folder below, the shorter path is shown.
        let mut folders = Vec::new();
        for entry in below {
            let name = entry.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with('.') || name.ends_with(".schema.json") {
                continue;
            }
            let spec = is_spec(&entry);
            if spec && self.is_refused(&entry) {
                continue;
            }
            match fs::metadata(&entry) {
                Ok(found) if found.is_dir() => {
                    if spec || !self.is_refused(&entry) {
                        folders.push((entry, found));
                    }
                }
                Ok(found) if spec => match file::not_a_file(&found) {
                    None => self.file(&entry, &found)?,
                    Some(kind) => {
                        self.diagnostics.push(unreadable(&entry, &Exceeded::NotAFile { kind }.into()));
                    }
                },
                Err(error) if spec => self.diagnostics.push(unreadable(&entry, &error)),
                Ok(_) | Err(_) => {}
            }
        }
        folders.into_iter().try_for_each(|(entry, found)| self.folder(&entry, &found, depth + 1))
    }
}

/// Whether a file is called like a spec.
fn is_spec(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end))
}

fn too_much(message: String) -> Diagnostic {
    Diagnostic::error(code::TOO_MANY, message)
        .hint("name the folder that holds the specs, or the files themselves, with `-f`")
}

fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    if let Some(exceeded) = Exceeded::of(error) {
        let code = match exceeded {
            Exceeded::NotAFile { .. } => code::NOT_A_FILE,
            Exceeded::TooLarge { .. } => code::TOO_LARGE,
        };
        let hint = match exceeded {
            Exceeded::TooLarge { .. } => "split it into several files of one folder",
            Exceeded::NotAFile { .. } => exceeded.hint(),
        };
        return refused(path, exceeded, code).hint(hint);
    }
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "check the path; a relative one begins at the working directory",
        io::ErrorKind::PermissionDenied => "check the permissions of the file and its folders",
        _ => "check the file and its folders",
    };
    Diagnostic::error(code::UNREADABLE, format!("{} cannot be read: {error}", path.display())).hint(hint)
}

fn refused(path: &Path, exceeded: &Exceeded, code: Code) -> Diagnostic {
    Diagnostic::error(code, format!("{} is not read: {exceeded}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn paths(folder: &Path) -> (Vec<String>, Vec<Diagnostic>) {
        let (files, diagnostics) = read(&[folder.to_owned()], &|_| None);
        let names = files
            .iter()
            .map(|file| Path::new(file.path()).strip_prefix(folder).unwrap().display().to_string());
        (names.collect(), diagnostics)
    }

    #[test]
    fn links_that_lead_in_circles_are_followed_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("z.yaml"), "a: 1\n").unwrap();
        fs::write(at("sub/b.yaml"), "b: 1\n").unwrap();
        for name in ["l1", "l2", "l3", "sub/up"] {
            symlink(folder.path(), at(name)).unwrap();
        }
        symlink(at("z.yaml"), at("sub/again.yaml")).unwrap();
        let (files, diagnostics) = paths(folder.path());
        assert_eq!(files, ["z.yaml", "sub/b.yaml"]);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
    }

    #[test]
    fn what_is_no_file_is_named_and_the_rest_is_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.yaml"), "a: 1\n").unwrap();
        symlink("/dev/zero", folder.path().join("b.yaml")).unwrap();
        symlink("/nowhere", folder.path().join("c.yaml")).unwrap();
        let (files, diagnostics) = paths(folder.path());
        assert_eq!(files, ["a.yaml"]);
        let codes: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.code.id).collect();
        assert_eq!(codes, ["LIMIT0001", "SPEC0011"]);
    }

    #[test]
    fn a_file_that_becomes_a_link_after_it_was_checked_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let (inside, outside) = (root.join("specs"), root.join("outside"));
        let (file, spec) = (inside.join("sub/a.yaml"), inside.join("sub"));
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("a.yaml"), "secret: 1\n").unwrap();
        // The file, or its folder, is replaced after the first or after the second check.
        for (replaced, target) in [(&file, outside.join("a.yaml")), (&spec, outside.clone())] {
            for check in [1, 2] {
                let _ = fs::remove_dir_all(&inside);
                fs::create_dir_all(&spec).unwrap();
                fs::write(&file, "a: 1\n").unwrap();
                let checks = std::cell::Cell::new(0);
                let guard = |path: &Path| {
                    if path == file {
                        checks.set(checks.get() + 1);
                        if checks.get() == check {
                            fs::rename(replaced, root.join("moved")).unwrap();
                            symlink(&target, replaced).unwrap();
                        }
                    }
                    let message = format!("{} is outside", path.display());
                    (!path.starts_with(&inside)).then(|| Diagnostic::error(code::UNREADABLE, message))
                };
                let (files, diagnostics) = read(std::slice::from_ref(&file), &guard);
                assert!(files.is_empty(), "check {check}: {files:?}");
                assert_eq!(diagnostics.len(), 1, "check {check}: {diagnostics:?}");
                let moved = root.join("moved");
                let _ = if moved.is_dir() { fs::remove_dir_all(moved) } else { fs::remove_file(moved) };
            }
        }
    }

    #[test]
    fn as_many_files_as_allowed_are_read_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..count::SPEC_FILES {
            fs::write(folder.path().join(format!("{number}.yaml")), "").unwrap();
        }
        let (files, diagnostics) = paths(folder.path());
        assert_eq!((files.len(), diagnostics.len()), (count::SPEC_FILES, 0));
        fs::write(folder.path().join("one-more.yaml"), "").unwrap();
        let (files, diagnostics) = paths(folder.path());
        assert_eq!((files.len(), diagnostics.len()), (0, 1), "no file of a foreign folder is read");
        assert_eq!(diagnostics[0].code.id, "LIMIT0003");
    }

    #[test]
    fn a_foreign_folder_is_given_up_after_as_many_entries_as_allowed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("spec.yaml"), "a: 1\n").unwrap();
        fs::create_dir(folder.path().join("more")).unwrap();
        // None of these is a spec, so the number of spec files does not end the search.
        for number in 2..count::FOLDER_ENTRIES {
            fs::File::create(folder.path().join(format!("more/{number}"))).unwrap();
        }
        let (files, diagnostics) = paths(folder.path());
        assert_eq!((files.len(), diagnostics.len()), (1, 0), "{diagnostics:?}");
        fs::File::create(folder.path().join("more/one-more")).unwrap();
        let (files, diagnostics) = paths(folder.path());
        assert_eq!((files.len(), diagnostics.len()), (0, 1), "no file of a foreign folder is read");
        assert_eq!(diagnostics[0].code.id, "LIMIT0003");
        assert!(diagnostics[0].message.contains("the search ended in"), "{}", diagnostics[0].message);
    }
}
