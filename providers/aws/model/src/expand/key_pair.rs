//! The key pair by which operators enter machines.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};
use slipway_resource::{Address, ProviderError, Value};

use super::build::{Builder, address, id_of};
use super::refuse;

/// The cluster's own key pair, from the first of its SSH keys; none where the spec names an existing one or no key.
pub(super) fn key_pair(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    let ssh = &builder.cluster.ssh;
    let Some(name) = own_name(builder)? else { return Ok(()) };
    let Some(key) = ssh.keys.first() else { return Ok(()) };
    let pair = builder
        .draft("aws_key_pair", &name, "ssh.keys[0]")
        .fix("key_name", name.as_str())
        .set("public_key", key.trim(), "ssh.keys[0]")
        .tags(builder.tags(&builder.cluster.name));
    if ssh.keys.len() > 1 {
        builder.note("ssh.keys", "a machine of AWS gets the first key only; give the others as user data");
    }
    builder.add(pair);
    Ok(())
}

/// The name of the key pair that machines get; null for none.
pub(super) fn key_name(builder: &Builder<'_>) -> Result<Value, ProviderError> {
    if let Some(existing) = &builder.cluster.ssh.key_name {
        return Ok(existing.as_str().into());
    }
    Ok(match own_name(builder)? {
        Some(name) => id_of(&own_address(&name)),
        None => Value::Null,
    })
}

fn own_address(name: &str) -> Address {
    address("aws_key_pair", name)
}

/// `kubernetes.`, the cluster's name and the key's fingerprint, so that another key has another name.
fn own_name(builder: &Builder<'_>) -> Result<Option<String>, ProviderError> {
    let ssh = &builder.cluster.ssh;
    let (None, Some(key)) = (&ssh.key_name, ssh.keys.first()) else { return Ok(None) };
    let fingerprint = fingerprint(key).ok_or_else(|| {
        refuse(
            "ssh.keys[0]",
            "is not a public key",
            "write it as in authorized_keys: `ssh-ed25519 AAAA… who@where`",
        )
    })?;
    Ok(Some(format!("kubernetes.{}-{fingerprint}", builder.cluster.name)))
}

/// The MD5 of a public key's bytes in pairs of digits, as `ssh-keygen -E md5` prints it. It identifies the
/// key, and is not a protection.
fn fingerprint(key: &str) -> Option<String> {
    let blob = key.split_whitespace().find(|word| word.starts_with("AAAA"))?;
    let bytes = STANDARD.decode(blob).ok()?;
    let pairs: Vec<String> = Md5::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Some(pairs.join(":"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_are_those_of_ssh_keygen() {
        let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0ndgGZtnpNkNbY6+cpyZ7ZxWYlsFwO9e3a9Df1Yl7R someone";
        let found = fingerprint(key).unwrap();
        assert_eq!(found.len(), 47);
        assert_eq!(fingerprint(&key.replace(" someone", "")), Some(found));
        assert_eq!(fingerprint("ssh-ed25519 nothing"), None);
    }
}
