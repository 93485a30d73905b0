//! How one scalar is written: plain, quoted, or as a literal block.

use serde_json::Number;

/// The form of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// The properties of a text that decide its form.
#[derive(Default)]
struct Analysis {
    indicators: bool,
    breaks: bool,
    special: bool,
    leading: bool,
    trailing_space: bool,
    trailing_break: bool,
    break_space: bool,
    space_break: bool,
}

/// The form in which a value is written.
pub(super) fn style(text: &str) -> Style {
    let analysis = analyse(text);
    if text.contains('\n') {
        let block = !analysis.trailing_space && !analysis.space_break && !analysis.special;
        return if block { Style::Literal } else { Style::Double };
    }
    if resolves_to_another_type(text) || is_base_60(text) {
        return Style::Double;
    }
    quoted(&analysis)
}

/// Whether a text has any character that ends a line.
pub(super) fn has_breaks(text: &str) -> bool {
    text.contains(is_break)
}

/// A key as it is written.
pub(super) fn key(text: &str) -> String {
    if resolves_to_another_type(text) || is_base_60(text) {
        return double_quoted(text);
    }
    match quoted(&analyse(text)) {
        Style::Single => format!("'{}'", text.replace('\'', "''")),
        Style::Double => double_quoted(text),
        Style::Plain | Style::Literal => text.to_owned(),
    }
}

fn double_quoted(text: &str) -> String {
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

fn quoted(analysis: &Analysis) -> Style {
    let plain = !(analysis.leading
        || analysis.trailing_space
        || analysis.trailing_break
        || analysis.break_space
        || analysis.space_break
        || analysis.special
        || analysis.breaks
        || analysis.indicators);
    if plain {
        Style::Plain
    } else if analysis.break_space || analysis.space_break || analysis.special {
        Style::Double
    } else {
        Style::Single
    }
}

fn analyse(text: &str) -> Analysis {
    let indicators = text.starts_with("---") || text.starts_with("...");
    let mut analysis = Analysis { indicators, ..Analysis::default() };
    let mut before: Option<char> = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        let first = before.is_none();
        let blank_follows = next.is_none_or(|next| next == ' ' || next == '\t');
        let blank_before = before.is_none_or(|before| matches!(before, ' ' | '\t') || is_break(before));
        analysis.indicators |= match character {
            '#' => first || blank_before,
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => first,
            '?' | '-' => first && blank_follows,
            ':' => blank_follows,
            _ => false,
        };
        analysis.special |= !is_printable(character);
        if character == ' ' {
            analysis.leading |= first;
            analysis.trailing_space |= next.is_none();
            analysis.break_space |= before.is_some_and(is_break);
        } else if is_break(character) {
            analysis.breaks = true;
            analysis.leading |= first;
            analysis.trailing_break |= next.is_none();
            analysis.space_break |= before == Some(' ');
        }
        before = Some(character);
    }
    analysis
}

