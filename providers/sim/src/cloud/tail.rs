//! Lines of a file to which another process may be appending.

/// Calls `take` with every whole line and where it begins; returns how many bytes the whole lines have.
pub(crate) fn for_each_line<E>(
    bytes: &[u8],
    mut take: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<u64, E> {
    let mut offset = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some((b'\n', text)) = line.split_last() else {
            break;
        };
        take(offset, text)?;
        offset += line.len() as u64;
    }
    Ok(offset)
}
