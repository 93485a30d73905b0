//! The user data of a new machine: a script that writes the bootstrap document, or a reference to it, to the disk and runs `slipway
//! node boot`, and the further parts of the pool's user data.

mod document;
mod script;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_cluster_input::{NodePool, Role, UserData, UserDataType};
use slipway_resource::{ProviderError, TemplatePart, Value};

use super::build::Builder;
use super::{listed_pools, refuse};
pub(super) use document::{prune, text as text_of_document};
use script::Payload;

/// EC2's limit for user data, before base64.
const LIMIT: usize = 16 * 1024;
/// The largest length of a load balancer's name, which is known only when it exists.
const LONGEST_HOST: usize = 255;
/// How long the authority of a cluster can get in base64: a certificate with an RSA key of 4096 bits.
const LONGEST_AUTHORITY: usize = 3072;
/// Between the parts of a document with several.
const BOUNDARY: &str = "SLIPWAY-USER-DATA";

/// The user data of a pool's machines, in base64. If the endpoint is known only when its load balancer
/// exists, it is plain text with a reference, which is encoded in base64 when it is applied.
pub(super) fn of_pool(builder: &mut Builder<'_>, pool: &NodePool) -> Result<Value, ProviderError> {
    if pool.role == Role::Bastion {
        return Ok(match assemble(&[], &pool.user_data) {
            parts if parts.is_empty() => Value::Null,
            parts => fitting(pool, parts)?,
        });
    }
    let endpoint = document::endpoint(builder);
    let json = match listed_pools::has(builder, pool) {
        true => document::reference(builder, pool)?,
        false => document::of_pool(builder, pool)?,
    };
    let own = document::own_program(builder, pool);
    let authority = document::authority(builder, pool);
    let found = script::Found { endpoint: &endpoint, authority: authority.as_ref() };
    let boot = |payload| script::boot(&json, payload, &found, own.as_ref());
    let wanted = builder.pool_settings(pool).compress_user_data;
    let plain = assemble(&boot(Payload::Plain)?, &pool.user_data);
    if !wanted && size(&plain) <= LIMIT {
        return fitting(pool, plain);
    }
    if !wanted {
        let message =
            "the bootstrap document is compressed, since it does not fit into the user data otherwise";
        builder.note(format!("pools[{}].userData", pool.name), message);
    }
    fitting(pool, assemble(&boot(Payload::Compressed)?, &pool.user_data))
}

/// The host at which the API is found, as the user data has it.
pub(super) fn api_host(builder: &Builder<'_>) -> Value {
    match document::endpoint(builder).as_slice() {
        [TemplatePart::Text(host)] => host.as_str().into(),
        [TemplatePart::Reference(reference)] => reference.clone().into(),
        parts => Value::Template(parts.to_vec()),
    }
}

/// The boot script alone, or with the pool's own parts behind it, as a document of several parts (RFC 2046).
fn assemble(boot: &[TemplatePart], more: &[UserData]) -> Vec<TemplatePart> {
    if more.is_empty() {
        return boot.to_vec();
    }
    let mut parts = Vec::new();
    let mut text = format!("Content-Type: multipart/mixed; boundary=\"{BOUNDARY}\"\nMIME-Version: 1.0\n\n");
    if !boot.is_empty() {
        text.push_str(&header("slipway-boot.sh", "text/x-shellscript"));
        parts.push(TemplatePart::Text(std::mem::take(&mut text)));
        parts.extend(boot.iter().cloned());
        text.push('\n');
    }
    for part in more {
        let kind = match part.kind {
            UserDataType::ShellScript => "text/x-shellscript",
            UserDataType::CloudConfig => "text/cloud-config",
            UserDataType::CloudBoothook => "text/cloud-boothook",
            UserDataType::CloudConfigArchive => "text/cloud-config-archive",
            UserDataType::IncludeUrl => "text/x-include-url",
            UserDataType::IncludeOnceUrl => "text/x-include-once-url",
            UserDataType::Jinja => "text/jinja2",
            UserDataType::PartHandler => "text/part-handler",
        };
        text.push_str(&header(&part.name, kind));
        text.push_str(&part.content);
        text.push('\n');
    }
    text.push_str(&format!("--{BOUNDARY}--\n"));
    parts.push(TemplatePart::Text(text));
    parts
}

fn header(name: &str, kind: &str) -> String {
    let name: String = name.chars().filter(|letter| !letter.is_control() && *letter != '"').collect();
    format!(
        "--{BOUNDARY}\nContent-Type: {kind}; charset=\"utf-8\"\nContent-Disposition: attachment; \
         filename=\"{name}\"\nContent-Transfer-Encoding: 8bit\nMIME-Version: 1.0\n\n"
    )
}

fn size(parts: &[TemplatePart]) -> usize {
    let of = |part: &TemplatePart| match part {
        TemplatePart::Text(text) => text.len(),
        TemplatePart::Reference(of) if of.address.kind() == document::KEYPAIR => LONGEST_AUTHORITY,
        TemplatePart::Reference(_) => LONGEST_HOST,
    };
    parts.iter().map(of).sum()
}

fn fitting(pool: &NodePool, parts: Vec<TemplatePart>) -> Result<Value, ProviderError> {
    let size = size(&parts);
    if size > LIMIT {
        let message = format!("the user data has {size} bytes and EC2 takes {LIMIT}");
        let hint = "move files, hooks or the pool's own user data to the image, or have it compressed";
        return Err(refuse(&format!("pools[{}].userData", pool.name), &message, hint));
    }
    let known = |part: &TemplatePart| match part {
        TemplatePart::Text(text) => Some(text.clone()),
        TemplatePart::Reference(_) => None,
    };
    Ok(match parts.iter().map(known).collect::<Option<String>>() {
        Some(text) => STANDARD.encode(text).into(),
        None => Value::Template(parts),
    })
}
