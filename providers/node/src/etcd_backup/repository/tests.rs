use std::fs;
use std::sync::Arc;

use slipway_bootstrap::configuration::EncryptionAlgorithm;
use slipway_bootstrap::pki::PrivateKey;
use slipway_state_store::MemoryBackend;
use tempfile::TempDir;

use super::super::database::tests::snapshot;
use super::*;

struct Place {
    folder: TempDir,
    backend: Arc<MemoryBackend>,
    key: String,
}

impl Place {
    fn new() -> Self {
        let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
        let key = key.to_pem().unwrap().expose().to_owned();
        Self { folder: tempfile::tempdir().unwrap(), backend: Arc::new(MemoryBackend::new()), key }
    }

    fn repository(&self) -> Repository {
        Repository::new(self.backend.clone(), "demo", Seal::of_authority(&self.key).unwrap())
    }

    async fn save(&self, bytes: &[u8], taken: &str) -> Result<(String, Manifest), ProviderError> {
        let file = self.folder.path().join("taken.db");
        fs::write(&file, bytes).unwrap();
        let origin = Origin {
            cluster: "demo".to_owned(),
            member: "cp-1".to_owned(),
            etcd_cluster_id: "cafe".to_owned(),
            etcd_version: "3.6.5".to_owned(),
            taken: taken.parse().unwrap(),
        };
        self.repository().save(&file, origin).await
    }

    async fn names(&self) -> Vec<String> {
        let listed = self.repository().list().await.unwrap();
        listed.into_iter().map(|listed| listed.name).collect()
    }

    /// Changes the bytes of an object.
    async fn change(&self, key: &str, change: impl Fn(&mut Vec<u8>)) {
        let key = Key::new(key).unwrap();
        let (bytes, tag) = self.backend.get(&key).await.unwrap().unwrap();
        let mut bytes = bytes.to_vec();
        change(&mut bytes);
        self.backend.update(&key, bytes.into(), &tag).await.unwrap();
    }
}

#[tokio::test]
async fn a_snapshot_comes_back_as_it_was_saved() {
    let place = Place::new();
    // More than one part.
    let bytes = snapshot(&[2, 77], PART + 5_000);
    let (name, manifest) = place.save(&bytes, "2026-11-26T07:43:22Z").await.unwrap();
    assert_eq!(name, "20261126T074322Z-77");
    assert_eq!((manifest.revision, manifest.parts.len()), (77, 2));
    assert_eq!(manifest.size as usize, bytes.len() - 32);
    let file = place.folder.path().join("fetched.db");
    assert_eq!(place.repository().fetch(&name, &file).await.unwrap(), manifest);
    assert_eq!(fs::read(&file).unwrap(), bytes);
    let listed = place.repository().list().await.unwrap();
    assert_eq!(listed[0].manifest.as_ref().unwrap(), &manifest);
    assert_eq!(place.repository().newest().await.unwrap(), Some(manifest.taken));
    // No plain text is stored.
    for (key, bytes) in place.backend.dump() {
        assert!(!bytes.windows(4).any(|bytes| bytes == b"cp-1" || bytes == b"key\0"), "{key}");
    }
}

#[tokio::test]
async fn one_that_is_saved_twice_is_there_once() {
    let place = Place::new();
    let bytes = snapshot(&[2], 0);
    let (name, first) = place.save(&bytes, "2026-11-26T07:43:22Z").await.unwrap();
    let (again, second) = place.save(&bytes, "2026-11-26T07:43:22Z").await.unwrap();
    assert_eq!((again, second), (name, first));
    assert_eq!(place.names().await.len(), 1);
}

#[tokio::test]
async fn what_is_no_snapshot_is_not_saved() {
    let place = Place::new();
    let mut bytes = snapshot(&[2], 0);
    bytes.truncate(bytes.len() - 512);
    assert!(place.save(&bytes, "2026-11-26T07:43:22Z").await.is_err());
    assert!(place.backend.dump().is_empty());
}

#[tokio::test]
async fn a_snapshot_that_was_changed_says_so() {
    let place = Place::new();
    let (name, _) = place.save(&snapshot(&[2], 0), "2026-11-26T07:43:22Z").await.unwrap();
    let part = format!("demo/etcd/{name}/part-00000");
    place.change(&part, |bytes| *bytes.last_mut().unwrap() ^= 1).await;
    let refused = place.repository().fetch(&name, &place.folder.path().join("a")).await.unwrap_err();
    assert!(refused.message.contains("damaged"), "{}", refused.message);
    place.change(&format!("demo/etcd/{name}/manifest"), |bytes| *bytes.last_mut().unwrap() ^= 1).await;
    let listed = place.repository().list().await.unwrap();
    assert!(listed[0].manifest.is_err());
    assert_eq!(place.repository().newest().await.unwrap(), None, "a new one is due");
}

