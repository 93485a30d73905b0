//! Sources: where specs are read from, and what of them.

mod archive;
mod bucket;
mod flux;
mod folder;
pub mod git;
mod object;
pub(crate) mod oci;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use slipway_state_store::{Digest, Settings};

use crate::configuration::Source;
use crate::error::Error;
use crate::threads::Threads;
use object::Located;

/// Numbers the checkouts of this process, so that two of one revision are different folders.
static CHECKOUTS: AtomicU64 = AtomicU64::new(0);

/// The files of a source at one moment: their paths from the source's root, with `/`, and digests of their content.
pub(crate) type Listing = BTreeMap<String, String>;

/// What a source has at one moment.
#[derive(Clone, Debug)]
pub struct Revision {
    /// A commit, or the digest of a folder.
    pub id: String,
    /// The folder with its files.
    pub folder: Arc<Checkout>,
    /// The digest of the files of each path with specs.
    pub units: BTreeMap<String, String>,
}

/// A folder with the files of a revision. A checkout is removed when nothing uses it any more.
#[derive(Debug)]
pub struct Checkout {
    path: PathBuf,
    is_own: bool,
}

impl Checkout {
    /// A folder that others write.
    #[must_use]
    pub fn of(path: PathBuf) -> Self {
        Self { path, is_own: false }
    }

