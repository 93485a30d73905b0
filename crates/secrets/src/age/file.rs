//! An age file: a header with the file key wrapped for each recipient, its MAC, and the payload.

use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use super::keys::{FILE_KEY, Identity, Recipient};
use super::stream;
use crate::error::{Error, Result};
use crate::{cipher, encoding, random};

const VERSION: &str = "age-encryption.org/v1";
const ARMOR_BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
const ARMOR_END: &str = "-----END AGE ENCRYPTED FILE-----";
const COLUMNS: usize = 64;
const PAYLOAD_NONCE: usize = 16;

/// Encrypts for recipients. Each recipient can decrypt alone.
///
/// # Errors
/// When there is no recipient, or the system gives no random numbers.
pub fn encrypt(recipients: &[Recipient], plain: &[u8]) -> Result<Vec<u8>> {
    if recipients.is_empty() {
        return Err(Error::NoRecipients);
    }
    let file_key = random::key::<FILE_KEY>()?;
    let mut header = format!("{VERSION}\n");
    for recipient in recipients {
        let (line, body) = recipient.wrap(&file_key)?;
        header.push_str(&format!("-> {line}\n{}", wrap_lines(&encoding::encode_bare(&body))));
    }
    header.push_str("---");
    let mac = header_mac(&*file_key, header.as_bytes())?;
    let nonce = random::bytes::<PAYLOAD_NONCE>()?;
    let key = cipher::derive(&*file_key, &nonce, b"payload")?;
    let mut bytes = format!("{header} {}\n", encoding::encode_bare(mac.as_ref())).into_bytes();
    bytes.extend(nonce);
    bytes.extend(stream::seal(&key, plain)?);
    Ok(bytes)
}

/// Decrypts with the first identity that fits; nothing when none does.
///
/// # Errors
/// When it is no age file, or not as it was written.
pub fn decrypt(identities: &[&Identity], bytes: &[u8]) -> Result<Option<Zeroizing<Vec<u8>>>> {
    let header = Header::parse(bytes).ok_or_else(|| malformed("it does not have the form of one"))?;
    let mut stanzas = header.stanzas.iter().filter(|stanza| stanza.arguments.first() == Some(&"X25519"));
    let file_key = stanzas.find_map(|stanza| {
        let share = encoding::decode_bare(stanza.arguments.get(1)?).filter(|share| share.len() == 32)?;
        identities.iter().find_map(|identity| identity.unwrap(&share, stanza.body.clone()))
    });
    let Some(file_key) = file_key else { return Ok(None) };
    let mac_key = mac_key(&file_key)?;
    hmac::verify(&mac_key, header.covered, &header.mac).map_err(|_| malformed("its header was changed"))?;
    let (nonce, sealed) =
        header.payload.split_at_checked(PAYLOAD_NONCE).ok_or_else(|| malformed("it ends too early"))?;
    let key = cipher::derive(&file_key, nonce, b"payload")?;
    stream::open(&key, sealed).map(Some)
}

/// The bytes of a file in ASCII armor.
///
/// # Errors
/// When it is not.
pub(crate) fn dearmor(text: &str) -> Result<Vec<u8>> {
    let body = text.trim().strip_prefix(ARMOR_BEGIN).and_then(|rest| rest.strip_suffix(ARMOR_END));
    let body: Option<String> = body.map(|body| body.split_ascii_whitespace().collect());
    body.and_then(|body| encoding::decode(&body)).ok_or_else(|| malformed("its ASCII armor is broken"))
}

fn malformed(reason: &str) -> Error {
    Error::Malformed { what: "an age file", reason: reason.to_owned() }
}

fn mac_key(file_key: &[u8]) -> Result<hmac::Key> {
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &*cipher::derive(file_key, &[], b"header")?))
}

fn header_mac(file_key: &[u8], covered: &[u8]) -> Result<hmac::Tag> {
    Ok(hmac::sign(&mac_key(file_key)?, covered))
}

/// Lines of 64 columns, the last one shorter, be it empty.
fn wrap_lines(text: &str) -> String {
    let mut lines = String::new();
    let mut rest = text;
    while rest.len() >= COLUMNS {
        let (line, tail) = rest.split_at(COLUMNS);
        lines.push_str(line);
        lines.push('\n');
        rest = tail;
    }
    lines.push_str(rest);
    lines.push('\n');
    lines
}

struct Header<'a> {
    stanzas: Vec<Stanza<'a>>,
    /// The bytes that the MAC covers.
    covered: &'a [u8],
    mac: Vec<u8>,
    payload: &'a [u8],
}

struct Stanza<'a> {
    arguments: Vec<&'a str>,
    body: Vec<u8>,
}

impl<'a> Header<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut rest = bytes;
        if line(&mut rest)? != VERSION {
            return None;
        }
        let mut stanzas = Vec::new();
        loop {
            let before = bytes.len() - rest.len();
            let text = line(&mut rest)?;
            if let Some(mac) = text.strip_prefix("--- ") {
                let covered = bytes.get(..before + "---".len())?;
                return Some(Self { stanzas, covered, mac: encoding::decode_bare(mac)?, payload: rest });
            }
            let arguments: Vec<&str> = text.strip_prefix("-> ")?.split(' ').collect();
            let mut body = String::new();
            loop {
                let text = line(&mut rest)?;
                body.push_str(text);
                match text.len() {
                    COLUMNS => {}
                    0..COLUMNS => break,
                    _ => return None,
                }
            }
            stanzas.push(Stanza { arguments, body: encoding::decode_bare(&body)? });
        }
    }
}

/// The next line, without its end.
fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let line = std::str::from_utf8(rest.get(..end)?).ok()?;
    *rest = rest.get(end + 1..)?;
    Some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_recipient_opens_it_and_nobody_else() {
        let people: Vec<Identity> = (0..3).map(|_| Identity::generate().unwrap()).collect();
        let recipients: Vec<Recipient> = people[..2].iter().map(|who| who.recipient().clone()).collect();
        let file = encrypt(&recipients, b"text").unwrap();
        for who in &people[..2] {
            assert_eq!(**decrypt(&[who], &file).unwrap().unwrap(), *b"text");
        }
        assert!(decrypt(&[&people[2]], &file).unwrap().is_none());
        assert!(encrypt(&[], b"").is_err());
    }

    #[test]
    fn a_changed_header_is_noticed() {
        let who = Identity::generate().unwrap();
        let other = Identity::generate().unwrap();
        let file = encrypt(&[other.recipient().clone(), who.recipient().clone()], b"text").unwrap();
        // Another stanza kind in place of the first: the MAC covers it.
        let text = String::from_utf8_lossy(&file).into_owned();
        let place = text.find("X25519").unwrap();
        let mut bent = file;
        bent[place] = b'Y';
        assert!(decrypt(&[&who], &bent).unwrap_err().to_string().contains("header was changed"));
    }
}
