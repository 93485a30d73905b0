//! The database file in a snapshot of etcd: checks that it is complete, and reads its revision.
//!
//! A snapshot is a bbolt database (`go.etcd.io/bbolt`, format 2) with the SHA-256 of its bytes at the end, as etcd's
//! maintenance API sends it and `etcdctl snapshot save` writes it. Only the path to the greatest key of the
//! bucket `key` is read: the keys of that bucket are revisions.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256};
use slipway_resource::hexadecimal;

use crate::etcd_data::KnownMember;

/// The length of the digest at the end of a snapshot.
pub(super) const DIGEST: usize = 32;

/// Sizes of databases are multiples of this, so the sizes of snapshots, which have a digest at the end, are
/// not.
const BLOCK: u64 = 512;

const MAGIC: u32 = 0xED0C_DAED;
const FORMAT: u32 = 2;

const PAGE_HEADER: usize = 16;
const ELEMENT: usize = 16;
const BUCKET_HEADER: usize = 16;

const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const META: u16 = 0x04;

/// The flag of an element of a leaf that is a bucket.
const BUCKET: u32 = 0x01;

/// No page of etcd is larger with its overflow: a request has 1.5 MiB by default.
const LARGEST_PAGE: u64 = 256 << 20;

/// More pages than a bucket has that is read as a whole.
const MOST_PAGES: usize = 64;

/// More levels than any tree of this size has.
const DEEPEST: usize = 32;

/// The contents of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Database {
    /// The size of the database in bytes, without the digest at the end.
    pub(crate) size: u64,
    /// The SHA-256 of the database as hexadecimal digits, as etcd wrote it at the end.
    pub(crate) sha256: String,
    /// The greatest revision of the database.
    pub(crate) revision: i64,
}

/// Reads a snapshot to its end. Blocks.
///
/// # Errors
/// When the file is not a complete snapshot of etcd; the text is the reason.
pub(crate) fn check(path: &Path) -> Result<Database, String> {
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let size =
        length.checked_sub(DIGEST as u64).filter(|size| *size > 0 && size % BLOCK == 0).ok_or_else(|| {
            format!("{length} bytes are no snapshot of etcd: the database or the digest behind it is cut off")
        })?;
    let (computed, written) = digests(&mut file, size)?;
    if computed != written {
        return Err("the digest at the end of the snapshot is not that of its database".to_owned());
    }
    let pages = Pages { file: &file, size };
    let revision = pages.revision(&pages.newest()?)?;
    Ok(Database { size, sha256: hexadecimal(&computed), revision })
}

/// The position of a member's database in the history of its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The size of the database in bytes.
    pub(crate) size: u64,
    /// Its greatest revision.
    pub(crate) revision: i64,
    /// The index of the last entry of the log that it has.
    pub(crate) applied: u64,
}

/// Reads the position of a database in a member's data folder. The member may run. Blocks.
///
/// # Errors
/// When the file is not a database of etcd, or was changed meanwhile; the text is the reason.
pub(crate) fn position(path: &Path) -> Result<Position, String> {
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let pages = Pages { file: &file, size };
    let meta = pages.newest()?;
    let applied = pages.number(&meta, b"consistent_index")?;
    Ok(Position { size, revision: pages.revision(&meta)?, applied })
}

/// The members of etcd that a database knows. Blocks.
///
/// # Errors
/// When the file is not a database of etcd, or was changed meanwhile; the text is the reason.
pub(crate) fn members(path: &Path) -> Result<Vec<KnownMember>, String> {
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let pages = Pages { file: &file, size };
    let meta = pages.newest()?;
    let elements = pages.bucket(&meta, b"members")?.all(&pages, &meta)?;
    let read = |value: &[u8]| {
        serde_json::from_slice(value).map_err(|_| damaged("an element of the bucket `members` is no member"))
    };
    elements.iter().map(|(_, value)| read(value)).collect()
}

/// Copies the database of a stopped member into a snapshot: with its digest at the end, as `etcdctl snapshot save` writes
/// it. Blocks.
///
/// # Errors
/// When a file cannot be read or written.
pub(crate) fn copy(database: &Path, snapshot: &Path) -> Result<(), String> {
    let mut from = File::open(database).map_err(failed)?;
    let mut options = File::options();
    let mut to =
        options.write(true).create(true).truncate(true).mode(0o600).open(snapshot).map_err(failed)?;
    let mut digest = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = from.read(&mut buffer).map_err(failed)?;
        match buffer.get(..count) {
            Some([]) | None => break,
            Some(bytes) => {
                digest.update(bytes);
                to.write_all(bytes).map_err(failed)?;
            }
        }
    }
    to.write_all(digest.finish().as_ref()).map_err(failed)?;
    to.sync_all().map_err(failed)
}

fn failed(error: io::Error) -> String {
    error.to_string()
}

