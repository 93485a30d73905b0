//! Random bytes from the system.

use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Random bytes that are no secret: salts and nonces.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Error::Crypto("the system gives no random numbers"))?;
    Ok(bytes)
}

/// Random bytes that are a key: they are wiped when they are dropped.
pub(crate) fn key<const N: usize>() -> Result<Zeroizing<[u8; N]>> {
    let mut key = Zeroizing::new([0; N]);
    aws_lc_rs::rand::fill(&mut *key).map_err(|_| Error::Crypto("the system gives no random numbers"))?;
    Ok(key)
}
