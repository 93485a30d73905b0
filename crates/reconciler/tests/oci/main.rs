//! An OCI artifact as a source, from a registry that wants a token and keeps its blobs elsewhere.
#![cfg(test)]

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use slipway_reconciler::Configuration;
use slipway_reconciler::source::Reader;
use slipway_state_store::Digest;

/// What the registry has: by method and path the answer, and the requests that it got.
#[derive(Default)]
struct Content {
    answers: BTreeMap<String, Vec<u8>>,
    requests: Vec<String>,
    /// The authority of the server of tokens; else that of the registry.
    realm: Option<String>,
}

#[derive(Clone)]
struct Registry {
    content: Arc<Mutex<Content>>,
    authority: String,
}

impl Registry {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let registry = Self { content: Arc::default(), authority };
        let server = registry.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                server.answer(stream);
            }
        });
        registry
    }

    fn answer(&self, mut stream: TcpStream) {
        let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
        while !bytes.ends_with(b"\r\n\r\n") {
            let count = stream.read(&mut chunk).unwrap();
            if count == 0 {
                return;
            }
            bytes.extend_from_slice(&chunk[..count]);
        }
        let head = String::from_utf8_lossy(&bytes).into_owned();
        let line = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
        let authorization = head.lines().find_map(|line| line.strip_prefix("authorization: "));
        let mut content = self.content.lock().unwrap();
        content.requests.push(line.clone());
        let path = line.split(' ').nth(1).unwrap().to_owned();
        let body = content.answers.get(&path).cloned();
        let (status, header, body) = match (authorization, body) {
            (Some("Basic Ym90Omh1bnRlcjI="), _) if path.starts_with("/token?") => {
                ("200 OK", String::new(), b"{\"token\":\"t\"}".to_vec())
            }
            // The storage behind it, which must get no token.
            (None, Some(body)) if path.starts_with("/storage/") => ("200 OK", String::new(), body),
            (Some("Bearer t"), _) if path.starts_with("/v2/fleet/blobs/") => {
                let to = path.replace("/v2/fleet/blobs", "/storage");
                ("307 Temporary Redirect", format!("Location: {to}\r\n"), Vec::new())
            }
            (Some("Bearer t"), Some(body)) => {
                let header = format!("Docker-Content-Digest: {}\r\n", Digest::of(&body));
                ("200 OK", header, if line.starts_with("HEAD") { Vec::new() } else { body })
            }
            (None, _) if path.starts_with("/v2/") => {
                let realm = format!("http://{}/token", content.realm.as_ref().unwrap_or(&self.authority));
                let challenge =
                    format!("WWW-Authenticate: Bearer realm=\"{realm}\",service=\"registry\"\r\n");
                ("401 Unauthorized", challenge, Vec::new())
            }
            _ => ("404 Not Found", String::new(), Vec::new()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\n{header}Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all(&[head.as_bytes(), &body].concat());
    }

    /// Pushes an artifact of files as a tag. Returns the digest of its manifest.
    fn push(&self, tag: &str, files: &[(&str, &str)]) -> String {
        let mut builder =
            tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        for (path, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, path, text.as_bytes()).unwrap();
        }
        let layer = builder.into_inner().unwrap().finish().unwrap();
        let digest = Digest::of(&layer).to_string();
        let manifest = serde_json::json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": { "mediaType": "application/vnd.cncf.flux.config.v1+json", "digest": digest, "size": 2 },
            "layers": [{
                "mediaType": "application/vnd.cncf.flux.content.v1.tar+gzip",
                "digest": digest,
                "size": layer.len(),
            }],
        });
        let manifest = manifest.to_string().into_bytes();
        let named = Digest::of(&manifest).to_string();
        let mut content = self.content.lock().unwrap();
        content.answers.insert(format!("/storage/{digest}"), layer);
        content.answers.insert(format!("/v2/fleet/manifests/{tag}"), manifest.clone());
        content.answers.insert(format!("/v2/fleet/manifests/{named}"), manifest);
        named
    }

    /// How many requests came since the last time.
    fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.content.lock().unwrap().requests)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_artifact_is_read_when_its_tag_moves() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "hunter2\n").unwrap();
    let source = |reference: &str| {
        let text = format!(
            "data = 'd'\n[[source]]\nname = 'fleet'\npaths = ['clusters/*']\n[source.oci]\nurl = 'oci://{}/fleet'\n\
             username = 'bot'\ntoken-file = 'token'\n{reference}\n",
            registry.authority
        );
        let read = Configuration::parse(&text, Path::new("controller.toml"), folder.path()).unwrap();
        Reader::new(&read.sources[0], folder.path())
    };
    let mut reader = source("tag = 'stable'");
    assert_eq!(reader.read(None).await.unwrap_err().code(), "RECON0005", "there is no such tag");

    let pushed = registry.push("stable", &[("clusters/dev/spec.yaml", "dev 1"), ("README.md", "x")]);
    let first = reader.read(None).await.unwrap();
    assert_eq!(first.id, pushed);
    assert_eq!(first.units.keys().collect::<Vec<_>>(), ["clusters/dev"]);
    let text = std::fs::read_to_string(first.folder.path().join("clusters/dev/spec.yaml")).unwrap();
    assert_eq!(text, "dev 1");

    registry.requests();
    assert_eq!(reader.read(Some(&first)).await.unwrap().id, pushed);
    let requests = registry.requests();
    assert!(
        requests.iter().all(|line| !line.starts_with("GET /v2/") && !line.contains("storage")),
        "{requests:?}"
    );

    let moved = registry.push("stable", &[("clusters/dev/spec.yaml", "dev 2")]);
    let second = reader.read(Some(&first)).await.unwrap();
    assert_eq!(second.id, moved);
    assert_ne!(second.units["clusters/dev"], first.units["clusters/dev"]);

    let mut pinned = source(&format!("digest = '{pushed}'"));
    let third = pinned.read(None).await.unwrap();
    assert_eq!((third.id.as_str(), &third.units), (pushed.as_str(), &first.units));
    registry.requests();
    pinned.read(Some(&third)).await.unwrap();
    assert_eq!(registry.requests(), Vec::<String>::new(), "a digest never moves");

    // A registry that answers with something else than the digest names.
    let key = format!("/v2/fleet/manifests/{pushed}");
    registry.content.lock().unwrap().answers.insert(key, b"{\"layers\":[]}".to_vec());
    assert_eq!(pinned.read(None).await.unwrap_err().code(), "RECON0013");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_tokens_on_another_host_gets_the_password_only_if_it_is_listed() {
    let registry = Registry::start();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "hunter2\n").unwrap();
    let pushed = registry.push("stable", &[("clusters/dev/spec.yaml", "dev 1")]);
    let port = registry.authority.rsplit(':').next().unwrap();
    registry.content.lock().unwrap().realm = Some(format!("localhost:{port}"));
    let parse = |more: &str| {
        let text = format!(
            "data = 'd'\n[[source]]\nname = 'fleet'\npaths = ['clusters/*']\n[source.oci]\nurl = 'oci://{}/fleet'\n\
             tag = 'stable'\nusername = 'bot'\ntoken-file = 'token'\n{more}\n",
            registry.authority
        );
        Configuration::parse(&text, Path::new("controller.toml"), folder.path())
    };
    let reader = |more: &str| Reader::new(&parse(more).unwrap().sources[0], folder.path());
    let refused = reader("").read(None).await.unwrap_err();
    assert_eq!(refused.code(), "RECON0013");
    assert!(refused.to_string().contains("add it to `oci.token-hosts`"), "{refused}");
    let requests = registry.requests();
    assert!(requests.iter().all(|line| !line.contains("/token")), "{requests:?}");

    let allowed = reader("token-hosts = ['localhost']").read(None).await.unwrap();
    assert_eq!(allowed.id, pushed);
    assert!(parse("token-hosts = ['https://localhost/token']").is_err());
}
