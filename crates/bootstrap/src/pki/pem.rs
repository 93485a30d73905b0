//! Blocks of RFC 7468: `-----BEGIN X-----`, base64 in lines of 64, `-----END X-----`.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// One block.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub label: String,
    pub bytes: Vec<u8>,
}

/// Every block of a text; text between blocks and damaged blocks are skipped.
pub(super) fn decode(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut label: Option<&str> = None;
    let mut body = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(begun) = line.strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----")) {
            label = Some(begun);
            body.clear();
        } else if let Some(ended) = line.strip_prefix("-----END ").and_then(|rest| rest.strip_suffix("-----"))
        {
            if label == Some(ended)
                && let Ok(bytes) = STANDARD.decode(&body)
            {
                blocks.push(Block { label: ended.to_owned(), bytes });
            }
            label = None;
        } else if label.is_some() && !line.contains(':') {
            body.push_str(line);
        }
    }
    blocks
}

/// The text of one block.
pub(super) fn encode(label: &str, bytes: &[u8]) -> String {
    let base64 = STANDARD.encode(bytes);
    let mut text = format!("-----BEGIN {label}-----\n");
    let mut rest = base64.as_str();
    while !rest.is_empty() {
        let (line, tail) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = tail;
    }
    text.push_str("-----END ");
    text.push_str(label);
    text.push_str("-----\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_among_other_text() {
        let text = format!("subject: x\n{}trailing\n{}", encode("A", &[1; 60]), encode("B", &[]));
        let blocks = decode(&text);
        assert_eq!((blocks.len(), blocks[0].label.as_str(), blocks[0].bytes.len()), (2, "A", 60));
        assert!(text.lines().all(|line| line.len() <= 64));
        assert!(decode("-----BEGIN A-----\n????\n-----END A-----\n").is_empty());
        assert!(decode("-----BEGIN A-----\nAAAA\n-----END B-----\n").is_empty());
    }
}
