use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use slipway_limits::count;

use super::files;
use crate::{
    diagnostic::{Diagnostic, code},
    environment::Bases,
    source::SourceFile,
};

/// What was found at a path, and the problems of finding it.
type Contents = (Vec<Arc<SourceFile>>, Vec<Diagnostic>);

/// Bases in folders. Each is read once.
pub(super) struct OnDisk<'a> {
    guard: files::Guard<'a>,
    known: BTreeMap<PathBuf, Contents>,
    /// How much may still be read of all bases. Links may lead to the same files by many paths.
    rest: files::Rest,
}

impl<'a> OnDisk<'a> {
    pub(super) fn new(guard: files::Guard<'a>) -> Self {
        Self { guard, known: BTreeMap::new(), rest: files::Rest::default() }
    }

    fn read(&mut self, base: &Path) -> Contents {
        if self.known.len() >= count::ENVIRONMENTS {
            let message =
                format!("the bases of all environments are more than {} paths", count::ENVIRONMENTS);
            let problem = Diagnostic::error(code::TOO_MANY, message)
                .hint("name fewer environments with `-f`, or folders in place of their files");
            return (Vec::new(), vec![problem]);
        }
        let (files, mut problems) = files::read_base(base, self.guard, &mut self.rest);
        // Each environment that has the base repeats them.
        problems.truncate(count::PROBLEMS);
        (files.into_iter().map(Arc::new).collect(), problems)
    }
}

impl Bases for OnDisk<'_> {
    fn files(&mut self, base: &Path) -> Contents {
        if let Some(known) = self.known.get(base) {
            return known.clone();
        }
        let contents = self.read(base);
        if self.known.len() < count::ENVIRONMENTS {
            self.known.insert(base.to_owned(), contents.clone());
        }
        contents
    }
}

/// Bases among files that were read already.
pub(super) struct Given {
    files: Vec<Arc<SourceFile>>,
}

impl Given {
    pub(super) fn new(files: Vec<Arc<SourceFile>>) -> Self {
        Self { files }
    }
}

impl Bases for Given {
    fn files(&mut self, base: &Path) -> Contents {
        let is_inside = |file: &&Arc<SourceFile>| {
            let path = Path::new(file.path());
            path.starts_with(base) || base == Path::new(".") && path.is_relative()
        };
        (self.files.iter().filter(is_inside).cloned().collect(), Vec::new())
    }
}
