//! The script of the first boot.

mod bucket;

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};
use slipway_resource::{Digest, ErrorClass, ProviderError, TemplatePart};

pub(super) use bucket::S3;

/// How the document is put into the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    /// As it is.
    Plain,
    /// With gzip, in base64.
    Compressed,
}

/// Where Slipway's own program is, for images that lack it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnProgram {
    /// The URLs, tried in this order.
    pub urls: Vec<String>,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
    /// Where S3 is, for URLs of buckets.
    pub s3: S3,
}

impl OwnProgram {
    /// The lines that put the program into a folder of programs, unless the image has these very bytes. They go on until a
    /// mirror has them; the file gets its name only after its bytes were checked.
    fn fetch(&self) -> String {
        let Self { urls, sha256, s3 } = self;
        let has_buckets = urls.iter().any(|url| url.starts_with(bucket::SCHEME));
        let (sign, signed) = if has_buckets { (s3.sign(), bucket::SIGNED) } else { Default::default() };
        let urls = urls.join(" ");
        format!(
            "PATH=/usr/local/bin:/opt/bin:$PATH\n\
             folder=/usr/local/bin\n\
             [ -w $folder ] || folder=/opt/bin\n\
             mkdir -p $folder\n\
             is_program() {{ echo \"{sha256}  $1\" | sha256sum -c >/dev/null 2>&1; }}\n\
             say() {{ echo \"slipway boot: $*\" | tee /dev/console >&2 || true; }}\n\
             {sign}fetch() {{\n\
             {signed}if command -v curl >/dev/null; then curl -fsSL --connect-timeout 20 -m 600 -o $2 $1\n\
             else wget -q -T 20 -O $2 $1; fi\n\
             }}\n\
             until is_program \"$(command -v slipway)\"; do\n\
             for url in {urls}; do\n\
             rm -f $folder/.slipway\n\
             fetch $url $folder/.slipway || {{ say \"no answer from $url\"; continue; }}\n\
             is_program $folder/.slipway || {{ say \"$url serves other bytes\"; continue; }}\n\
             chmod 755 $folder/.slipway\n\
             mv $folder/.slipway $folder/slipway\n\
             break 2\n\
             done\n\
             rm -f $folder/.slipway\n\
             say \"waits for a mirror that has slipway\"\n\
             sleep 5\n\
             done\n"
        )
    }
}

/// The lines that find out what AWS calls the machine, from its metadata (IMDSv2). The machine waits for them.
const IDENTIFY: &str = r#"ask() {
if command -v curl >/dev/null; then curl -gfsS -m 5 -X "$1" -H "$2" "$3"
else wget -q -T 5 -O - --method="$1" --header="$2" "$3"; fi
}
identify() {
for host in 169.254.169.254 '[fd00:ec2::254]'; do
url=http://$host/latest
token=$(ask PUT 'X-aws-ec2-metadata-token-ttl-seconds: 60' $url/api/token) || continue
token="X-aws-ec2-metadata-token: $token"
zone=$(ask GET "$token" $url/meta-data/placement/availability-zone) || continue
id=$(ask GET "$token" $url/meta-data/instance-id) || continue
echo "aws:///$zone/$id"
return
done
return 1
}
until SLIPWAY_PROVIDER_ID=$(identify); do sleep 2; done
"#;

/// By what a machine finds its cluster.
pub(super) struct Found<'a> {
    /// The name of the endpoint.
    pub endpoint: &'a [TemplatePart],
    /// The authority of the cluster as base64 of PEM, on machines that ask for the credential of their node.
    pub authority: Option<&'a TemplatePart>,
}

/// The script: it leaves the document in `/etc/slipway/bootstrap.json` and starts the program with the document's digest.
pub(super) fn boot(
    document: &str,
    payload: Payload,
    found: &Found<'_>,
    own: Option<&OwnProgram>,
) -> Result<Vec<TemplatePart>, ProviderError> {
    // The shell ends each line of a document in a script, the last one too.
    let file = format!("{document}\n");
    let digest = Digest::of_bytes(file.as_bytes());
    let (write, body) = match payload {
        Payload::Plain => ("cat > /etc/slipway/bootstrap.json <<'DOCUMENT'", document.to_owned()),
        Payload::Compressed => {
            ("base64 -d <<'DOCUMENT' | gunzip > /etc/slipway/bootstrap.json", compressed(&file)?)
        }
    };
    let head = format!(
        "#!/bin/sh\n\
         # Makes this machine a node. The document holds no secret.\n\
         set -eu\n\
         umask 077\n\
         mkdir -p /etc/slipway\n\
         {write}\n\
         {body}\n\
         DOCUMENT\n\
         SLIPWAY_ENDPOINT=\""
    );
    let fetch = own.map(OwnProgram::fetch).unwrap_or_default();
    let tail = format!(
        "\"\n\
         {IDENTIFY}export SLIPWAY_PROVIDER_ID {}\n\
         {fetch}exec slipway node boot --document /etc/slipway/bootstrap.json --digest {digest}\n",
        if found.authority.is_some() { "SLIPWAY_ENDPOINT SLIPWAY_AUTHORITY" } else { "SLIPWAY_ENDPOINT" },
    );
    let mut parts = vec![TemplatePart::Text(head)];
    parts.extend(found.endpoint.iter().cloned());
    if let Some(authority) = found.authority {
        parts.push(TemplatePart::Text("\"\nSLIPWAY_AUTHORITY=\"".to_owned()));
        parts.push(authority.clone());
    }
    parts.push(TemplatePart::Text(tail));
    Ok(parts)
}

/// Without a time in its header, so that the same document has the same bytes.
fn compressed(document: &str) -> Result<String, ProviderError> {
    let mut encoder = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    let bytes = encoder.write_all(document.as_bytes()).and_then(|()| encoder.finish()).map_err(|error| {
        ProviderError::new(ErrorClass::Permanent, format!("the user data cannot be compressed: {error}"))
    })?;
    let text = STANDARD.encode(bytes);
    let lines: Vec<&str> =
        text.as_bytes().chunks(120).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    Ok(lines.join("\n"))
}
