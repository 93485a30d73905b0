//! A bucket as a source. Only objects that changed since the last look are read.
#![allow(clippy::disallowed_methods, reason = "new files in the data folder of the controller")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use slipway_limits::{count, size};
use slipway_state_store::backend::remote::{Bucket, Object};
use slipway_state_store::{Digest, Settings};

use super::{Checkout, Listing, is_wanted, next_checkout};
use crate::configuration::{BucketSettings, is_plain};
use crate::error::Error;

/// A bucket, with the files of its last revision.
#[derive(Debug)]
pub(super) struct Reader {
    url: String,
    settings: Settings,
    /// Where the folders of revisions are made.
    data: PathBuf,
    last: Option<Last>,
}

/// What was read last.
#[derive(Clone, Debug)]
struct Last {
    /// The versions of the objects that are read.
    versions: BTreeMap<String, String>,
    /// The digests of their contents.
    listing: Listing,
    folder: Arc<Checkout>,
}

impl Reader {
    pub fn new(bucket: &BucketSettings, data: &Path, settings: Settings) -> Self {
        let settings = bucket.over(settings);
        Self { url: bucket.url.clone(), settings, data: data.to_owned(), last: None }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The files of the paths, with the digests of their contents, and the folder that has them.
    pub async fn read(&mut self, paths: &[String]) -> Result<(Listing, Arc<Checkout>), Error> {
        let unavailable = |source| Error::Bucket { url: self.url.clone(), source };
        let bucket = Bucket::open(&self.url, &self.settings).map_err(unavailable)?;
        let objects = wanted(listed(&bucket, &self.url).await?, paths)?;
        let versions = versions(&objects);
        if let Some(last) = self.last.as_ref().filter(|last| last.versions == versions) {
            return Ok((last.listing.clone(), last.folder.clone()));
        }
        let folder = Arc::new(next_checkout(&self.data, "bucket"));
        make(folder.path())?;
        let mut listing = Listing::new();
        for object in &objects {
            let target = folder.path().join(&object.name);
            target.parent().map_or(Ok(()), make)?;
            let digest = match self.kept(object, &target) {
                Some(digest) => digest,
                None => {
                    let bytes = bucket.get(&object.name, size::MANIFEST).await.map_err(unavailable)?;
                    std::fs::write(&target, &bytes).map_err(|source| failed(&target, source))?;
                    Digest::of(&bytes).to_hex()
                }
            };
            listing.insert(object.name.clone(), digest);
        }
        // A revision is what the bucket had at one moment, not a mixture of two.
        if self::versions(&wanted(listed(&bucket, &self.url).await?, paths)?) != versions {
            return Err(Error::Moved { url: self.url.clone() });
        }
        self.last = Some(Last { versions, listing: listing.clone(), folder: folder.clone() });
        Ok((listing, folder))
    }

    /// Takes the file of an object from the last revision if the object is the same, and returns the digest of its content.
    fn kept(&self, object: &Object, target: &Path) -> Option<String> {
        let last = self.last.as_ref()?;
        let digest = last.listing.get(&object.name)?;
        let is_same = last.versions.get(&object.name) == Some(&object.version);
        // Files of revisions are never changed, so two revisions can share one.
        let linked = is_same && std::fs::hard_link(last.folder.path().join(&object.name), target).is_ok();
        linked.then(|| digest.clone())
    }
}

async fn listed(bucket: &Bucket, url: &str) -> Result<Vec<Object>, Error> {
    let found = bucket.list(count::FOLDER_ENTRIES).await;
    let found = found.map_err(|source| Error::Bucket { url: url.to_owned(), source })?;
    found.ok_or(Error::TooMany { limit: count::FOLDER_ENTRIES })
}

/// The objects of the paths. Objects that stand for folders are left out; hidden ones are, as in a folder.
fn wanted(objects: Vec<Object>, paths: &[String]) -> Result<Vec<Object>, Error> {
    let mut found: Vec<Object> = Vec::new();
    let mut left = size::REVISION.bytes;
    for object in objects {
        let mut parts = object.name.split('/');
        if !is_wanted(paths, &object.name) || parts.any(|part| part.starts_with('.') && part != "..") {
            continue;
        }
        let refused = |reason| Err(Error::Content { path: object.name.clone(), reason });
        let is_deep = object.name.split('/').count() > count::FOLDER_DEPTH;
        if is_deep || !object.name.split('/').all(is_plain) {
            return refused("has a path that is not one of plain files");
        }
        if object.size > size::MANIFEST.bytes {
            return Err(Error::TooLarge { limit: size::MANIFEST });
        }
        left = left.checked_sub(object.size).ok_or(Error::TooLarge { limit: size::REVISION })?;
        found.push(object);
        if found.len() > count::SOURCE_FILES {
            return Err(Error::TooMany { limit: count::SOURCE_FILES });
        }
    }
    let folders: BTreeSet<String> = found.iter().flat_map(|object| folders_of(&object.name)).collect();
    if let Some(object) = found.iter().find(|object| object.size > 0 && folders.contains(&object.name)) {
        let reason = "has other objects in it as if it were a folder";
        return Err(Error::Content { path: object.name.clone(), reason });
    }
    found.retain(|object| !folders.contains(&object.name));
    Ok(found)
}

/// The folders around an object.
fn folders_of(name: &str) -> impl Iterator<Item = String> {
    name.match_indices('/').map(move |(end, _)| name[..end].to_owned())
}

fn versions(objects: &[Object]) -> BTreeMap<String, String> {
    objects.iter().map(|object| (object.name.clone(), object.version.clone())).collect()
}

fn make(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|source| failed(folder, source))
}

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::File { what: "a file of the checkout", path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, size: u64) -> Object {
        Object { name: name.to_owned(), size, version: "1".to_owned() }
    }

    #[test]
    fn only_plain_objects_of_the_paths_are_taken() {
        let paths = ["clusters/*".to_owned()];
        let of = |objects: &[(&str, u64)]| {
            let objects = objects.iter().map(|(name, size)| object(name, *size)).collect();
            let found = wanted(objects, &paths).map_err(|error| error.code())?;
            Ok::<_, &str>(found.into_iter().map(|object| object.name).collect::<Vec<_>>())
        };
        let found = of(&[
            ("README.md", 1),
            ("clusters/.hidden", 1),
            ("clusters/dev", 0),
            ("clusters/dev-2/spec.yaml", 9),
            ("clusters/dev/spec.yaml", 9),
            ("clusters/prod/spec.yaml", 9),
        ]);
        assert_eq!(
            found.unwrap(),
            ["clusters/dev-2/spec.yaml", "clusters/dev/spec.yaml", "clusters/prod/spec.yaml"]
        );
        assert_eq!(of(&[("other/../x", 1)]).unwrap(), Vec::<String>::new());
        for bad in ["clusters/../x", "clusters//x", "clusters/a\\b"] {
            assert_eq!(of(&[(bad, 1)]).unwrap_err(), "RECON0007", "{bad}");
        }
        assert_eq!(
            of(&[("clusters/a", 1), ("clusters/a-b", 1), ("clusters/a/b", 1)]).unwrap_err(),
            "RECON0007"
        );
        assert_eq!(of(&[("clusters/a", (16 << 20) + 1)]).unwrap_err(), "RECON0007");
    }
}