/// The digest of the database, and the one that is written behind it.
fn digests(file: &mut File, size: u64) -> Result<(Vec<u8>, Vec<u8>), String> {
    let mut digest = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 20];
    let mut database = (&mut *file).take(size);
    loop {
        let count = database.read(&mut buffer).map_err(failed)?;
        match buffer.get(..count) {
            Some([]) | None => break,
            Some(bytes) => digest.update(bytes),
        }
    }
    let mut written = Vec::new();
    file.take(DIGEST as u64).read_to_end(&mut written).map_err(failed)?;
    Ok((digest.finish().as_ref().to_vec(), written))
}

/// The pages of a database.
struct Pages<'a> {
    file: &'a File,
    size: u64,
}

/// The description of a whole database: the newer one of two pages.
struct Meta {
    page_size: u64,
    root: u64,
    transaction: u64,
}

impl Pages<'_> {
    /// The newer one of the two descriptions.
    fn newest(&self) -> Result<Meta, String> {
        let first = self.meta(0);
        // The second page follows the first one, which has the page size. If the first one is damaged, the
        // usual size is tried.
        let page_size = first.as_ref().map_or(4096, |meta| meta.page_size);
        let second = self.meta(page_size);
        let newer = first.into_iter().chain(second).max_by_key(|meta| meta.transaction);
        newer.ok_or_else(|| "it is no database of bbolt: neither of its two meta pages is whole".to_owned())
    }

    fn revision(&self, meta: &Meta) -> Result<i64, String> {
        let keys = self.bucket(meta, b"key")?;
        let Some(greatest) = keys.greatest(self, meta)? else { return Ok(1) };
        let main = greatest.get(..8).and_then(|bytes| bytes.try_into().ok());
        main.map(i64::from_be_bytes).ok_or_else(|| damaged("a key of the bucket `key` is no revision"))
    }

    fn meta(&self, at: u64) -> Option<Meta> {
        let bytes = self.bytes(at, PAGE_HEADER + 64).ok()?;
        let (header, meta) = bytes.split_at_checked(PAGE_HEADER)?;
        let is_meta = number16(header, 8)? == META;
        let is_known = number32(meta, 0)? == MAGIC && number32(meta, 4)? == FORMAT;
        let is_whole = checksum(meta.get(..56)?) == number64(meta, 56)?;
        let found = Meta {
            page_size: number32(meta, 8)?.into(),
            root: number64(meta, 16)?,
            transaction: number64(meta, 48)?,
        };
        (is_meta && is_known && is_whole && found.page_size >= BLOCK).then_some(found)
    }

    /// A bucket of the root.
    fn bucket(&self, meta: &Meta, name: &[u8]) -> Result<Bucket, String> {
        let missing = || damaged(&format!("the bucket `{}` is missing", String::from_utf8_lossy(name)));
        let root = self.page(meta, meta.root)?;
        let (flags, value) = self.find(meta, root, name)?.ok_or_else(missing)?;
        Bucket::of(&value).filter(|_| flags & BUCKET != 0).ok_or_else(missing)
    }

    /// A number of the bucket `meta`: eight bytes, the most significant one first. Zero where it is absent.
    fn number(&self, meta: &Meta, name: &[u8]) -> Result<u64, String> {
        let root = match self.bucket(meta, b"meta")? {
            Bucket::Tree(root) => self.page(meta, root)?,
            Bucket::Inline(page) => page,
        };
        let Some((_, value)) = self.find(meta, root, name)? else { return Ok(0) };
        let bytes = value.try_into().map_err(|_| damaged("a number of the bucket `meta` is no number"))?;
        Ok(u64::from_be_bytes(bytes))
    }

    /// Flags and value of a key, below a page.
    fn find(&self, meta: &Meta, mut page: Page, name: &[u8]) -> Result<Option<(u32, Vec<u8>)>, String> {
        for _ in 0..DEEPEST {
            match page.flags {
                BRANCH => {
                    // The last child whose first key is not greater than the name.
                    let mut next = page.child(0)?;
                    for index in 0..page.count {
                        if page.branch_key(index)? <= name {
                            next = page.child(index)?;
                        }
                    }
                    page = self.page(meta, next)?;
                }
                LEAF => {
                    for index in 0..page.count {
                        let (flags, key, value) = page.leaf(index)?;
                        if key == name {
                            return Ok(Some((flags, value.to_vec())));
                        }
                    }
                    return Ok(None);
                }
                _ => return Err(damaged("a page is neither branch nor leaf")),
            }
        }
        Err(damaged("a bucket is too deep"))
    }

    fn page(&self, meta: &Meta, id: u64) -> Result<Page, String> {
        let at = id.checked_mul(meta.page_size).ok_or_else(|| damaged("a page is beyond its end"))?;
        let header = self.bytes(at, PAGE_HEADER)?;
        let overflow = number32(&header, 12).unwrap_or_default();
        let length = (u64::from(overflow) + 1).saturating_mul(meta.page_size);
        if length > LARGEST_PAGE {
            return Err(damaged("a page is larger than any of etcd"));
        }
        let bytes = self.bytes(at, usize::try_from(length).unwrap_or(usize::MAX))?;
        Page::of(bytes).ok_or_else(|| damaged("a page is cut off"))
    }

    fn bytes(&self, at: u64, length: usize) -> Result<Vec<u8>, String> {
        let end = at.checked_add(length as u64).filter(|end| *end <= self.size);
        end.ok_or_else(|| damaged("a page is beyond its end"))?;
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at).map_err(failed)?;
        Ok(bytes)
    }
}

