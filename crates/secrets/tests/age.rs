//! Files that are written here open with age itself, and the reverse.

#![allow(clippy::unwrap_used, reason = "what fails in a test ends it")]

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use slipway_secrets::{age, identity_file};

fn run(tool: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child =
        Command::new(tool).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // Beside the reading: neither side waits for the other.
    let output = std::thread::scope(|scope| {
        scope.spawn(move || pipe.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{tool:?} {arguments:?}: {}", output.status);
    output.stdout
}

#[test]
fn age_reads_what_is_written_here_and_the_reverse() {
    let tools = slipway_testkit::age::install().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("identity.txt");
    let (identities, _) = identity_file::read_or_create(&path).unwrap();
    let file = path.to_str().unwrap();
    let recipient = identities[0].recipient();
    let named = run(&tools.join("age-keygen"), &["-y", file], b"");
    assert_eq!(String::from_utf8(named).unwrap().trim(), recipient.to_string());

    for length in [0, 1, 100, 64 * 1024, 200_000] {
        let plain = vec![b'x'; length];
        let other = age::Identity::generate().unwrap();
        let written = age::encrypt(&[other.recipient().clone(), recipient.clone()], &plain).unwrap();
        assert_eq!(run(&tools.join("age"), &["-d", "-i", file], &written), plain, "{length}");
        let theirs = run(&tools.join("age"), &["-r", &recipient.to_string()], &plain);
        assert_eq!(*age::decrypt(&[&identities[0]], &theirs).unwrap().unwrap(), plain, "{length}");
    }

    let theirs = run(&tools.join("age-keygen"), &[], b"");
    let theirs = age::Identity::read_all(&String::from_utf8(theirs).unwrap()).unwrap();
    let written = age::encrypt(&[theirs[0].recipient().clone()], b"text").unwrap();
    assert_eq!(age::decrypt(&[&theirs[0]], &written).unwrap().unwrap().as_slice(), b"text");
}
