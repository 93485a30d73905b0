//! Fetches a file by its digest from the first of several mirrors that has it.
//!
//! The bytes are collected in a temporary file for each mirror, so that a mirror with other bytes does not
//! spoil those of another one. An interrupted download continues where it ended. The file gets its name only
//! after all bytes were checked.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::RANGE;
use reqwest::{Client, StatusCode};
use slipway_resource::Digest;

/// How long a mirror may take to answer, and to send the next bytes.
const PATIENCE: Duration = Duration::from_secs(20);
/// The largest file that is fetched, in bytes.
pub const LARGEST: u64 = 1 << 30;

/// Mirrors that are not asked by HTTP, or without a credential.
#[async_trait]
pub trait Others: Send + Sync {
    /// Writes the file of a URL to a path; `None` if these mirrors do not have URLs of this kind.
    ///
    /// # Errors
    /// A sentence without any credential.
    async fn receive(&self, url: &str, part: &Path) -> Option<Result<(), String>>;
}

/// No such mirrors.
#[derive(Clone, Copy, Debug)]
pub struct NoOthers;

#[async_trait]
impl Others for NoOthers {
    async fn receive(&self, _: &str, _: &Path) -> Option<Result<(), String>> {
        None
    }
}

/// Fetches the file with a SHA-256 (64 hexadecimal digits) from the first of several URLs that has it. Returns its path in the
/// folder.
///
/// # Errors
/// A sentence for each URL.
pub async fn fetch(urls: &[String], sha256: &str, folder: &Path) -> Result<PathBuf, Vec<String>> {
    fetch_with(urls, sha256, folder, &NoOthers).await
}

/// The same, also from other mirrors.
///
/// # Errors
/// A sentence for each URL.
pub async fn fetch_with(
    urls: &[String],
    sha256: &str,
    folder: &Path,
    others: &dyn Others,
) -> Result<PathBuf, Vec<String>> {
    let whole = folder.join(sha256);
    if has_digest(&whole, sha256) {
        return Ok(whole);
    }
    let client = Client::builder().connect_timeout(PATIENCE).read_timeout(PATIENCE).build();
    let client = client.map_err(|error| vec![error.to_string()])?;
    let part = |index: usize| folder.join(format!("{sha256}.{index}.part"));
    let mut reasons = Vec::new();
    for (index, url) in urls.iter().enumerate() {
        let draft = part(index);
        match from(&client, others, (url.as_str(), draft.as_path()), sha256).await {
            Ok(()) => {
                let placed = fs::rename(&draft, &whole);
                for other in (0..urls.len()).map(part) {
                    // Most of them were never there.
                    let _ = fs::remove_file(other);
                }
                return placed.map(|()| whole).map_err(|error| vec![format!("{}: {error}", draft.display())]);
            }
            Err(reason) => {
                let reason = format!("{url}: {reason}");
                tracing::warn!(%reason, "a mirror is passed over");
                reasons.push(reason);
            }
        }
    }
    Err(reasons)
}

/// Fetches the rest of a file from one mirror, and checks the whole.
async fn from(
    client: &Client,
    others: &dyn Others,
    (url, part): (&str, &Path),
    sha256: &str,
) -> Result<(), String> {
    let there = fs::metadata(part).map_or(0, |metadata| metadata.len());
    // All of it may be there, and not yet checked.
    if there == 0 || !has_digest(part, sha256) {
        match (others.receive(url, part).await, url.strip_prefix("file://")) {
            (Some(received), _) => received?,
            (None, Some(path)) => copy(Path::new(path), part).map_err(|error| error.to_string())?,
            (None, None) => receive(client, url, part, there).await?,
        }
        if !has_digest(part, sha256) {
            let found = digest(part).unwrap_or_default();
            let _ = fs::remove_file(part);
            return Err(format!("it serves other bytes, with the SHA-256 {found}"));
        }
    }
    Ok(())
}

async fn receive(client: &Client, url: &str, part: &Path, there: u64) -> Result<(), String> {
    let reason_of = |error: reqwest::Error| slipway_resource::with_causes(&error.without_url());
    let mut request = client.get(url);
    if there > 0 {
        request = request.header(RANGE, format!("bytes={there}-"));
    }
    let mut answer = request.send().await.map_err(reason_of)?;
    let mut options = OpenOptions::new();
    options.create(true);
    let mut received = match answer.status() {
        StatusCode::OK => {
            options.write(true).truncate(true);
            0
        }
        StatusCode::PARTIAL_CONTENT if there > 0 => {
            options.append(true);
            there
        }
        StatusCode::RANGE_NOT_SATISFIABLE => {
            let _ = fs::remove_file(part);
            return Err("it has fewer bytes than an earlier download".to_owned());
        }
        status => return Err(format!("it answers with {status}")),
    };
    let unwritable = |error: io::Error| format!("{} cannot be written: {error}", part.display());
    let mut file = options.open(part).map_err(unwritable)?;
    while let Some(bytes) = answer.chunk().await.map_err(reason_of)? {
        received = received.saturating_add(bytes.len() as u64);
        if received > LARGEST {
            let _ = fs::remove_file(part);
            return Err(format!("it has more than {LARGEST} bytes"));
        }
        file.write_all(&bytes).map_err(unwritable)?;
    }
    file.sync_all().map_err(unwritable)
}

