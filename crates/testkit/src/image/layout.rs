//! Images as an archive in the layout of the Open Container Initiative (image-layout 1.0.0), which container runtimes
//! import. Layers are not compressed: they are read once, on the same machine.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context as _, Result};
use aws_lc_rs::digest::{Context, SHA256};
use serde_json::{Value, json};
use tar::{Builder, EntryType, Header};

use super::Image;
use crate::scratch::Scratch;

/// The files about users and names that programs expect.
const SYSTEM_FILES: [(&str, &str); 3] = [
    ("etc/group", "root:x:0:\n"),
    ("etc/nsswitch.conf", "hosts: files dns\n"),
    ("etc/passwd", "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534::/:/sbin/nologin\n"),
];

/// Writes an archive with these images.
///
/// # Errors
/// When a file cannot be read, or the archive cannot be written.
pub fn write(images: &[Image], archive: &Path) -> Result<()> {
    let scratch = Scratch::new("image")?;
    let layer = scratch.path().join("layer.tar");
    let mut archive = Builder::new(BufWriter::new(File::create(archive)?));
    let mut manifests = Vec::new();
    let mut layers = BTreeSet::new();
    for image in images {
        let digest = write_layer(image, &layer).with_context(|| format!("image {}", image.name))?;
        let mut file = File::open(&layer)?;
        let size = file.metadata()?.len();
        // Images of several names have one layer.
        if layers.insert(digest.clone()) {
            append(&mut archive, &format!("blobs/sha256/{digest}"), size, 0o644, &mut file)?;
        }
        let configuration = blob(&mut archive, &configuration(image, &digest))?;
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": with(configuration, "mediaType", json!("application/vnd.oci.image.config.v1+json")),
            "layers": [{
                "mediaType": "application/vnd.oci.image.layer.v1.tar",
                "digest": format!("sha256:{digest}"),
                "size": size,
            }],
        });
        let manifest = blob(&mut archive, &manifest)?;
        let manifest = with(manifest, "mediaType", json!("application/vnd.oci.image.manifest.v1+json"));
        manifests.push(with(manifest, "annotations", json!({ "io.containerd.image.name": image.name })));
    }
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests,
    });
    for (name, value) in [("oci-layout", json!({ "imageLayoutVersion": "1.0.0" })), ("index.json", index)] {
        let bytes = value.to_string().into_bytes();
        append(&mut archive, name, bytes.len() as u64, 0o644, &mut bytes.as_slice())?;
    }
    Ok(archive.into_inner()?.flush()?)
}

/// Writes an image's layer, and gives its digest.
fn write_layer(image: &Image, path: &Path) -> Result<String> {
    let digesting = Digesting { inner: BufWriter::new(File::create(path)?), digest: Context::new(&SHA256) };
    let mut layer = Builder::new(digesting);
    let mut folders = BTreeSet::new();
    for (folder, mode) in [("etc", 0o755), ("tmp", 0o1777)] {
        folders.insert(folder.to_owned());
        entry(&mut layer, folder, EntryType::Directory, mode)?;
    }
    for (name, text) in SYSTEM_FILES {
        append(&mut layer, name, text.len() as u64, 0o644, &mut text.as_bytes())?;
    }
    for (place, source) in &image.files {
        make_parents(&mut layer, &mut folders, place)?;
        let mut file = File::open(source).with_context(|| source.display().to_string())?;
        let size = file.metadata()?.len();
        let mode = if image.as_root.contains(place) { 0o4755 } else { 0o755 };
        append(&mut layer, place.trim_start_matches('/'), size, mode, &mut file)?;
    }
    for (place, target) in &image.links {
        make_parents(&mut layer, &mut folders, place)?;
        let mut header = header(EntryType::Symlink, 0, 0o777);
        layer.append_link(&mut header, place.trim_start_matches('/'), target)?;
    }
    let mut digesting = layer.into_inner()?;
    digesting.flush()?;
    Ok(hex(digesting.digest.finish().as_ref()))
}

/// Makes the folders above a place, outermost first, each once.
fn make_parents(layer: &mut Builder<impl Write>, folders: &mut BTreeSet<String>, place: &str) -> Result<()> {
    let place = place.trim_start_matches('/');
    for (end, _) in place.match_indices('/') {
        let folder = &place[..end];
        if folders.insert(folder.to_owned()) {
            entry(layer, folder, EntryType::Directory, 0o755)?;
        }
    }
    Ok(())
}

