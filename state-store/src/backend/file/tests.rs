use super::*;

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

#[tokio::test]
async fn reading_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("not/there");
    let backend = FileBackend::open(&root);
    assert_eq!(backend.get(&key("a/b")).await.unwrap(), None);
    assert_eq!(backend.list(&Prefix::root()).await.unwrap(), []);
    assert!(backend.list_children(&Prefix::new("a").unwrap()).await.unwrap().is_empty());
    backend.delete(&key("a/b")).await.unwrap();
    let update = backend.update(&key("a/b"), Bytes::new(), &Tag::default()).await;
    assert!(matches!(update, Err(Error::NotFound { .. })));
    assert!(!directory.path().join("not").exists());
    backend.create(&key("a/b"), Bytes::from_static(b"1")).await.unwrap();
    assert!(root.exists());
}

#[tokio::test]
async fn damage_is_an_error_with_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let backend = FileBackend::open(directory.path());
    let tag = backend.create(&key("a/b"), Bytes::from_static(b"some bytes")).await.unwrap();
    let path = directory.path().join("a/b");
    let whole = fs::read(&path).unwrap();
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    for damaged in [&whole[..whole.len() - 1], &whole[..20], b"", &flipped] {
        fs::write(&path, damaged).unwrap();
        let error = backend.get(&key("a/b")).await.unwrap_err();
        assert!(matches!(&error, Error::Corrupt { key, .. } if key == "a/b"), "{error}");
    }
    fs::write(&path, b"").unwrap();
    let update = backend.update(&key("a/b"), Bytes::new(), &tag).await;
    assert!(matches!(update, Err(Error::Corrupt { .. })));
}

#[tokio::test]
async fn leftovers_are_neither_seen_nor_kept() {
    let directory = tempfile::tempdir().unwrap();
    let temporary = directory.path().join(OWN).join("temporary");
    fs::create_dir_all(&temporary).unwrap();
    let (old, young) = (temporary.join("old"), temporary.join("young"));
    fs::write(&old, b"half of").unwrap();
    fs::write(&young, b"half of").unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7_200);
    fs::File::options().write(true).open(&old).unwrap().set_modified(long_ago).unwrap();

    let backend = FileBackend::open(directory.path());
    assert_eq!(backend.list(&Prefix::root()).await.unwrap(), []);
    assert!(old.exists(), "reading writes nothing");
    let tag = backend.create(&key("a/head"), Bytes::new()).await.unwrap();
    assert!(!old.exists(), "nobody comes back for it");
    assert!(young.exists(), "somebody may be writing it");
    backend.update(&key("a/head"), Bytes::new(), &tag).await.unwrap();
    assert_eq!(backend.list(&Prefix::root()).await.unwrap(), [key("a/head")]);
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1, "a write leaves nothing behind");
}

#[tokio::test]
async fn a_refused_directory_is_a_matter_of_permission() {
    let error = Error::from_io(key("a"), io::Error::from(io::ErrorKind::PermissionDenied));
    assert_eq!(error.code(), "STATE0006");
}
