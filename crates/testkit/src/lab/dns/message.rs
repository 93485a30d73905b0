//! Messages of the domain name system (RFC 1035), as far as a server of few names needs them.

use std::net::Ipv4Addr;

/// The length of a message's head.
const HEAD: usize = 12;

/// How long an answer may be kept, in seconds: names change while a test waits for them.
const LIFE: u32 = 1;

/// A kind of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    A = 1,
    Cname = 5,
    Txt = 16,
}

/// The data of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// An address.
    Address(Ipv4Addr),
    /// Another name.
    Name(String),
    /// A text.
    Text(String),
}

impl Data {
    /// Reads a value of Route 53. Other kinds of records are left out.
    pub fn read(kind: &str, value: &str) -> Option<Self> {
        match kind {
            "A" => value.parse().ok().map(Self::Address),
            "CNAME" => Some(Self::Name(value.trim_end_matches('.').to_ascii_lowercase())),
            "TXT" => Some(Self::Text(value.trim_matches('"').to_owned())),
            _ => None,
        }
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Address(_) => Kind::A,
            Self::Name(_) => Kind::Cname,
            Self::Text(_) => Kind::Txt,
        }
    }
}

/// A record with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub name: String,
    pub data: Data,
}

/// The answer to a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether there is such a name, whatever it has.
    pub exists: bool,
    pub answers: Vec<Answer>,
}

/// A question.
#[derive(Debug)]
pub struct Question {
    /// In lower case, without the last dot.
    pub name: String,
    /// Absent for a kind that no name has.
    pub kind: Option<Kind>,
    /// The head and the question as they came, without what follows.
    bytes: Vec<u8>,
}

impl Question {
    /// Reads a message with one question.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let is_question = bytes.get(2)? & 0x80 == 0 && bytes.get(4..6)? == [0, 1];
        let mut labels = Vec::new();
        let mut at = HEAD;
        loop {
            let length = usize::from(*bytes.get(at)?);
            at += 1;
            match length {
                0 => break,
                1..=63 => {
                    labels.push(String::from_utf8_lossy(bytes.get(at..at + length)?).to_ascii_lowercase())
                }
                _ => return None,
            }
            at += length;
        }
        let kind = match bytes.get(at..at + 4)? {
            [0, 1, 0, 1] => Some(Kind::A),
            [0, 5, 0, 1] => Some(Kind::Cname),
            [0, 16, 0, 1] => Some(Kind::Txt),
            _ => None,
        };
        is_question.then(|| Self { name: labels.join("."), kind, bytes: bytes[..at + 4].to_vec() })
    }

    /// The message that answers it.
    pub fn answered(&self, outcome: &Outcome) -> Vec<u8> {
        let mut message = self.bytes.clone();
        let count = u16::try_from(outcome.answers.len()).unwrap_or_default().to_be_bytes();
        // An authoritative answer, recursion as asked, and recursion is available.
        message[2] = 0x84 | (self.bytes[2] & 1);
        message[3] = 0x80 | if outcome.exists { 0 } else { 3 };
        message[6..HEAD].copy_from_slice(&[count[0], count[1], 0, 0, 0, 0]);
        for answer in &outcome.answers {
            write_name(&mut message, &answer.name);
            message.extend((answer.data.kind() as u16).to_be_bytes());
            message.extend([0, 1]);
            message.extend(LIFE.to_be_bytes());
            let mut data = Vec::new();
            match &answer.data {
                Data::Address(address) => data.extend(address.octets()),
                Data::Name(name) => write_name(&mut data, name),
                Data::Text(text) => write_label(&mut data, text, 255),
            }
            message.extend(u16::try_from(data.len()).unwrap_or_default().to_be_bytes());
            message.extend(data);
        }
        message
    }
}

fn write_name(message: &mut Vec<u8>, name: &str) {
    for label in name.split('.').filter(|label| !label.is_empty()) {
        write_label(message, label, 63);
    }
    message.push(0);
}

fn write_label(message: &mut Vec<u8>, text: &str, longest: usize) {
    let bytes = &text.as_bytes()[..text.len().min(longest)];
    message.push(u8::try_from(bytes.len()).unwrap_or_default());
    message.extend(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_and_answered() {
        let mut bytes = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
        write_name(&mut bytes, "API.Example.com");
        bytes.extend([0, 1, 0, 1]);
        let length = bytes.len();
        // The rest after the question, such as the client's buffer size, is not repeated.
        bytes.extend([0, 0, 41, 16, 0, 0, 0, 0, 0, 0, 0]);
        let question = Question::read(&bytes).unwrap();
        assert_eq!((question.name.as_str(), question.kind), ("api.example.com", Some(Kind::A)));
        let answer = Answer { name: "a.b".to_owned(), data: Data::Address(Ipv4Addr::new(10, 0, 0, 1)) };
        let message = question.answered(&Outcome { exists: true, answers: vec![answer] });
        assert_eq!(message[..HEAD], [7, 7, 0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        let record = [1, b'a', 1, b'b', 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 10, 0, 0, 1];
        assert_eq!(message[length..], record);
        assert_eq!(question.answered(&Outcome::default())[3], 0x83);
        assert!(Question::read(&bytes[..20]).is_none());
    }
}
