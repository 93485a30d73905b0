//! How a sender proves that it knows the secret.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use http::HeaderMap;
use slipway_resource::hexadecimal;
use zeroize::Zeroizing;

use crate::error::Error;

/// The shortest secret, in bytes: 128 bits.
const SHORTEST: usize = 16;

/// Who sends webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// GitHub: `X-Hub-Signature-256` is `sha256=` and the HMAC-SHA256 of the body.
    GitHub,
    /// GitLab: `X-Gitlab-Token` is the secret itself.
    GitLab,
    /// Gitea and Forgejo: `X-Gitea-Signature` is the HMAC-SHA256 of the body.
    Gitea,
    /// Any other: `X-Hub-Signature-256` is `sha256=` and the HMAC-SHA256 of the body. The body is nothing but signed bytes.
    Generic,
}

/// The secret that a sender and its receiver share. It is wiped when it is dropped, and never printed.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes a secret; white space around it is removed, as of a file with a line feed at its end.
    ///
    /// # Errors
    /// [`Error::Secret`] when it has less than 16 bytes.
    pub fn new(text: &str) -> Result<Self, Error> {
        let bytes = text.trim().as_bytes();
        if bytes.len() < SHORTEST {
            return Err(Error::Secret { length: bytes.len(), least: SHORTEST });
        }
        Ok(Self(Zeroizing::new(bytes.to_vec())))
    }

    /// The HMAC-SHA256 of some bytes, in hexadecimal digits.
    fn sign(&self, bytes: &[u8]) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        hexadecimal(hmac::sign(&key, bytes).as_ref())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

/// Whether a delivery can be genuine, before its body is read: the header of the proof is there. GitLab's proof is complete
/// already.
pub(super) fn is_promising(sender: Sender, secrets: &[Secret], headers: &HeaderMap) -> bool {
    match sender {
        Sender::GitLab => is_valid(sender, secrets, headers, &[]),
        Sender::GitHub | Sender::Gitea | Sender::Generic => proof(sender, headers).is_some(),
    }
}

/// Whether the sender of a delivery knows one of the secrets. All are tried, in constant time each.
pub(super) fn is_valid(sender: Sender, secrets: &[Secret], headers: &HeaderMap, body: &[u8]) -> bool {
    let Some(proof) = proof(sender, headers) else { return false };
    let valid = secrets.iter().filter(|secret| {
        let expected = match sender {
            Sender::GitLab => return verify_slices_are_equal(&secret.0, proof.as_bytes()).is_ok(),
            Sender::GitHub | Sender::Gitea | Sender::Generic => secret.sign(body),
        };
        verify_slices_are_equal(expected.as_bytes(), proof.as_bytes()).is_ok()
    });
    valid.count() > 0
}

/// The proof in the headers, without its prefix.
pub(super) fn proof(sender: Sender, headers: &HeaderMap) -> Option<&str> {
    match sender {
        Sender::GitHub | Sender::Generic => header(headers, "x-hub-signature-256")?.strip_prefix("sha256="),
        Sender::GitLab => header(headers, "x-gitlab-token"),
        Sender::Gitea => header(headers, "x-gitea-signature"),
    }
}

/// A header that occurs once.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const TEXT: &str = "It's a Secret to Everybody";

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_str(value).unwrap()))
            .collect()
    }

    #[test]
    fn github_signs_as_its_documentation_says() {
        // The example of "Validating webhook deliveries" in GitHub's documentation.
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let secrets = [Secret::new("another one, quite long").unwrap(), Secret::new(TEXT).unwrap()];
        let given = headers(&[("x-hub-signature-256", signature)]);
        assert!(is_valid(Sender::GitHub, &secrets, &given, b"Hello, World!"));
        assert!(!is_valid(Sender::GitHub, &secrets, &given, b"Hello, World?"));
        assert!(!is_valid(Sender::GitHub, &secrets[..1], &given, b"Hello, World!"));
        assert!(!is_valid(Sender::Gitea, &secrets, &given, b"Hello, World!"), "another header");
        let bare = headers(&[("x-gitea-signature", &signature[7..])]);
        assert!(is_valid(Sender::Gitea, &secrets, &bare, b"Hello, World!"));
        assert!(
            !is_valid(Sender::Gitea, &[], &bare, b"Hello, World!"),
            "no request is accepted without a secret"
        );
        let mut twice = given;
        twice.append("x-hub-signature-256", HeaderValue::from_str(signature).unwrap());
        assert!(!is_valid(Sender::GitHub, &secrets, &twice, b"Hello, World!"));
    }

    #[test]
    fn a_generic_sender_signs_as_github_does() {
        let secrets = [Secret::new(TEXT).unwrap()];
        let signature = format!("sha256={}", secrets[0].sign(b"{}"));
        let given = headers(&[("x-hub-signature-256", signature.as_str())]);
        assert!(is_promising(Sender::Generic, &secrets, &given));
        assert!(is_valid(Sender::Generic, &secrets, &given, b"{}"));
        assert!(!is_valid(Sender::Generic, &secrets, &given, b"{ }"));
        let bare = headers(&[("x-hub-signature-256", &signature[7..])]);
        assert!(!is_promising(Sender::Generic, &secrets, &bare), "without the prefix");
        assert!(!is_promising(Sender::Generic, &secrets, &HeaderMap::new()));
    }

    #[test]
    fn gitlab_sends_the_secret_itself() {
        let secrets = [Secret::new(TEXT).unwrap()];
        for (token, fits) in [(TEXT, true), ("It's a Secret", false), ("", false)] {
            let given = headers(&[("x-gitlab-token", token)]);
            assert_eq!(is_promising(Sender::GitLab, &secrets, &given), fits);
        }
        assert!(!is_promising(Sender::GitLab, &secrets, &HeaderMap::new()));
    }

    #[test]
    fn a_short_secret_is_refused_and_none_is_printed() {
        assert_eq!(Secret::new(" hunter2 \n").unwrap_err().code(), "FORGE0010");
        assert_eq!(format!("{:?}", Secret::new(TEXT).unwrap()), "Secret");
    }
}
