//! The payload: chunks of 64 KiB, each with its number and whether it is the last in the nonce.

use zeroize::Zeroizing;

use crate::cipher::{self, Key, NONCE, TAG};
use crate::error::{Error, Result};

const CHUNK: usize = 64 * 1024;

/// Encrypts a payload.
pub(super) fn seal(key: &Key, plain: &[u8]) -> Result<Vec<u8>> {
    let mut sealed = Vec::with_capacity(plain.len() + TAG * (plain.len() / CHUNK + 1));
    let mut chunks = plain.chunks(CHUNK).peekable();
    let mut number = 0;
    loop {
        // An empty payload is one empty chunk.
        let chunk = chunks.next().unwrap_or_default();
        let is_last = chunks.peek().is_none();
        sealed.extend(cipher::chacha_seal(key, nonce(number, is_last), chunk)?);
        if is_last {
            return Ok(sealed);
        }
        number += 1;
    }
}

/// Decrypts a payload.
pub(super) fn open(key: &Key, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    let damaged = || Error::Malformed { what: "an age file", reason: "its payload is damaged".to_owned() };
    let mut plain = Zeroizing::new(Vec::with_capacity(sealed.len()));
    let mut chunks = sealed.chunks(CHUNK + TAG).peekable();
    let mut number = 0;
    while let Some(chunk) = chunks.next() {
        let is_last = chunks.peek().is_none();
        let opened = cipher::chacha_open(key, nonce(number, is_last), chunk.to_vec()).ok_or_else(damaged)?;
        if opened.is_empty() && number > 0 {
            return Err(damaged());
        }
        plain.extend_from_slice(&opened);
        if is_last {
            return Ok(plain);
        }
        number += 1;
    }
    Err(damaged())
}

fn nonce(number: u64, is_last: bool) -> [u8; NONCE] {
    let mut nonce = [0; NONCE];
    nonce[3..11].copy_from_slice(&number.to_be_bytes());
    nonce[11] = u8::from(is_last);
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_of_all_lengths_around_a_chunk() {
        let key = Zeroizing::new([3; cipher::KEY]);
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            let plain = vec![5; length];
            let sealed = seal(&key, &plain).unwrap();
            assert_eq!(*open(&key, &sealed).unwrap(), plain, "{length}");
            assert!(open(&key, &sealed[..sealed.len() - 1]).is_err(), "cut short, {length}");
        }
        let sealed = seal(&key, &vec![5; 2 * CHUNK]).unwrap();
        assert!(open(&key, &sealed[..CHUNK + TAG]).is_err(), "the last chunk is missing");
    }
}
