use std::fs;

use super::*;

const PAGE: usize = 4096;

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn header(page: &mut [u8], id: u64, flags: u16, count: u16) {
    put(page, 0, &id.to_le_bytes());
    put(page, 8, &flags.to_le_bytes());
    put(page, 10, &count.to_le_bytes());
}

fn meta(page: &mut [u8], id: u64, transaction: u64) {
    header(page, id, META, 0);
    put(page, 16, &MAGIC.to_le_bytes());
    put(page, 20, &FORMAT.to_le_bytes());
    put(page, 24, &4096_u32.to_le_bytes());
    put(page, 32, &3_u64.to_le_bytes());
    put(page, 64, &transaction.to_le_bytes());
    let sum = checksum(&page[16..72]);
    put(page, 72, &sum.to_le_bytes());
}

/// A leaf with these elements.
fn leaf(id: u64, elements: &[(u32, &[u8], &[u8])], page: &mut [u8]) {
    header(page, id, LEAF, u16::try_from(elements.len()).unwrap());
    let mut data = PAGE_HEADER + elements.len() * ELEMENT;
    for (index, (flags, key, value)) in elements.iter().enumerate() {
        let at = PAGE_HEADER + index * ELEMENT;
        let numbers = [*flags, u32::try_from(data - at).unwrap()];
        let lengths = [key.len(), value.len()].map(|length| u32::try_from(length).unwrap());
        for (position, number) in numbers.into_iter().chain(lengths).enumerate() {
            put(page, at + position * 4, &number.to_le_bytes());
        }
        put(page, data, key);
        put(page, data + key.len(), value);
        data += key.len() + value.len();
    }
}

/// A snapshot with these revisions in a tree, and a value that makes it as large as requested.
pub(crate) fn snapshot(revisions: &[i64], padding: usize) -> Vec<u8> {
    let pages = 5 + padding.div_ceil(PAGE);
    let mut bytes = vec![0; pages * PAGE];
    let (mut places, _) = bytes.as_chunks_mut::<PAGE>();
    let (metas, rest) = places.split_at_mut(3);
    meta(&mut metas[0], 0, 7);
    meta(&mut metas[1], 1, 8);
    places = rest;
    let key = |revision: &i64| [&revision.to_be_bytes()[..], b"_", &[0; 8]].concat();
    let keys: Vec<Vec<u8>> = revisions.iter().map(key).collect();
    let elements: Vec<(u32, &[u8], &[u8])> = keys.iter().map(|key| (0, &**key, &b"value"[..])).collect();
    leaf(4, &elements, &mut places[1]);
    let bucket = [4_u64.to_le_bytes(), [0; 8]].concat();
    // A small bucket is inside the page of the root.
    let mut meta = vec![0; PAGE];
    leaf(
        0,
        &[(0, b"consistent_index", &41_u64.to_be_bytes()), (0, b"term", &3_u64.to_be_bytes())],
        &mut meta,
    );
    let meta = [&[0; BUCKET_HEADER][..], &meta[..128]].concat();
    let buckets: [(u32, &[u8], &[u8]); 3] =
        [(BUCKET, b"alarm", &bucket), (BUCKET, b"key", &bucket), (BUCKET, b"meta", &meta)];
    leaf(3, &buckets, &mut places[0]);
    let mut state = 1_u64;
    for byte in &mut bytes[5 * PAGE..] {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = (state >> 56) as u8;
    }
    let digest = aws_lc_rs::digest::digest(&SHA256, &bytes);
    bytes.extend_from_slice(digest.as_ref());
    bytes
}

fn read(bytes: &[u8]) -> Result<Database, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("snapshot.db");
    fs::write(&file, bytes).unwrap();
    check(&file)
}

#[test]
fn the_greatest_revision_is_read() {
    let found = read(&snapshot(&[2, 3, 40], 0)).unwrap();
    assert_eq!((found.revision, found.size), (40, 5 * 4096));
    assert_eq!(found.sha256.len(), 64);
    assert_eq!(read(&snapshot(&[], 0)).unwrap().revision, 1, "an empty etcd has revision 1");
}

#[test]
fn what_is_not_whole_is_refused() {
    let whole = snapshot(&[2], 0);
    for length in [0, 31, 32, 4096, whole.len() - 32, whole.len() - 1] {
        assert!(read(&whole[..length]).is_err(), "{length} bytes");
    }
    let mut changed = whole.clone();
    changed[4 * 4096 + 20] ^= 1;
    assert!(read(&changed).unwrap_err().contains("digest"));
}

#[test]
fn a_database_that_leads_nowhere_is_refused() {
    // The digest is right, and what is in front of it is no database.
    let signed = |mut bytes: Vec<u8>| {
        let digest = aws_lc_rs::digest::digest(&SHA256, &bytes);
        bytes.extend_from_slice(digest.as_ref());
        bytes
    };
    assert!(read(&signed(vec![0; 8192])).unwrap_err().contains("bbolt"));
    let whole = snapshot(&[2], 0);
    let database = &whole[..whole.len() - 32];
    for page in 3..5 {
        for at in 0..64 {
            let mut changed = database.to_vec();
            changed[page * PAGE + at] ^= 0xff;
            // Any answer, and no panic.
            let _ = read(&signed(changed));
        }
    }
}

#[test]
fn the_database_of_a_member_tells_its_position_and_becomes_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let whole = snapshot(&[2, 3, 40], 100);
    let (database, copied) = (folder.path().join("db"), folder.path().join("snapshot.db"));
    fs::write(&database, &whole[..whole.len() - DIGEST]).unwrap();
    let found = position(&database).unwrap();
    assert_eq!((found.revision, found.applied, found.size), (40, 41, (whole.len() - DIGEST) as u64));
    copy(&database, &copied).unwrap();
    assert_eq!(fs::read(&copied).unwrap(), whole);
    assert_eq!(check(&copied).unwrap().revision, 40);
    fs::write(&database, b"no database").unwrap();
    assert!(position(&database).is_err());
}

#[test]
fn the_members_in_a_database_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let read = |elements: &[&str]| {
        let mut bytes = vec![0; 5 * PAGE];
        let (places, _) = bytes.as_chunks_mut::<PAGE>();
        meta(&mut places[0], 0, 7);
        meta(&mut places[1], 1, 8);
        let bucket = [4_u64.to_le_bytes(), [0; 8]].concat();
        leaf(3, &[(BUCKET, b"members", &bucket)], &mut places[3]);
        let elements: Vec<(u32, &[u8], &[u8])> =
            elements.iter().map(|member| (0, &b"8e9e05c52164694d"[..], member.as_bytes())).collect();
        leaf(4, &elements, &mut places[4]);
        fs::write(&path, bytes).unwrap();
        members(&path)
    };
    let (voter, learner) =
        (r#"{"id":1,"peerURLs":["https://a:2380"],"name":"a"}"#, r#"{"id":2,"isLearner":true}"#);
    let found = read(&[voter, learner, voter]).unwrap();
    let votes: Vec<(u64, bool)> = found.iter().map(|member| (member.id, !member.is_learner)).collect();
    assert_eq!(votes, [(1, true), (2, false), (1, true)]);
    assert_eq!(found[0].peer_urls, ["https://a:2380"]);
    assert!(read(&["nothing"]).unwrap_err().contains("members"));
    assert!(members(&folder.path().join("none")).is_err());
}
