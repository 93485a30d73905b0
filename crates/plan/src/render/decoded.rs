//! Texts in base64, as user data of machines is: they are shown as the text, without what looks like a secret.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_resource::{TemplatePart, Value};

/// The shortest text in base64 that is taken for one, in characters.
const SHORTEST: usize = 24;
/// The longest one that is decoded.
const LONGEST: usize = 256 * 1024;
/// The text that replaces a secret.
const HIDDEN: &str = "(secret)";
/// Names whose values are hidden, in small letters without separators.
const NAMES: [&str; 9] = [
    "accesskey",
    "apikey",
    "authtoken",
    "encryptionkey",
    "passphrase",
    "password",
    "privatekey",
    "secret",
    "token",
];

/// The text of user data. Base64 of a text of several lines is decoded, JSON on separate lines is formatted,
/// and probable secrets are hidden. Any other value is unchanged.
pub(super) fn decoded(value: &Value) -> Cow<'_, Value> {
    match value {
        Value::String(text) => match text_of(text) {
            Some(text) => Cow::Owned(Value::String(shown(&text))),
            None => Cow::Borrowed(value),
        },
        // The same text before it is put into base64: a reference in it is not known yet.
        Value::Template(parts) if is_script(parts) => {
            let shown = |part: &TemplatePart| match part {
                TemplatePart::Text(text) => TemplatePart::Text(shown(text)),
                reference @ TemplatePart::Reference(_) => reference.clone(),
            };
            Cow::Owned(Value::Template(parts.iter().map(shown).collect()))
        }
        _ => Cow::Borrowed(value),
    }
}

fn is_script(parts: &[TemplatePart]) -> bool {
    let first = parts.first();
    matches!(first, Some(TemplatePart::Text(text)) if text.starts_with("#!") || text.starts_with("Content-Type: multipart/"))
}

fn text_of(text: &str) -> Option<String> {
    if !(SHORTEST..=LONGEST).contains(&text.len()) {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(text).ok()?).ok()?;
    let is_text = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    (decoded.trim_end().contains('\n') && decoded.chars().all(is_text)).then_some(decoded)
}

/// The text line by line.
fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_key = false;
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let begins = line.contains("-----BEGIN ") && line.contains("PRIVATE KEY-----");
        let ends = line.contains("-----END ") && line.contains("PRIVATE KEY-----");
        if begins && !in_key {
            out.push_str(HIDDEN);
            out.push_str(end);
        }
        if !begins && !in_key {
            out.push_str(&shown_line(line));
            out.push_str(end);
        }
        in_key = (in_key || begins) && !ends;
    }
    out
}

fn shown_line(line: &str) -> Cow<'_, str> {
    if line.starts_with('{')
        && let Ok(mut json) = serde_json::from_str::<serde_json::Value>(line)
    {
        hide(&mut json);
        return serde_json::to_string_pretty(&json).map_or(Cow::Borrowed(HIDDEN), Cow::Owned);
    }
    let Some(place) = line.find(['=', ':']) else { return Cow::Borrowed(line) };
    let (name, value) = (line.get(..place).unwrap_or_default(), line.get(place + 1..).unwrap_or_default());
    // An address is no value of a name, and a reference to a variable no secret.
    let is_plain = value.trim().is_empty() || value.starts_with("//") || value.trim_start().starts_with('$');
    match is_secret(name) && !is_plain {
        true => Cow::Owned(format!("{}{HIDDEN}", line.get(..=place).unwrap_or_default())),
        false => Cow::Borrowed(line),
    }
}

fn hide(json: &mut serde_json::Value) {
    match json {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    serde_json::Value::String(text) if is_secret(name) => HIDDEN.clone_into(text),
                    serde_json::Value::String(text) => {
                        let hidden = shown(text);
                        *text = hidden;
                    }
                    other => hide(other),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(hide),
        serde_json::Value::String(text) => *text = shown(text),
        _ => {}
    }
}

/// Whether a name, as in `export DB_PASSWORD`, ends with that of a secret.
fn is_secret(name: &str) -> bool {
    let joined: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    NAMES.iter().any(|secret| joined.ends_with(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &Value) -> String {
        match decoded(value).into_owned() {
            Value::String(text) => text,
            other => panic!("{other:?}"),
        }
    }

    fn packed(text: &str) -> Value {
        STANDARD.encode(text).into()
    }

    #[test]
    fn user_data_is_shown_as_its_text() {
        let script = "#!/bin/sh\nset -eu\necho hello\n";
        assert_eq!(text(&packed(script)), script);
        let json = text(&packed("cat <<'X'\n{\"node\":{\"pool\":\"a\"}}\nX\n"));
        assert!(json.contains("\n  \"node\": {\n    \"pool\": \"a\"\n"), "{json}");
        // A fingerprint, a name, one line, and bytes.
        for other in
            ["ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=", "masters", "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ="]
        {
            assert_eq!(text(&other.into()), other);
        }
    }

    #[test]
    fn what_looks_like_a_secret_is_hidden() {
        let script = "export DB_PASSWORD=hunter2\ntoken: abc\nurl=https://a\n-----BEGIN RSA PRIVATE KEY-----\nhunter2\n\
                      -----END RSA PRIVATE KEY-----\n{\"files\":[{\"content\":\"secret=hunter2\\n\",\"apiKey\":\"hunter2\"}]}\n\
                      TOKEN=$(cat token)\n";
        let shown = text(&packed(script));
        assert!(!shown.contains("hunter2") && !shown.contains("abc"), "{shown}");
        for kept in ["export DB_PASSWORD=(secret)", "url=https://a", "TOKEN=$(cat token)"] {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
        let parts = vec![TemplatePart::Text("#!/bin/sh\npassword=hunter2\n".to_owned())];
        assert!(!format!("{:?}", decoded(&Value::Template(parts))).contains("hunter2"));
    }
}