#[tokio::test]
async fn what_the_retention_does_not_keep_is_removed() {
    let place = Place::new();
    let bytes = snapshot(&[2], 0);
    for taken in
        ["2026-11-01T00:00:00Z", "2026-11-20T01:00:00Z", "2026-11-20T02:00:00Z", "2026-11-26T07:00:00Z"]
    {
        place.save(&bytes, taken).await.unwrap();
    }
    let now = "2026-11-26T08:00:00Z".parse().unwrap();
    let week = Duration::from_secs(7 * 86_400);
    let gone = place.repository().prune(week, now).await.unwrap();
    assert_eq!(gone, ["20261120T010000Z-2", "20261101T000000Z-2"]);
    assert_eq!(place.names().await, ["20261120T020000Z-2", "20261126T070000Z-2"]);
    // A snapshot that cannot be decrypted does not replace those that can be.
    place.change("demo/etcd/20261126T070000Z-2/manifest", |bytes| *bytes.last_mut().unwrap() ^= 1).await;
    let later = "2027-11-26T08:00:00Z".parse().unwrap();
    assert!(place.repository().prune(week, later).await.unwrap().is_empty(), "the last good one stays");
}

#[tokio::test]
async fn parts_of_a_writer_that_was_interrupted_are_no_snapshot_and_go_later() {
    let place = Place::new();
    let (name, _) = place.save(&snapshot(&[2], 0), "2026-11-26T07:43:22Z").await.unwrap();
    place.backend.delete(&Key::new(format!("demo/etcd/{name}/manifest")).unwrap()).await.unwrap();
    assert!(place.names().await.is_empty());
    let day = Duration::from_secs(86_400);
    place.repository().prune(day, "2026-11-26T08:00:00Z".parse().unwrap()).await.unwrap();
    assert_eq!(place.backend.dump().len(), 1, "the writer may be at work");
    place.repository().prune(day, "2026-11-26T15:00:00Z".parse().unwrap()).await.unwrap();
    assert!(place.backend.dump().is_empty());
}

#[tokio::test]
async fn other_clusters_and_other_authorities_are_left_alone() {
    let place = Place::new();
    let (name, _) = place.save(&snapshot(&[2], 0), "2026-11-26T07:43:22Z").await.unwrap();
    let other = Place { backend: place.backend.clone(), ..Place::new() };
    let listed = other.repository().list().await.unwrap();
    assert!(listed[0].manifest.as_ref().unwrap_err().contains("another authority"));
    assert!(other.repository().prune(Duration::ZERO, Timestamp::now()).await.unwrap().is_empty());
    remove_all(&*place.backend, "demo2").await.unwrap();
    assert_eq!(place.names().await, [name]);
    remove_all(&*place.backend, "demo").await.unwrap();
    assert!(place.backend.dump().is_empty());
}

#[tokio::test]
async fn objects_that_are_copied_are_a_snapshot_elsewhere() {
    let place = Place::new();
    let bytes = snapshot(&[2, 9], PART + 10);
    let (name, manifest) = place.save(&bytes, "2026-11-26T07:43:22Z").await.unwrap();
    let other = Place { key: place.key.clone(), ..Place::new() };
    let (from, to) = (place.repository(), other.repository());
    assert_eq!(from.parts(&name).await.unwrap(), 2);
    assert_eq!(to.read_object(&name, MANIFEST).await.unwrap(), None);
    for object in ["part-00000", "part-00001", MANIFEST] {
        assert!(other.names().await.is_empty(), "the manifest comes last");
        let bytes = from.read_object(&name, object).await.unwrap().unwrap();
        // A second time, after an answer was lost, is the same.
        to.write_object(&name, object, bytes.clone()).await.unwrap();
        to.write_object(&name, object, bytes).await.unwrap();
    }
    let file = other.folder.path().join("fetched.db");
    assert_eq!(to.fetch(&name, &file).await.unwrap(), manifest);
    for wrong in [("notes", MANIFEST), (&*name, "../head"), (&*name, "part-x")] {
        assert!(to.write_object(wrong.0, wrong.1, Vec::new()).await.is_err(), "{wrong:?}");
    }
}