fn is_break(character: char) -> bool {
    matches!(character, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether a YAML writer keeps a character; it escapes tabs and everything beyond the basic plane.
fn is_printable(character: char) -> bool {
    matches!(character, '\n' | ' '..='~' | '\u{a0}'..='\u{fffd}') && character != '\u{feff}'
}

/// A character in double quotes.
pub(super) fn escaped(character: char) -> String {
    let short = match character {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ if is_printable(character) => return character.to_string(),
        _ => {
            return match u32::from(character) {
                code @ 0..=0xff => format!("\\x{code:02X}"),
                code @ 0x100..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}

/// A number as Go writes it: whole ones as they are, others with an exponent from 1e+06 on and below 1e-04.
pub(super) fn number(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let scientific = format!("{float:e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{:02}", exponent.abs())
    } else {
        format!("{float}")
    }
}

/// Whether a YAML 1.1 reader would see anything but a text.
fn resolves_to_another_type(text: &str) -> bool {
    const WORDS: [&str; 37] = [
        "", "~", "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON", "n", "N", "no",
        "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF", "null", "Null", "NULL", ".nan", ".NaN",
        ".NAN", ".inf", ".Inf", ".INF", "+.inf", "-.inf", "+.Inf", "-.Inf",
    ];
    if WORDS.contains(&text) || matches!(text, "+.INF" | "-.INF") {
        return true;
    }
    match text.chars().next() {
        Some('.') => is_float(text),
        Some('0'..='9' | '+' | '-') => {
            let plain = text.replace('_', "");
            is_timestamp(text) || is_integer(&plain) || is_float(&plain)
        }
        _ => false,
    }
}

fn is_integer(text: &str) -> bool {
    let (sign, unsigned) = match text.strip_prefix(['+', '-']) {
        Some(unsigned) => (text.chars().next(), unsigned),
        None => (None, text),
    };
    let lower = unsigned.to_ascii_lowercase();
    let (digits, radix) = match lower.as_bytes() {
        [b'0', b'x', ..] => (lower.get(2..), 16),
        [b'0', b'b', ..] => (lower.get(2..), 2),
        [b'0', b'o', ..] => (lower.get(2..), 8),
        [b'0', _, ..] => (lower.get(1..), 8),
        _ => (Some(lower.as_str()), 10),
    };
    let digits = digits.filter(|digits| !digits.starts_with(['+', '-'])).unwrap_or_default();
    let most = match sign {
        None => u64::MAX,
        Some('-') => 1 << 63,
        Some(_) => (1 << 63) - 1,
    };
    u64::from_str_radix(digits, radix).is_ok_and(|value| value <= most)
}

fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa = match mantissa.split_once('.') {
        Some((whole, part)) => digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty()),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let exponent = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    mantissa && exponent
}

/// Numbers to the base 60, as `1:30`: they are texts since YAML 1.2 and quoted for older readers.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = unsigned.split(':');
    let first = parts.next().unwrap_or_default();
    if !first.starts_with(|c: char| c.is_ascii_digit())
        || !first.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
    {
        return false;
    }
    let rest: Vec<&str> = parts.collect();
    let Some((last, middle)) = rest.split_last() else { return false };
    let (last, fraction) = last.split_once('.').unwrap_or((last, ""));
    let sixty = |part: &str| match part.as_bytes() {
        [digit] => digit.is_ascii_digit(),
        [ten, digit] => (b'0'..=b'5').contains(ten) && digit.is_ascii_digit(),
        _ => false,
    };
    middle.iter().all(|part| sixty(part))
        && sixty(last)
        && fraction.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
}

/// `2006-1-2`, with or without a time and a zone.
fn is_timestamp(text: &str) -> bool {
    let Some((year, after)) = text.split_once('-') else { return false };
    if year.len() != 4 || !year.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let Some((month, after)) = after.split_once('-') else { return false };
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    let (day, time) = after.split_at(end);
    let within = |text: &str, first: u32, last: u32| {
        (1..=2).contains(&text.len()) && text.parse().is_ok_and(|n: u32| (first..=last).contains(&n))
    };
    let year = year.parse().unwrap_or(0);
    if !within(month, 1, 12) || !within(day, 1, days(year, month.parse().unwrap_or(1))) {
        return false;
    }
    let (time, zoned) = match time.chars().next() {
        None => return true,
        Some('T' | 't') => (time.get(1..), true),
        Some(' ') => (time.get(1..), false),
        Some(_) => return false,
    };
    let time = time.unwrap_or_default();
    let clock = if zoned {
        match time.strip_suffix('Z') {
            Some(clock) => Some(clock),
            None => time.len().checked_sub(6).and_then(|at| time.split_at_checked(at)).and_then(
                |(clock, zone)| {
                    let offset = zone.strip_prefix(['+', '-'])?;
                    let (hours, minutes) = offset.split_once(':')?;
                    (hours.len() == 2 && minutes.len() == 2 && within(hours, 0, 24) && within(minutes, 0, 60))
                        .then_some(clock)
                },
            ),
        }
    } else {
        Some(time)
    };
    let Some(clock) = clock else { return false };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let parts: Vec<&str> = clock.split(':').collect();
    let [hour, minute, second] = parts.as_slice() else { return false };
    within(hour, 0, 23)
        && within(minute, 0, 59)
        && within(second, 0, 59)
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
