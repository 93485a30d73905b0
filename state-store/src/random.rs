//! Random numbers: ids, nonces, salts.

use crate::error::{Error, Result};

/// 128 random bits, in hexadecimal.
pub(crate) fn hex() -> Result<String> {
    let mut bytes = [0_u8; 16];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| Error::Random)?;
    Ok(crate::digest::hex(&bytes))
}
