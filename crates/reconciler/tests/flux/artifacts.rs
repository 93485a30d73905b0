//! A web server with artifacts, as source-controller serves them.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::GzEncoder;
use slipway_state_store::Digest;
use tar::{Builder, EntryType, Header};

/// What the status of an object says about an artifact.
#[derive(Clone, Debug)]
pub struct Described {
    pub url: String,
    pub digest: String,
    pub size: u64,
}

#[derive(Default)]
struct Content {
    /// The heads and bodies of answers by path.
    answers: BTreeMap<String, (String, Vec<u8>)>,
    requests: Vec<String>,
}

/// The web server. It ends with the process.
pub struct Artifacts {
    content: Arc<Mutex<Content>>,
    authority: String,
}

impl Artifacts {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let content: Arc<Mutex<Content>> = Arc::default();
        let served = content.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client may end the connection before it has read everything.
                let _ = answer(&served, stream);
            }
        });
        Self { content, authority }
    }

    /// Serves an artifact from now on.
    pub fn serve(&self, name: &str, bytes: Vec<u8>) -> Described {
        let described = self.describe(name, &bytes);
        self.put(name, "200 OK\r\n".to_owned(), bytes);
        described
    }

    /// Answers with a redirect instead of an artifact.
    pub fn redirect(&self, name: &str, to: &str, bytes: &[u8]) -> Described {
        self.put(name, format!("307 Temporary Redirect\r\nLocation: {to}\r\n"), Vec::new());
        self.describe(name, bytes)
    }

    /// The paths that were asked for since the last time.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.content.lock().unwrap().requests)
    }

    fn put(&self, name: &str, head: String, body: Vec<u8>) {
        self.content.lock().unwrap().answers.insert(format!("/{name}"), (head, body));
    }

    fn describe(&self, name: &str, bytes: &[u8]) -> Described {
        Described {
            url: format!("http://{}/{name}", self.authority),
            digest: Digest::of(bytes).to_string(),
            size: bytes.len() as u64,
        }
    }
}

fn answer(content: &Mutex<Content>, mut stream: TcpStream) -> std::io::Result<()> {
    let mut line = String::new();
    let mut reader = BufReader::new(stream.try_clone()?);
    reader.read_line(&mut line)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut content = content.lock().unwrap();
    let missing = || ("404 Not Found\r\n".to_owned(), Vec::new());
    let (head, body) = content.answers.get(&path).cloned().unwrap_or_else(missing);
    content.requests.push(path);
    drop(content);
    let length = body.len();
    let head = format!("HTTP/1.1 {head}Content-Length: {length}\r\nConnection: close\r\n\r\n");
    stream.write_all(&[head.as_bytes(), &body].concat())
}

/// An archive of files.
pub fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    packed(files.iter().map(|(path, text)| (EntryType::Regular, *path, *text, "")))
}

/// An archive of a symbolic link.
pub fn link(path: &str, target: &str) -> Vec<u8> {
    packed([(EntryType::Symlink, path, "", target)].into_iter())
}

fn packed<'a>(entries: impl Iterator<Item = (EntryType, &'a str, &'a str, &'a str)>) -> Vec<u8> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (kind, path, text, target) in entries {
        let mut header = Header::new_gnu();
        // The builder refuses unusual paths itself.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(kind);
        if !target.is_empty() {
            header.set_link_name(target).unwrap();
        }
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}
