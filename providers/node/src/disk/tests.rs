use std::sync::Mutex;

use super::*;

fn disk(folder: &Path) -> Disk {
    Disk::new(Root::new(folder), None)
}

fn steps_of(folder: &Path, act: impl Fn(&Disk)) -> Vec<String> {
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&steps);
    let checkpoint: Checkpoint = Arc::new(move |step: &str| seen.lock().unwrap().push(step.to_owned()));
    act(&Disk::new(Root::new(folder), Some(checkpoint)));
    steps.lock().unwrap().clone()
}

#[test]
fn a_file_is_put_in_its_place_in_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let manifests = folder.path().join("etc/manifests");
    fs::create_dir_all(&manifests).unwrap();
    fs::write(manifests.join("a.yaml"), "before").unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let checkpoint: Checkpoint = {
        let (seen, manifests) = (Arc::clone(&seen), manifests.clone());
        Arc::new(move |_: &str| {
            let names = fs::read_dir(&manifests).unwrap().count();
            seen.lock().unwrap().push((names, fs::read_to_string(manifests.join("a.yaml")).unwrap()));
        })
    };
    let disk = Disk::new(Root::new(folder.path()), Some(checkpoint));
    disk.write("/etc/manifests/a.yaml", b"afterwards", Access::mode(0o600)).unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.len() > 3, "{seen:?}");
    for (names, content) in seen.iter() {
        assert_eq!(*names, 1, "nothing else ever stands in the folder");
        assert!(content == "before" || content == "afterwards", "{content}");
    }
    assert_eq!(disk.read_text("/etc/manifests/a.yaml").unwrap().as_deref(), Some("afterwards"));
    assert_eq!(disk.status("/etc/manifests/a.yaml").unwrap().unwrap().mode(), 0o600);
    assert!(disk.list("/var/lib/slipway/draft").unwrap().is_empty());
}

#[test]
fn a_new_file_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(folder.path());
    assert!(disk.write_new("/a/b", b"first", 0o600).unwrap());
    assert!(!disk.write_new("/a/b", b"second", 0o600).unwrap());
    assert_eq!(disk.read_text("/a/b").unwrap().as_deref(), Some("first"));
}

#[test]
fn a_link_is_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(folder.path());
    disk.write("/real/file", b"a", Access::mode(0o644)).unwrap();
    fs::create_dir_all(folder.path().join("etc")).unwrap();
    std::os::unix::fs::symlink("/real/file", folder.path().join("etc/link")).unwrap();
    disk.write("/etc/link", b"b", Access::mode(0o644)).unwrap();
    assert_eq!(disk.read_text("/real/file").unwrap().as_deref(), Some("b"));
    assert!(folder.path().join("etc/link").is_symlink());
}

#[test]
fn what_is_absent_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk(folder.path());
    assert!(disk.read("/a").unwrap().is_none());
    assert!(disk.status("/a/b").unwrap().is_none());
    assert!(!disk.remove("/a").unwrap());
    assert!(disk.list("/a").unwrap().is_empty());
    disk.make_directory("/a", Access::mode(0o700)).unwrap();
    assert!(disk.read("/a").is_err(), "a folder is not a file");
}

#[test]
fn drafts_of_dead_processes_are_cleared() {
    let folder = tempfile::tempdir().unwrap();
    let draft = folder.path().join("var/lib/slipway/draft");
    fs::create_dir_all(&draft).unwrap();
    let ours = format!(".slipway-{}-0", std::process::id());
    fs::write(draft.join(&ours), "").unwrap();
    fs::write(draft.join(".slipway-99999999-0"), "").unwrap();
    clear_temporaries(&Root::new(folder.path()));
    assert_eq!(disk(folder.path()).list("/var/lib/slipway/draft").unwrap(), [ours]);
    let steps = steps_of(folder.path(), |disk| disk.write("/a", b"1", Access::mode(0o600)).unwrap());
    assert_eq!(steps, ["create", "write", "rename", "sync folder"]);
}
