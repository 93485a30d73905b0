use std::fs::File;
use std::io::Write as _;
use std::process::Command;

use super::filesystem::{Content, content, format};
use super::record::Record;
use super::*;

fn record() -> Record {
    Record {
        member: "a".to_owned(),
        volume: "vol-1".to_owned(),
        serial: "vol1".to_owned(),
        devices: Vec::new(),
        is_formatting: false,
        former: None,
    }
}

/// A file that stands for a device.
fn disk(folder: &Path) -> PathBuf {
    let path = folder.join("disk");
    File::create(&path).unwrap().set_len(64 << 20).unwrap();
    path
}

#[tokio::test]
async fn only_a_blank_volume_is_formatted() {
    let folder = tempfile::tempdir().unwrap();
    let (root, disk) = (folder.path(), disk(folder.path()));
    let uuid = formatted(root, &disk, &mut record()).await.unwrap();
    assert_eq!(content(&disk).unwrap(), Content::OfEtcd { uuid: uuid.clone() });
    let said = Command::new("blkid").args(["-p", "-o", "value", "-s", "UUID"]).arg(&disk).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout).trim(), uuid);
    // A second time, it is what it was.
    assert_eq!(formatted(root, &disk, &mut record()).await.unwrap(), uuid);

    // The file system of another tool, and data that is none at all, stay.
    for (write, found) in [(true, "another tool"), (false, "no file system")] {
        let other = super::tests::disk(folder.path());
        match write {
            true => {
                assert!(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&other).status().unwrap().success())
            }
            false => File::options().write(true).open(&other).unwrap().write_all(b"LUKS").unwrap(),
        }
        let before = content(&other).unwrap();
        let Err(Stop::Failed(error)) = formatted(root, &other, &mut record()).await else {
            panic!("{found}")
        };
        assert!(error.to_string().contains(found), "{error}");
        assert_eq!(content(&other).unwrap(), before);
    }
}

#[tokio::test]
async fn an_interrupted_format_is_done_again() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(folder.path());
    File::options().write(true).open(&disk).unwrap().write_all(b"half a file system").unwrap();
    let mut half = Record { is_formatting: true, ..record() };
    half.write(folder.path()).unwrap();
    let uuid = formatted(folder.path(), &disk, &mut half).await.unwrap();
    assert_eq!(content(&disk).unwrap(), Content::OfEtcd { uuid });
    // From now on, what is on the volume is never formatted.
    assert!(!Record::read(folder.path()).unwrap().unwrap().is_formatting);
}

#[tokio::test]
async fn the_end_of_a_device_counts_as_well() {
    use std::io::{Seek as _, SeekFrom};
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(folder.path());
    assert_eq!(content(&disk).unwrap(), Content::Blank);
    let mut file = File::options().write(true).open(&disk).unwrap();
    file.seek(SeekFrom::End(-512)).unwrap();
    file.write_all(b"EFI PART").unwrap();
    assert_eq!(content(&disk).unwrap(), Content::Unknown);
    format(&disk).await.unwrap();
    assert!(matches!(content(&disk).unwrap(), Content::OfEtcd { .. }));
}

#[test]
fn the_table_of_file_systems_has_one_line_for_the_volume() {
    let first = table::with_volume("# /var/lib/etcd here\nUUID=1 / xfs defaults 0 0\n", "a-b");
    let lines =
        "# /var/lib/etcd here\nUUID=1 / xfs defaults 0 0\nUUID=a-b /var/lib/etcd ext4 defaults,nofail 0 2\n";
    assert_eq!(first, lines);
    assert_eq!(table::with_volume(&first, "a-b"), first);
    assert_eq!(table::with_volume(&first, "c-d"), lines.replace("a-b", "c-d"));
    assert_eq!(table::with_volume("", "a-b"), "UUID=a-b /var/lib/etcd ext4 defaults,nofail 0 2\n");
}

#[test]
fn the_url_of_a_member_has_its_address() {
    let address = |url: &str| address_of(url).map(|address| address.to_string());
    assert_eq!(address("https://10.0.0.1:2380").as_deref(), Some("10.0.0.1:2380"));
    assert_eq!(address("http://[fd00::1]:2380/").as_deref(), Some("[fd00::1]:2380"));
    assert_eq!(address("https://a.example.com:2380"), None);
    assert_eq!(address("10.0.0.1:2380"), None);
}

#[test]
fn a_record_is_read_as_it_was_written() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(member(root.path()).unwrap(), None);
    let answer = Value::map([
        ("member", Value::from("a")),
        ("volume", "vol-1".into()),
        ("serial", "vol1".into()),
        ("devices", Value::list(["/dev/none"])),
    ]);
    let made = Record::of_answer(&answer).unwrap();
    made.write(root.path()).unwrap();
    assert_eq!(Record::read(root.path()).unwrap(), Some(made.clone()));
    assert_eq!(member(root.path()).unwrap().as_deref(), Some("a"));
    assert_eq!(device(root.path(), &made), None);
    let moved = Record { former: Some("10.0.0.1".to_owned()), ..made };
    moved.write(root.path()).unwrap();
    assert_eq!(former(root.path()).unwrap().as_deref(), Some("10.0.0.1"));
    assert_eq!(Record::of_answer(&Value::map([("member", "a")])), None);
}