/// A bucket of the database. A small bucket is stored inside a page of its parent; a larger one has its own root page.
enum Bucket {
    Tree(u64),
    Inline(Page),
}

/// A key and its value.
type Entry = (Vec<u8>, Vec<u8>);

impl Bucket {
    fn of(value: &[u8]) -> Option<Self> {
        let (header, rest) = value.split_at_checked(BUCKET_HEADER)?;
        match number64(header, 0)? {
            0 => Page::of(rest.to_vec()).map(Self::Inline),
            root => Some(Self::Tree(root)),
        }
    }

    /// All keys and values of a small bucket.
    fn all(self, pages: &Pages<'_>, meta: &Meta) -> Result<Vec<Entry>, String> {
        let mut found = Vec::new();
        let mut open = vec![match self {
            Self::Tree(root) => pages.page(meta, root)?,
            Self::Inline(page) => page,
        }];
        for _ in 0..MOST_PAGES {
            let Some(page) = open.pop() else { return Ok(found) };
            for index in 0..page.count {
                match page.flags {
                    BRANCH => open.push(pages.page(meta, page.child(index)?)?),
                    LEAF => {
                        let (_, key, value) = page.leaf(index)?;
                        found.push((key.to_vec(), value.to_vec()));
                    }
                    _ => return Err(damaged("a page of a bucket is neither branch nor leaf")),
                }
            }
        }
        Err(damaged("a bucket is too large"))
    }

    /// The greatest key of the bucket; `None` when the bucket is empty.
    fn greatest(self, pages: &Pages<'_>, meta: &Meta) -> Result<Option<Vec<u8>>, String> {
        let mut page = match self {
            Self::Tree(root) => pages.page(meta, root)?,
            Self::Inline(page) => page,
        };
        for _ in 0..DEEPEST {
            let Some(last) = page.count.checked_sub(1) else { return Ok(None) };
            match page.flags {
                BRANCH => page = pages.page(meta, page.child(last)?)?,
                LEAF => return page.leaf(last).map(|(_, key, _)| Some(key.to_vec())),
                _ => return Err(damaged("a page of the bucket `key` is neither branch nor leaf")),
            }
        }
        Err(damaged("the bucket `key` is too deep"))
    }
}

/// A page, with its overflow pages.
struct Page {
    flags: u16,
    count: usize,
    bytes: Vec<u8>,
}

impl Page {
    fn of(bytes: Vec<u8>) -> Option<Self> {
        let (flags, count) = (number16(&bytes, 8)?, number16(&bytes, 10)?.into());
        Some(Self { flags, count, bytes })
    }

    fn element(&self, index: usize) -> usize {
        PAGE_HEADER + index * ELEMENT
    }

    fn number(&self, at: usize) -> Result<usize, String> {
        let number = number32(&self.bytes, at).and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| damaged("an element of a page is cut off"))
    }

    fn slice(&self, at: usize, length: usize) -> Result<&[u8], String> {
        let end = at.checked_add(length);
        let slice = end.and_then(|end| self.bytes.get(at..end));
        slice.ok_or_else(|| damaged("a key of a page is cut off"))
    }

    fn branch_key(&self, index: usize) -> Result<&[u8], String> {
        let at = self.element(index);
        self.slice(at + self.number(at)?, self.number(at + 4)?)
    }

    fn child(&self, index: usize) -> Result<u64, String> {
        let child = number64(&self.bytes, self.element(index) + 8);
        child.ok_or_else(|| damaged("an element of a page is cut off"))
    }

    /// Flags, key and value of an element.
    fn leaf(&self, index: usize) -> Result<(u32, &[u8], &[u8]), String> {
        let at = self.element(index);
        let flags = number32(&self.bytes, at).ok_or_else(|| damaged("an element of a page is cut off"))?;
        let (place, key, value) = (at + self.number(at + 4)?, self.number(at + 8)?, self.number(at + 12)?);
        Ok((flags, self.slice(place, key)?, self.slice(place.saturating_add(key), value)?))
    }
}

fn damaged(what: &str) -> String {
    format!("its database is damaged: {what}")
}

fn number16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn number32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn number64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// FNV-1a of 64 bits, by which a meta page is known to be whole.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
pub(crate) mod tests;
