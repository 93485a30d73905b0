use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    diagnostic::{Diagnostic, code},
    source::SourceFile,
};

/// The deepest folder below a given one that is looked into.
const MAX_DEPTH: usize = 16;

/// Reads all spec files at some paths, each once, with what could not be read.
pub(super) fn read(paths: &[PathBuf]) -> (Vec<SourceFile>, Vec<Diagnostic>) {
    let mut found = Vec::new();
    let mut diagnostics = Vec::new();
    for path in paths {
        if let Err(error) = collect(path, 0, &mut found) {
            diagnostics.push(unreadable(&error.path, &error.source));
        }
    }
    let mut files: Vec<SourceFile> = Vec::new();
    for path in found {
        let shown = path.display().to_string();
        if files.iter().any(|file| file.path() == shown) {
            continue;
        }
        match fs::read(&path) {
            Ok(bytes) => match String::from_utf8(bytes) {
                Ok(text) => files.push(SourceFile::new(shown, text)),
                Err(_) => diagnostics.push(
                    Diagnostic::error(code::UNREADABLE, format!("{shown} is not UTF-8 text"))
                        .hint("save it as UTF-8"),
                ),
            },
            Err(error) => diagnostics.push(unreadable(&path, &error)),
        }
    }
    (files, diagnostics)
}

struct Failure {
    path: PathBuf,
    source: io::Error,
}

fn collect(path: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |source| Failure { path: path.to_owned(), source };
    if !fs::metadata(path).map_err(failed)?.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    if depth >= MAX_DEPTH {
        return Ok(());
    }
    let mut entries = fs::read_dir(path)
        .map_err(failed)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    entries.sort();
    for entry in entries {
        let name = entry.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let spec = [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end));
        if name.starts_with('.') || name.ends_with(".schema.json") {
            continue;
        }
        if spec || entry.is_dir() {
            collect(&entry, depth + 1, found)?;
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "check the path; a relative one begins at the working directory",
        io::ErrorKind::PermissionDenied => "check the permissions of the file and its folders",
        _ => "check the file and its folders",
    };
    Diagnostic::error(code::UNREADABLE, format!("{} cannot be read: {error}", path.display())).hint(hint)
}