fn configuration(image: &Image, layer: &str) -> Value {
    // As machines have it: the programs of Go collect less often.
    let mut variables = vec!["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "GOGC=400"];
    variables.extend(image.variables.iter().map(String::as_str));
    let mut process = json!({ "Env": variables, "WorkingDir": "/" });
    if !image.entrypoint.is_empty() {
        process["Entrypoint"] = json!(image.entrypoint);
    }
    if !image.arguments.is_empty() {
        process["Cmd"] = json!(image.arguments);
    }
    if !image.user.is_empty() {
        process["User"] = json!(image.user);
    }
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    json!({
        "architecture": architecture,
        "os": "linux",
        "config": process,
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer}")] },
    })
}

/// Adds a document, and gives what refers to it.
fn blob(archive: &mut Builder<impl Write>, document: &Value) -> Result<Value> {
    let bytes = document.to_string().into_bytes();
    let digest = hex(aws_lc_rs::digest::digest(&SHA256, &bytes).as_ref());
    append(archive, &format!("blobs/sha256/{digest}"), bytes.len() as u64, 0o644, &mut bytes.as_slice())?;
    Ok(json!({ "digest": format!("sha256:{digest}"), "size": bytes.len() }))
}

fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}

fn append(
    archive: &mut Builder<impl Write>,
    name: &str,
    size: u64,
    mode: u32,
    from: &mut impl Read,
) -> Result<()> {
    Ok(archive.append_data(&mut header(EntryType::Regular, size, mode), name, from)?)
}

fn entry(archive: &mut Builder<impl Write>, name: &str, kind: EntryType, mode: u32) -> Result<()> {
    Ok(archive.append_data(&mut header(kind, 0, mode), name, io::empty())?)
}

/// Nothing in it depends on the day or on who makes it: the same programs give the same digests.
fn header(kind: EntryType, size: u64, mode: u32) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

/// Bytes in the digits that digests are written in.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A writer that computes a digest.
struct Digesting<W> {
    inner: W,
    digest: Context,
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_blob_has_the_digest_that_it_is_known_by() {
        let scratch = Scratch::new("layout").unwrap();
        let (program, archive) = (scratch.path().join("program"), scratch.path().join("images.tar"));
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        let image = Image {
            name: "example.org/one:1".to_owned(),
            files: vec![("/usr/bin/one".to_owned(), program)],
            links: vec![("/bin/two".to_owned(), "/usr/bin/one".to_owned())],
            as_root: vec!["/usr/bin/one".to_owned()],
            entrypoint: vec!["/usr/bin/one".to_owned()],
            arguments: vec!["pause".to_owned()],
            variables: vec!["COLOUR=red".to_owned()],
            user: "65535".to_owned(),
        };
        write(&[image], &archive).unwrap();

        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(File::open(&archive).unwrap()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            files.insert(entry.path().unwrap().to_str().unwrap().to_owned(), bytes);
        }
        for (name, bytes) in &files {
            if let Some(digest) = name.strip_prefix("blobs/sha256/") {
                assert_eq!(hex(aws_lc_rs::digest::digest(&SHA256, bytes).as_ref()), digest);
            }
        }
        let at = |reference: &Value| {
            let digest = reference["digest"].as_str().unwrap().replace("sha256:", "blobs/sha256/");
            files.get(&digest).unwrap().clone()
        };
        let index: Value = serde_json::from_slice(files.get("index.json").unwrap()).unwrap();
        assert_eq!(index["manifests"][0]["annotations"]["io.containerd.image.name"], "example.org/one:1");
        let manifest: Value = serde_json::from_slice(&at(&index["manifests"][0])).unwrap();
        let configuration: Value = serde_json::from_slice(&at(&manifest["config"])).unwrap();
        assert_eq!(configuration["config"]["User"], "65535");
        assert_eq!(configuration["config"]["Cmd"][0], "pause");
        assert_eq!(configuration["config"]["Env"][2], "COLOUR=red");
        assert_eq!(configuration["rootfs"]["diff_ids"][0], manifest["layers"][0]["digest"]);
        let layer = at(&manifest["layers"][0]);
        let mut names = Vec::new();
        for entry in tar::Archive::new(layer.as_slice()).entries().unwrap() {
            let entry = entry.unwrap();
            names.push(entry.path().unwrap().to_str().unwrap().to_owned());
            let mode = entry.header().mode().unwrap();
            assert_eq!(mode & 0o4000 != 0, names.last().unwrap() == "usr/bin/one", "{mode:o}");
        }
        assert_eq!(
            names,
            [
                "etc",
                "tmp",
                "etc/group",
                "etc/nsswitch.conf",
                "etc/passwd",
                "usr",
                "usr/bin",
                "usr/bin/one",
                "bin",
                "bin/two"
            ]
        );
    }
}
