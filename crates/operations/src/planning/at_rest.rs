//! The user's key for encryption at rest, checked before an API server refuses it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_engine::SecretSource as _;
use slipway_plan::Snapshot;
use slipway_resource::SecretText;
use slipway_spec::model::AtRestProvider;
use zeroize::Zeroizing;

use crate::diagnose;
use crate::error::Error;
use crate::secrets::UserSecrets;
use crate::spec::ClusterSpec;
use crate::state::spec_of;

/// Refuses a key that an API server would not start with. A secret that cannot be read here is not checked.
pub(super) fn check_key(spec: &ClusterSpec, texts: &UserSecrets) -> Result<(), Error> {
    let Some(at_rest) = &spec.cluster.encryption.at_rest else { return Ok(()) };
    let (Some(key), Some((lengths, name))) = (&at_rest.key, lengths(at_rest.provider)) else { return Ok(()) };
    let source = key.source();
    let Ok(text) = texts.text(&source) else { return Ok(()) };
    let Some(problem) = problem(&text, lengths) else { return Ok(()) };
    let message = format!("the secret `{source}` is no key for `{name}`: {problem}");
    let hint = "write 32 bytes in base64, as `openssl rand -base64 32` prints them".to_owned();
    Err(diagnose::encryption_key(message, hint, spec.place("encryption.atRest.key")))
}

/// Refuses a key that replaces the one that was generated for the cluster: the data in etcd could not be
/// decrypted with it.
///
/// # Errors
/// When the spec of the state cannot be read, or the spec gives such a key.
pub(super) fn check_generated(prior: Option<&Snapshot>, spec: &ClusterSpec) -> Result<(), Error> {
    let Some(applied) = prior.map(spec_of).transpose()?.flatten() else { return Ok(()) };
    let (Some(before), Some(now)) = (&applied.encryption.at_rest, &spec.cluster.encryption.at_rest) else {
        return Ok(());
    };
    if before.key.is_some() || now.key.is_none() || lengths(before.provider).is_none() {
        return Ok(());
    }
    let message = "the cluster encrypts with a key that was generated for it, and the spec gives another one"
        .to_owned();
    let hint = "remove the field: what is in etcd could not be read with another key".to_owned();
    Err(diagnose::encryption_key(message, hint, spec.place("encryption.atRest.key")))
}

/// How many bytes the key of a provider may have, and the provider's name; none for one that has no key here.
fn lengths(provider: AtRestProvider) -> Option<(&'static [usize], &'static str)> {
    match provider {
        AtRestProvider::Secretbox => Some((&[32], "secretbox")),
        AtRestProvider::Aescbc => Some((&[16, 24, 32], "aescbc")),
        AtRestProvider::Kms => None,
    }
}

fn problem(text: &SecretText, lengths: &[usize]) -> Option<String> {
    let Ok(bytes) = STANDARD.decode(text.expose()).map(Zeroizing::new) else {
        return Some("it is not in base64".to_owned());
    };
    let wanted: Vec<String> = lengths.iter().map(ToString::to_string).collect();
    let wanted = wanted.join(" or ");
    (!lengths.contains(&bytes.len())).then(|| format!("it has {} bytes, not {wanted}", bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_bytes_that_its_provider_takes() {
        let key = |length: usize| SecretText::new(STANDARD.encode(vec![7; length]));
        for (provider, taken) in
            [(AtRestProvider::Secretbox, &[32][..]), (AtRestProvider::Aescbc, &[16, 24, 32])]
        {
            let (lengths, _) = lengths(provider).unwrap();
            for length in [0, 8, 16, 24, 31, 32, 33] {
                assert_eq!(problem(&key(length), lengths).is_none(), taken.contains(&length), "{length}");
            }
            assert_eq!(problem(&SecretText::new("another text"), lengths).unwrap(), "it is not in base64");
        }
    }
}