    /// A folder that is removed at the end.
    #[must_use]
    pub(crate) fn own(path: PathBuf) -> Self {
        Self { path, is_own: true }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        if self.is_own {
            // What stays is removed when a controller starts with this data folder.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

/// Reads a source.
#[derive(Debug)]
pub struct Reader {
    /// The paths with specs.
    paths: Vec<String>,
    /// The paths with bases of environments.
    bases: Vec<String>,
    /// All paths that are read.
    wanted: Vec<String>,
    kind: Kind,
    threads: Threads,
}

#[derive(Debug)]
enum Kind {
    Folder(PathBuf),
    Git(Box<git::Repository>),
    Bucket(Box<bucket::Reader>),
    Artifact(Box<oci::Artifact>),
    Flux(Box<flux::Source>),
    Object(Box<object::Source>),
}

impl Reader {
    /// The reader of a source, which keeps its files in a data folder. Nothing is read yet.
    #[must_use]
    pub fn new(source: &Source, data: &Path) -> Self {
        Self::with_settings(source, data, Settings::from_process)
    }

    /// The reader of a source, with the settings of buckets.
    #[must_use]
    pub fn with_settings(source: &Source, data: &Path, settings: impl FnOnce() -> Settings) -> Self {
        let data = data.join(&source.name);
        let kind = match (&source.git, &source.bucket, &source.oci, &source.flux, &source.object) {
            (Some(git), ..) => Kind::Git(Box::new(git::Repository::new(git, &data))),
            (None, Some(bucket), ..) => {
                Kind::Bucket(Box::new(bucket::Reader::new(bucket, &data, settings())))
            }
            (None, None, Some(settings), ..) => Kind::Artifact(Box::new(oci::Artifact::new(settings, &data))),
            (None, None, None, Some(settings), _) => Kind::Flux(Box::new(flux::Source::new(settings, &data))),
            (None, None, None, None, Some(settings)) => {
                Kind::Object(Box::new(object::Source::new(settings, &data)))
            }
            // The configuration was checked: it is a folder.
            (None, None, None, None, None) => Kind::Folder(source.folder.clone().unwrap_or_default()),
        };
        let (paths, bases) = (source.paths.clone(), source.bases.clone());
        let wanted = paths.iter().chain(&bases).cloned().collect();
        Self { paths, bases, wanted, kind, threads: Threads::default() }
    }

    /// The same with threads that other readers use too.
    pub(crate) fn on(self, threads: &Threads) -> Self {
        Self { threads: threads.clone(), ..self }
    }

    /// The folder, the URL or the object, for people.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.kind {
            Kind::Folder(folder) => folder.display().to_string(),
            Kind::Git(repository) => repository.url().to_owned(),
            Kind::Bucket(bucket) => bucket.url().to_owned(),
            Kind::Artifact(artifact) => artifact.url().to_owned(),
            Kind::Flux(source) => source.title(),
            Kind::Object(source) => source.title(),
        }
    }

    /// The generation of the `Source` object that was read last; `None` for other sources.
    pub(crate) fn generation(&self) -> Option<i64> {
        match &self.kind {
            Kind::Object(source) => source.generation,
            _ => None,
        }
    }

    /// Reads the source. Returns the last revision when nothing has changed since.
    ///
    /// # Errors
    /// When it cannot be read, or its content is refused.
    pub async fn read(&mut self, last: Option<&Revision>) -> Result<Revision, Error> {
        let Self { paths, bases, wanted, kind, threads } = self;
        let units = |listing: &Listing| units(paths, bases, listing);
        match kind {
            Kind::Folder(folder) => {
                let (place, wanted) = (folder.clone(), wanted.clone());
                let listed = threads.run(move || folder::list(&place, &wanted)).await;
                let (listing, root) = listed.map_err(|lost| Error::File {
                    what: "the source",
                    path: folder.clone(),
                    source: std::io::Error::other(lost),
                })??;
                let id = digest_of(listing.iter());
                let units = units(&listing);
                Ok(Revision { id, folder: Arc::new(Checkout::of(root)), units })
            }
            Kind::Bucket(bucket) => {
                let (listing, folder) = bucket.read(wanted).await?;
                let id = digest_of(listing.iter());
                let units = units(&listing);
                Ok(Revision { id, folder, units })
            }
            Kind::Artifact(artifact) => of_artifact(artifact, last, wanted, units).await,
            Kind::Flux(source) => {
                let artifact = source.artifact().await?;
                let id = artifact.id();
                if let Some(last) = last.filter(|last| last.id == id) {
                    return Ok(last.clone());
                }
                let (listing, folder) = source.unpack(&artifact, wanted).await?;
                Ok(Revision { id, folder: Arc::new(folder), units: units(&listing) })
            }
            Kind::Git(repository) => of_repository(repository, last, wanted, units).await,
            Kind::Object(source) => match source.locate().await? {
                Located::Git(repository) => of_repository(repository, last, wanted, units).await,
                Located::Artifact(artifact) => of_artifact(artifact, last, wanted, units).await,
            },
        }
    }
}

/// The revision of a repository now.
async fn of_repository(
    repository: &mut git::Repository,
    last: Option<&Revision>,
    wanted: &[String],
    units: impl Fn(&Listing) -> BTreeMap<String, String>,
) -> Result<Revision, Error> {
    let id = repository.commit(last.map(|last| last.id.as_str())).await?;
    if let Some(last) = last.filter(|last| last.id == id) {
        return Ok(last.clone());
    }
    let (listing, folder) = repository.check_out(&id, wanted).await?;
    Ok(Revision { id, folder: Arc::new(folder), units: units(&listing) })
}

/// The revision of an artifact now.
async fn of_artifact(
    artifact: &oci::Artifact,
    last: Option<&Revision>,
    wanted: &[String],
    units: impl Fn(&Listing) -> BTreeMap<String, String>,
) -> Result<Revision, Error> {
    let (id, found) = artifact.read(last.map(|last| last.id.as_str()), wanted).await?;
    match (found, last) {
        (Some((listing, folder)), _) => Ok(Revision { id, folder: Arc::new(folder), units: units(&listing) }),
        (None, Some(last)) => Ok(last.clone()),
        // Only an artifact that was read last is not read again.
        (None, None) => Err(Error::Moved { url: artifact.url().to_owned() }),
    }
}

/// A new folder for the files of a revision, in the data folder of its source.
pub(crate) fn next_checkout(data: &Path, name: &str) -> Checkout {
    let number = CHECKOUTS.fetch_add(1, Ordering::Relaxed);
    Checkout::own(data.join("checkouts").join(format!("{name}-{number}")))
}

/// Whether a file belongs to the paths that are read.
pub(crate) fn is_wanted(paths: &[String], file: &str) -> bool {
    paths.iter().any(|path| {
        let path = path.strip_suffix("/*").unwrap_or(path);
        is_in(path, file)
    })
}

/// Whether a file is a path, or in the folder of this path.
fn is_in(path: &str, file: &str) -> bool {
    path == "." || file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The paths with specs, each with the digest of its files and of those of all bases. A path with `/*` stands for every folder
/// in its folder, except those that have bases only.
pub(crate) fn units(paths: &[String], bases: &[String], listing: &Listing) -> BTreeMap<String, String> {
    let mut units: BTreeSet<String> = BTreeSet::new();
    for path in paths {
        match path.strip_suffix("/*") {
            None => drop(units.insert(path.clone())),
            Some(folder) => {
                let inner = listing.keys().filter_map(|file| {
                    let rest = match folder {
                        "." => file.as_str(),
                        folder => file.strip_prefix(folder)?.strip_prefix('/')?,
                    };
                    let (inner, _) = rest.split_once('/')?;
                    Some(if folder == "." { inner.to_owned() } else { format!("{folder}/{inner}") })
                });
                units.extend(inner.filter(|unit| !bases.contains(unit)));
            }
        }
    }
    let of_bases =
        (!bases.is_empty()).then(|| digest_of(bases.iter().flat_map(|base| files_in(listing, base))));
    let digest = |unit: String| {
        let own = digest_of(files_in(listing, &unit));
        let digest = match &of_bases {
            Some(of_bases) => Digest::of(format!("{own}\n{of_bases}").as_bytes()).to_string(),
            None => own,
        };
        (unit, digest)
    };
    units.into_iter().map(digest).collect()
}

/// The digest of a path with specs as a folder has it now, as [`units`] makes it. `None` for a path that stands for several.
///
/// # Errors
/// When the folder cannot be read, or its content is refused.
pub(crate) fn digest_in(folder: &Path, path: &str, bases: &[String]) -> Result<Option<String>, Error> {
    let paths = [path.to_owned()];
    let wanted: Vec<String> = paths.iter().chain(bases).cloned().collect();
    let (listing, _) = folder::list(folder, &wanted)?;
    Ok(units(&paths, bases, &listing).remove(path))
}

/// The files that are a path, or in the folder of this path. Others are not looked at: a source may have thousands of both.
fn files_in<'a>(listing: &'a Listing, path: &str) -> impl Iterator<Item = (&'a String, &'a String)> {
    let (itself, inside) = match path {
        "." => (None, String::new()),
        path => (listing.get_key_value(path), format!("{path}/")),
    };
    let files = listing.range(inside.clone()..).take_while(move |(file, _)| file.starts_with(&inside));
    itself.into_iter().chain(files)
}

fn digest_of<'a>(files: impl Iterator<Item = (&'a String, &'a String)>) -> String {
    let text: String = files.map(|(path, digest)| format!("{path}\0{digest}\n")).collect();
    Digest::of(text.as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(files: &[(&str, &str)]) -> Listing {
        files.iter().map(|(path, digest)| ((*path).to_owned(), (*digest).to_owned())).collect()
    }

    #[test]
    fn a_unit_changes_with_its_own_files_only() {
        let paths = ["clusters/*".to_owned(), "shared/one.yaml".to_owned()];
        let before = listing(&[
            ("clusters/dev/spec.yaml", "1"),
            ("clusters/prod/spec.yaml", "1"),
            ("clusters/README.md", "1"),
            ("shared/one.yaml", "1"),
        ]);
        let first = units(&paths, &[], &before);
        assert_eq!(first.keys().collect::<Vec<_>>(), ["clusters/dev", "clusters/prod", "shared/one.yaml"]);
        let mut after = before;
        after.insert("clusters/dev/spec.yaml".into(), "2".into());
        let second = units(&paths, &[], &after);
        assert_ne!(first["clusters/dev"], second["clusters/dev"]);
        assert_eq!(first["clusters/prod"], second["clusters/prod"]);
        assert_eq!(units(&["./*".to_owned()], &[], &after).len(), 2);
        assert_eq!(units(&[".".to_owned()], &[], &after).len(), 1);
    }

    #[test]
    fn every_unit_changes_with_a_base() {
        let (paths, bases) = (["clusters/*".to_owned()], ["base".to_owned()]);
        let mut listing =
            listing(&[("clusters/dev/a.yaml", "1"), ("clusters/prod/a.yaml", "1"), ("base/a.yaml", "1")]);
        let first = units(&paths, &bases, &listing);
        listing.insert("base/a.yaml".into(), "2".into());
        let second = units(&paths, &bases, &listing);
        assert_eq!(first.keys().collect::<Vec<_>>(), ["clusters/dev", "clusters/prod"]);
        assert!(first.iter().all(|(path, digest)| second[path] != *digest), "{first:?} {second:?}");
    }

    #[test]
    fn the_digest_of_a_path_in_a_folder_is_that_of_the_revision() {
        let place = tempfile::tempdir().unwrap();
        for (file, text) in
            [("base/a.yaml", "base"), ("clusters/dev/a.yaml", "1"), ("clusters/prod/a.yaml", "1")]
        {
            let file = place.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let bases = ["base".to_owned()];
        let wanted = ["clusters/*".to_owned(), "base".to_owned()];
        let (listing, root) = folder::list(place.path(), &wanted).unwrap();
        let revision = units(&wanted[..1], &bases, &listing);
        let now = |path: &str| digest_in(&root, path, &bases).unwrap().unwrap();
        assert_eq!(revision.len(), 2);
        for (path, digest) in &revision {
            assert_eq!(now(path), *digest, "{path}");
        }
        std::fs::write(root.join("clusters/dev/a.yaml"), "2").unwrap();
        assert_ne!(now("clusters/dev"), revision["clusters/dev"]);
        assert_eq!(now("clusters/prod"), revision["clusters/prod"]);
        std::fs::remove_dir_all(root.join("clusters/prod")).unwrap();
        assert_ne!(now("clusters/prod"), revision["clusters/prod"]);
    }

    #[test]
    fn a_folder_of_bases_is_no_path_with_specs() {
        let listing = listing(&[("base/a.yaml", "1"), ("dev/a.yaml", "1"), ("dev/base/a.yaml", "1")]);
        let of = |paths: &[&str], bases: &[&str]| {
            let owned = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<String>>();
            units(&owned(paths), &owned(bases), &listing).into_keys().collect::<Vec<_>>()
        };
        assert_eq!(of(&["./*"], &["base"]), ["dev"]);
        assert_eq!(of(&["./*"], &["dev/base"]), ["base", "dev"]);
        assert_eq!(of(&["base", "dev"], &["base"]), ["base", "dev"], "what is named is read");
    }

    #[test]
    fn the_files_of_a_path_are_those_in_it() {
        let files = ["a", "a-b/x", "a/x", "a/y/z", "a0", "b/x"].map(|file| (file, file));
        let listing = listing(&files);
        let of = |path: &str| files_in(&listing, path).map(|(file, _)| file.as_str()).collect::<Vec<_>>();
        for path in ["a", "a-b", "a/y", "b/x", "c", "."] {
            let each: Vec<&str> =
                listing.keys().map(String::as_str).filter(|file| is_in(path, file)).collect();
            assert_eq!(of(path), each, "{path}");
        }
        assert_eq!(of("a"), ["a", "a/x", "a/y/z"]);
    }

    #[test]
    fn only_files_of_the_paths_are_wanted() {
        let paths = ["clusters/*".to_owned(), "a".to_owned()];
        assert!(
            is_wanted(&paths, "clusters/dev/spec.yaml") && is_wanted(&paths, "a/b") && is_wanted(&paths, "a")
        );
        assert!(!is_wanted(&paths, "clusters-old/spec.yaml") && !is_wanted(&paths, "README.md"));
        assert!(is_wanted(&[".".to_owned()], "README.md"));
    }
}
