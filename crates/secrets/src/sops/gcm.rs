//! AES-256-GCM with nonces of any length (NIST SP 800-38D), to decrypt only.
//!
//! SOPS has nonces of 32 bytes; aws-lc-rs has GCM with those of 12 bytes only. The block cipher is its; the rest of the
//! mode is here, without tables and branches that would depend on what is secret.

use aws_lc_rs::cipher::{AES_256, EncryptingKey, UnboundCipherKey};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use zeroize::Zeroizing;

const BLOCK: usize = 16;

/// Decrypts; nothing when key, nonce, associated data, bytes or tag are not what they were.
pub(super) fn open(
    key: &[u8],
    nonce: &[u8],
    aad: &[u8],
    sealed: &[u8],
    tag: &[u8],
) -> Option<Zeroizing<Vec<u8>>> {
    let cipher = Cipher(EncryptingKey::ecb(UnboundCipherKey::new(&AES_256, key).ok()?).ok()?);
    let subkey = u128::from_be_bytes(cipher.block([0; BLOCK])?);
    let start = if let Ok(short) = <[u8; 12]>::try_from(nonce) {
        let mut block = [0; BLOCK];
        block[..12].copy_from_slice(&short);
        block[15] = 1;
        block
    } else {
        hash(subkey, &[], nonce).to_be_bytes()
    };
    let computed = hash(subkey, aad, sealed) ^ u128::from_be_bytes(cipher.block(start)?);
    verify_slices_are_equal(&computed.to_be_bytes(), tag).ok()?;

    let mut stream = Zeroizing::new(Vec::with_capacity(sealed.len() + BLOCK));
    let mut counter = start;
    while stream.len() < sealed.len() {
        let [.., a, b, c, d] = counter;
        let next = u32::from_be_bytes([a, b, c, d]).wrapping_add(1);
        counter[12..].copy_from_slice(&next.to_be_bytes());
        stream.extend_from_slice(&counter);
    }
    cipher.blocks(&mut stream)?;
    stream.truncate(sealed.len());
    stream.iter_mut().zip(sealed).for_each(|(plain, sealed)| *plain ^= sealed);
    Some(stream)
}

struct Cipher(EncryptingKey);

impl Cipher {
    fn block(&self, block: [u8; BLOCK]) -> Option<[u8; BLOCK]> {
        let mut bytes = block;
        self.blocks(&mut bytes)?;
        Some(bytes)
    }

    fn blocks(&self, blocks: &mut [u8]) -> Option<()> {
        if !blocks.is_empty() {
            self.0.encrypt(blocks).ok()?;
        }
        Some(())
    }
}

/// GHASH over both texts, each filled up to whole blocks, and their lengths.
fn hash(subkey: u128, first: &[u8], second: &[u8]) -> u128 {
    let blocks = first.chunks(BLOCK).chain(second.chunks(BLOCK)).map(|chunk| {
        let mut block = [0; BLOCK];
        block[..chunk.len()].copy_from_slice(chunk);
        u128::from_be_bytes(block)
    });
    let lengths = (first.len() as u128) << 67 | (second.len() as u128) << 3;
    blocks.chain([lengths]).fold(0, |hash, block| multiply(hash ^ block, subkey))
}

/// The product in GF(2^128), bits in the order of GCM.
fn multiply(left: u128, right: u128) -> u128 {
    let (mut product, mut shifted) = (0_u128, right);
    for bit in (0..128).rev() {
        product ^= shifted & (left >> bit & 1).wrapping_neg();
        shifted = shifted >> 1 ^ (0xe1_u128 << 120) & (shifted & 1).wrapping_neg();
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::{self, KEY, NONCE};

    #[test]
    fn with_short_nonces_it_is_the_same_as_the_library() {
        let key = Zeroizing::new([7; KEY]);
        for length in [0, 1, 15, 16, 17, 100] {
            let (plain, aad) = (vec![3; length], vec![5; length / 2]);
            let sealed = cipher::aes_seal(&key, [9; NONCE], &aad, &plain).unwrap();
            let (body, tag) = sealed.split_at(length);
            assert_eq!(*open(&*key, &[9; NONCE], &aad, body, tag).unwrap(), plain, "{length}");
            assert!(open(&*key, &[8; NONCE], &aad, body, tag).is_none());
            assert!(open(&*key, &[9; NONCE], &aad, body, &tag[..15]).is_none());
        }
    }

    #[test]
    fn with_long_nonces_it_is_as_the_specification_has_it() {
        // Test case 18 of the specification of GCM: AES-256 with a nonce of 60 bytes.
        let bytes = |hex: &str| -> Vec<u8> {
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
        };
        let key = bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
        let nonce = bytes(
            "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b",
        );
        let aad = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2");
        let sealed = bytes(
            "5a8def2f0c9e53f1f75d7853659e2a20eeb2b22aafde6419a058ab4f6f746bf40fc0c3b780f244452da3ebf1c5d82cdea2418997200ef82e44ae7e3f",
        );
        let tag = bytes("a44a8266ee1c8eb0c8b5d4cf5ae9f19a");
        let plain = bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
        );
        assert_eq!(*open(&key, &nonce, &aad, &sealed, &tag).unwrap(), plain);
    }
}
