//! Writes objects of a repository as files. Git only prints them: no filter, hook or link of the repository has an effect.
#![allow(clippy::disallowed_methods, reason = "new files in the data folder of the controller")]

use std::path::Path;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use super::command::{Call, Caller};
use super::tree::File;
use crate::error::Error;

/// Writes files into a new folder.
pub(super) async fn write(caller: &Caller, files: &[File], folder: &Path) -> Result<(), Error> {
    make(folder)?;
    match tokio::time::timeout(caller.timeout(), copy(caller, files, folder)).await {
        Ok(copied) => copied,
        Err(_) => Err(caller.unavailable("git did not print the files in time")),
    }
}

async fn copy(caller: &Caller, files: &[File], folder: &Path) -> Result<(), Error> {
    let broken = |reason: &str| caller.unavailable(format!("`git cat-file` {reason}"));
    let mut child = caller.start(&Call::local(["cat-file", "--batch"]), Stdio::piped())?;
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(broken("has no input and output"));
    };
    let mut output = BufReader::new(output);
    for file in files {
        // One after the other: neither side waits for a pipe that is full.
        let wanted = format!("{}\n", file.object);
        input.write_all(wanted.as_bytes()).await.map_err(|_| broken("ended early"))?;
        let mut header = String::new();
        let mut bounded = (&mut output).take(200);
        bounded.read_line(&mut header).await.map_err(|_| broken("ended early"))?;
        if header.trim_end() != format!("{} blob {}", file.object, file.size) {
            return Err(broken("printed another object"));
        }
        // The size was checked when the file was listed.
        let mut bytes = vec![0; usize::try_from(file.size).unwrap_or_default() + 1];
        output.read_exact(&mut bytes).await.map_err(|_| broken("ended early"))?;
        bytes.pop();
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            make(parent)?;
        }
        std::fs::write(&path, &bytes).map_err(|source| failed(&path, source))?;
    }
    Ok(())
}

fn make(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|source| failed(folder, source))
}

fn failed(path: &Path, source: std::io::Error) -> Error {
    Error::File { what: "a file of the checkout", path: path.to_owned(), source }
}
