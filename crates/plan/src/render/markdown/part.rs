//! Parts of a comment put together under its limit.

/// A part of a comment in two lengths; empty ones are left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// With everything.
    pub(super) full: String,
    /// When that does not fit.
    pub(super) short: String,
}

/// Puts the parts between head and foot, each in full as long as there is room for the rest at least in short,
/// in at most `limit` bytes. Only a limit too small for head and foot cuts those.
pub(super) fn assemble(head: &str, parts: Vec<Part>, foot: &str, limit: usize) -> String {
    let parts: Vec<Part> = parts.into_iter().filter(|part| !part.full.is_empty()).collect();
    let Some(mut room) = limit.checked_sub(head.len() + foot.len() + 1) else {
        return cut(head, foot, limit);
    };
    // The minimum size of the later parts.
    let mut later: Vec<usize> = parts
        .iter()
        .rev()
        .scan(0, |sum, part| {
            let needed = *sum;
            *sum += part.short.len().min(part.full.len()) + 1;
            Some(needed)
        })
        .collect();
    later.reverse();
    let mut body = String::new();
    for (part, later) in parts.iter().zip(later) {
        let text = if part.full.len() + 1 + later <= room {
            &part.full
        } else if part.short.len() < room {
            &part.short
        } else {
            continue;
        };
        body.push('\n');
        body.push_str(text);
        room -= text.len() + 1;
    }
    format!("{head}{body}\n{foot}")
}

/// The foot names the plan, so it is kept longest.
fn cut(head: &str, foot: &str, limit: usize) -> String {
    match limit.checked_sub(foot.len() + 1) {
        Some(room) => format!("{}\n{foot}", prefix(head, room)),
        None => prefix(foot, limit).to_owned(),
    }
}

fn prefix(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_longer_than_its_limit() {
        let part = |full: usize, short: usize| Part { full: "f".repeat(full), short: "s".repeat(short) };
        for limit in 0..200 {
            let text = assemble("häad\n", vec![part(50, 10), part(30, 40), part(80, 5)], "foot\n", limit);
            assert!(text.len() <= limit, "{limit}: {text}");
        }
        let roomy = assemble("h\n", vec![part(50, 10), part(80, 5)], "f\n", 200);
        assert!(roomy.contains(&"f".repeat(80)));
        let tight = assemble("h\n", vec![part(50, 10), part(80, 5)], "f\n", 70);
        assert!(tight.contains(&"f".repeat(50)) && tight.contains("sssss") && !tight.contains("ssssss"));
    }
}
