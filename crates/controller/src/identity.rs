//! The name of a process among the replicas of its controller.

use rustix::system::uname;

/// `<host name>_<64 random bits>`: two processes never have the same.
///
/// # Errors
/// When the system gives no random numbers.
pub fn process_identity() -> std::io::Result<String> {
    let mut random = [0_u8; 8];
    aws_lc_rs::rand::fill(&mut random)
        .map_err(|_| std::io::Error::other("the system gives no random numbers"))?;
    let host = uname().nodename().to_string_lossy().into_owned();
    Ok(format!("{host}_{:016x}", u64::from_be_bytes(random)))
}
