//! User data, as cloud-init reads it: a script, or several parts, plain or packed.

use std::io::Read as _;

use anyhow::{Context as _, Result, anyhow, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;

/// The parts of user data for a machine.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Its scripts, in their order.
    pub scripts: Vec<Vec<u8>>,
    /// The unsupported kinds of parts.
    pub left_out: Vec<String>,
}

/// Reads user data as the EC2 API has it: in base64.
///
/// # Errors
/// When it is not in base64, or breaks off.
pub fn scripts(user_data: &str) -> Result<Read> {
    let bytes = decode(user_data.trim()).context("user data")?;
    let mut read = Read::default();
    add(&mut read, &unpacked(bytes)?, "")?;
    Ok(read)
}

fn decode(text: &str) -> Result<Vec<u8>> {
    STANDARD.decode(text).map_err(|error| anyhow!("this is not in base64: {error}"))
}

fn unpacked(bytes: Vec<u8>) -> Result<Vec<u8>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut plain).context("packed user data breaks off")?;
    Ok(plain)
}

/// Adds a part. Its head names its kind; a script is also recognised by its first line.
fn add(read: &mut Read, part: &[u8], kind: &str) -> Result<()> {
    let head = String::from_utf8_lossy(&part[..part.len().min(512)]).to_ascii_lowercase();
    if kind.starts_with("text/x-shellscript") || (kind.is_empty() && head.starts_with("#!")) {
        read.scripts.push(part.to_vec());
    } else if kind.starts_with("multipart/") || (kind.is_empty() && is_mail(&head)) {
        for (kind, part) in parts(part)? {
            add(read, &unpacked(part)?, &kind)?;
        }
    } else if !part.trim_ascii().is_empty() {
        let first = head.lines().next().unwrap_or_default().to_owned();
        read.left_out.push(if kind.is_empty() { first } else { kind.to_owned() });
    }
    Ok(())
}

fn is_mail(head: &str) -> bool {
    head.starts_with("mime-version:") || head.starts_with("content-type: multipart/")
}

/// The parts of a multipart document (RFC 2046) with their kinds.
fn parts(document: &[u8]) -> Result<Vec<(String, Vec<u8>)>> {
    let text = std::str::from_utf8(document).context("a multipart document that is no text")?;
    let text = text.replace("\r\n", "\n");
    let (head, body) = text.split_once("\n\n").context("a multipart document without a body")?;
    let content = header(head, "content-type").context("a multipart document without its type")?;
    let boundary = content.split(';').find_map(|field| {
        let (name, value) = field.trim().split_once('=')?;
        name.eq_ignore_ascii_case("boundary").then(|| value.trim_matches('"').to_owned())
    });
    let boundary = format!("\n--{}", boundary.context("a multipart document without a boundary")?);
    let body = format!("\n{body}");
    let mut parts = Vec::new();
    for part in body.split(&boundary).skip(1) {
        if part.starts_with("--") {
            return Ok(parts);
        }
        let part = part.strip_prefix('\n').unwrap_or(part);
        let (head, content) = match part.strip_prefix('\n') {
            Some(content) => ("", content),
            None => part.split_once("\n\n").unwrap_or((part, "")),
        };
        let kind = header(head, "content-type").unwrap_or_default().to_ascii_lowercase();
        let packed = header(head, "content-transfer-encoding").unwrap_or_default();
        let content = if packed.eq_ignore_ascii_case("base64") {
            let digits: String = content.split_whitespace().collect();
            decode(&digits).context("a part")?
        } else {
            content.as_bytes().to_vec()
        };
        parts.push((kind, content));
    }
    bail!("a multipart document that breaks off")
}

/// A field of a head, with the lines that continue it.
fn header(head: &str, name: &str) -> Option<String> {
    let unfolded = head.replace("\n\t", " ").replace("\n ", " ");
    let mut fields = unfolded.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const SCRIPT: &str = "#!/bin/sh\necho one\n";
    const PARTS: &str = "MIME-Version: 1.0\r\nContent-Type: multipart/mixed;\r\n boundary=\"==a==\"\r\n\r\n\
        --==a==\r\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\r\n\r\n#!/bin/sh\necho one\n\r\n\
        --==a==\r\nContent-Type: text/cloud-config\r\n\r\npackages: []\r\n\
        --==a==\r\nContent-Type: text/x-shellscript\r\nContent-Transfer-Encoding: base64\r\n\r\nIyEvYmluL3NoCmVj\r\naG8gdHdvCg==\r\n\
        --==a==--\r\n";

    fn read(plain: &[u8]) -> Read {
        scripts(&STANDARD.encode(plain)).unwrap()
    }

    #[test]
    fn scripts_are_read_plain_and_packed() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(SCRIPT.as_bytes()).unwrap();
        for data in [SCRIPT.as_bytes().to_vec(), packed.finish().unwrap()] {
            assert_eq!(read(&data).scripts, [SCRIPT.as_bytes()]);
        }
        assert_eq!(read(b""), Read::default());
        assert_eq!(read(b"#cloud-config\nusers: []\n").left_out, ["#cloud-config"]);
        assert!(scripts("no base64!").is_err());
    }

    #[test]
    fn parts_are_scripts_in_their_order() {
        let read = read(PARTS.as_bytes());
        let scripts: Vec<_> = read.scripts.iter().map(|script| String::from_utf8_lossy(script)).collect();
        assert_eq!(scripts, ["#!/bin/sh\necho one\n", "#!/bin/sh\necho two\n"]);
        assert_eq!(read.left_out, ["text/cloud-config"]);
        let broken = PARTS.replace("--==a==--", "");
        assert!(super::scripts(&STANDARD.encode(broken)).is_err());
    }
}