fn copy(from: &Path, part: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let mut target = File::create(part)?;
    io::copy(&mut source, &mut target)?;
    target.sync_all()
}

fn has_digest(path: &Path, sha256: &str) -> bool {
    digest(path).is_ok_and(|found| found.eq_ignore_ascii_case(sha256))
}

/// The SHA-256 of a file, 64 hexadecimal digits.
///
/// # Errors
/// When the file cannot be read.
pub fn digest(path: &Path) -> io::Result<String> {
    Ok(Digest::of_reader(File::open(path)?)?.hex().to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};
    use std::thread;

    use super::*;

    /// A mirror with one file, which ends each answer after `at_most` bytes. It records its requests.
    fn mirror(content: &'static [u8], at_most: usize) -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/kubelet", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = asked.clone();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut start = 0;
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while let Some(Ok(line)) = lines.next().filter(|line| !line.as_ref().unwrap().is_empty()) {
                    if let Some(range) = line.strip_prefix("range: bytes=") {
                        start = range.trim_end_matches('-').parse().unwrap();
                        kept.lock().unwrap().push(range.to_owned());
                    }
                }
                let status = if start > 0 { "206 Partial Content" } else { "200 OK" };
                let rest = &content[start..];
                let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", rest.len());
                let _ = stream.write_all(head.as_bytes());
                let _ = stream.write_all(&rest[..rest.len().min(at_most)]);
            }
        });
        (url, asked)
    }

    fn sha256(content: &[u8]) -> String {
        Digest::of_bytes(content).hex().to_owned()
    }

    #[tokio::test]
    async fn a_mirror_that_is_down_or_serves_other_bytes_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let (other, _) = mirror(b"another program", 1_000);
        let (right, _) = mirror(b"the program", 1_000);
        let down = "http://127.0.0.1:1/kubelet".to_owned();
        let wanted = sha256(b"the program");
        let reasons = fetch(&[down.clone(), other.clone()], &wanted, folder.path()).await.unwrap_err();
        assert_eq!(reasons.len(), 2);
        assert!(reasons[0].starts_with("http://127.0.0.1:1/kubelet: "), "{reasons:?}");
        assert!(reasons[1].contains("it serves other bytes, with the SHA-256"), "{reasons:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing of it is kept");
        let path = fetch(&[down, other, right], &wanted, folder.path()).await.unwrap();
        assert_eq!(fs::read(path).unwrap(), b"the program");
    }

    #[tokio::test]
    async fn a_download_goes_on_where_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        let (cut, asked) = mirror(b"0123456789", 4);
        let wanted = sha256(b"0123456789");
        for _ in 0..2 {
            fetch(std::slice::from_ref(&cut), &wanted, folder.path()).await.unwrap_err();
        }
        let path = fetch(&[cut], &wanted, folder.path()).await.unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"0123456789");
        assert_eq!(*asked.lock().unwrap(), ["4-", "8-"]);
        // An existing file is not fetched again.
        assert_eq!(fetch(&[], &wanted, folder.path()).await.unwrap(), path);
    }

    /// A mirror with one kind of URL, which writes what its URL says.
    struct Said;

    #[async_trait]
    impl Others for Said {
        async fn receive(&self, url: &str, part: &Path) -> Option<Result<(), String>> {
            let said = url.strip_prefix("said://")?;
            Some(fs::write(part, said).map_err(|error| error.to_string()))
        }
    }

    #[tokio::test]
    async fn other_mirrors_have_their_place_in_the_order() {
        let folder = tempfile::tempdir().unwrap();
        let (other, asked) = mirror(b"the program", 1_000);
        let urls = ["said://another program", "said://the program", other.as_str()].map(str::to_owned);
        let path = fetch_with(&urls, &sha256(b"the program"), folder.path(), &Said).await.unwrap();
        assert_eq!(fs::read(path).unwrap(), b"the program");
        assert!(asked.lock().unwrap().is_empty());
        let reasons = fetch(&urls[..1], &sha256(b"another"), folder.path()).await.unwrap_err();
        assert_eq!(reasons.len(), 1, "nothing else has URLs of this kind");
    }

    #[tokio::test]
    async fn a_folder_is_a_mirror() {
        let (folder, source) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(source.path().join("kubelet"), "the program").unwrap();
        let url = format!("file://{}/kubelet", source.path().display());
        let path = fetch(&[url], &sha256(b"the program"), folder.path()).await.unwrap();
        assert_eq!(fs::read(path).unwrap(), b"the program");
    }
}
