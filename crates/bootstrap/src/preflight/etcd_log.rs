//! Reads how far the write-ahead log of an etcd member reaches, without starting etcd.
//!
//! After its metadata, a segment has entries of the Raft log (`raftpb.Entry {1: type, 2: term, 3: index, 4: data}`), hard states
//! (`raftpb.HardState {1: term, 2: vote, 3: commit}`), and marks of snapshots (`walpb.Snapshot {1: index, 2: term}`). The form of
//! a record is described in `etcd_data`. The rest of a segment that is being written is zeros.

use std::io::{ErrorKind, Read};

use serde::{Deserialize, Serialize};

use super::protobuf::Fields;

/// The types of records.
const ENTRY: u64 = 2;
const STATE: u64 = 3;
const SNAPSHOT: u64 = 5;

/// The type of an entry that changes keys; the others change members.
const NORMAL: u64 = 0;

/// No record of etcd is larger: a request has 1.5 MiB by default.
const LARGEST: u64 = 256 << 20;

/// The segments of a member's log, added in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdLog {
    term: u64,
    commit: u64,
    snapshot: u64,
    /// The index of each entry, and whether it is a request: leaders also append entries without one.
    entries: Vec<(u64, bool)>,
}

/// How far a log reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EtcdLogReach {
    /// The term of the member.
    pub term: u64,
    /// The last index of which the member knew that a majority has it.
    pub commit: u64,
    /// The index of the last entry.
    pub last: u64,
    /// The confirmed requests that the database does not have.
    pub unapplied: u64,
    /// The requests of which the member never learnt that a majority has them.
    pub unconfirmed: u64,
}

impl EtcdLog {
    /// Adds a segment, up to its end or to the first record that is not complete.
    pub fn add(&mut self, mut segment: impl Read) {
        while let Some(message) = record(&mut segment) {
            let Some(record) = Fields::of(&message) else { return };
            let Some(data) = record.bytes(3).and_then(Fields::of) else { continue };
            match record.number(1) {
                Some(ENTRY) => self.add_entry(&data),
                Some(STATE) => {
                    self.term = data.number(1).unwrap_or(self.term);
                    self.commit = data.number(3).unwrap_or(self.commit);
                }
                Some(SNAPSHOT) => self.snapshot = data.number(1).unwrap_or(self.snapshot).max(self.snapshot),
                _ => {}
            }
        }
    }

    /// An entry replaces an earlier one of its index, and all that followed that one.
    fn add_entry(&mut self, entry: &Fields<'_>) {
        let Some(index) = entry.number(3) else { return };
        while self.entries.last().is_some_and(|(last, _)| *last >= index) {
            self.entries.pop();
        }
        let is_request = entry.number(1).unwrap_or(NORMAL) == NORMAL
            && entry.bytes(4).is_some_and(|data| !data.is_empty());
        self.entries.push((index, is_request));
    }

    /// How far the log reaches, beside a database that has the entries up to the index `applied`.
    #[must_use]
    pub fn reach(&self, applied: u64) -> EtcdLogReach {
        let requests = |after: u64, to: u64| {
            let is_counted =
                |(index, is_request): &&(u64, bool)| *is_request && *index > after && *index <= to;
            self.entries.iter().filter(is_counted).count() as u64
        };
        let last = self.entries.last().map_or(0, |(index, _)| *index).max(self.snapshot);
        EtcdLogReach {
            term: self.term,
            commit: self.commit,
            last,
            unapplied: requests(applied, self.commit),
            unconfirmed: requests(self.commit.max(applied), u64::MAX),
        }
    }
}

/// The message of the next record; none at the end.
fn record(segment: &mut impl Read) -> Option<Vec<u8>> {
    let mut field = [0; 8];
    fill(segment, &mut field)?;
    let field = u64::from_le_bytes(field);
    let padding = if field >> 63 == 1 { (field >> 56) & 0x7 } else { 0 };
    let length = field & 0x00ff_ffff_ffff_ffff;
    if length == 0 || length > LARGEST {
        return None;
    }
    let mut message = Vec::new();
    let read = segment.by_ref().take(length + padding).read_to_end(&mut message).ok()?;
    if read as u64 != length + padding {
        return None;
    }
    message.truncate(usize::try_from(length).ok()?);
    Some(message)
}

/// Fills a buffer; none when there are too few bytes.
fn fill(segment: &mut impl Read, buffer: &mut [u8]) -> Option<()> {
    loop {
        match segment.read_exact(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read.ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(field: u64, value: u64) -> Vec<u8> {
        let mut out = vec![u8::try_from(field << 3).unwrap()];
        let mut value = value;
        while value >= 0x80 {
            out.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
            value >>= 7;
        }
        out.push(u8::try_from(value).unwrap());
        out
    }

    fn bytes(field: u64, bytes: &[u8]) -> Vec<u8> {
        [vec![u8::try_from(field << 3 | 2).unwrap(), u8::try_from(bytes.len()).unwrap()], bytes.to_vec()]
            .concat()
    }

    fn record(kind: u64, data: &[u8]) -> Vec<u8> {
        let message = [number(1, kind), number(2, 7), bytes(3, data)].concat();
        let padding = (8 - message.len() % 8) % 8;
        let mut field = message.len() as u64;
        if padding > 0 {
            field |= (0x80 | padding as u64) << 56;
        }
        [field.to_le_bytes().to_vec(), message, vec![0; padding]].concat()
    }

    fn entry(index: u64, data: &[u8]) -> Vec<u8> {
        record(ENTRY, &[number(1, NORMAL), number(2, 3), number(3, index), bytes(4, data)].concat())
    }

    fn state(term: u64, commit: u64) -> Vec<u8> {
        record(STATE, &[number(1, term), number(2, 1), number(3, commit)].concat())
    }

    fn reach(records: &[Vec<u8>], applied: u64) -> EtcdLogReach {
        let mut log = EtcdLog::default();
        log.add(&*records.concat());
        log.reach(applied)
    }

    #[test]
    fn confirmed_and_unconfirmed_requests_are_counted() {
        let records =
            [entry(1, b"a"), entry(2, b"b"), state(3, 2), entry(3, b""), entry(4, b"c"), vec![0; 64]];
        let found = reach(&records, 1);
        assert_eq!(found, EtcdLogReach { term: 3, commit: 2, last: 4, unapplied: 1, unconfirmed: 1 });
        assert_eq!(reach(&records, 2).unapplied, 0);
    }

    #[test]
    fn a_later_entry_replaces_those_from_its_index_on() {
        let records = [entry(1, b"a"), entry(2, b"b"), entry(3, b"c"), state(4, 1), entry(2, b"")];
        assert_eq!(
            reach(&records, 1),
            EtcdLogReach { term: 4, commit: 1, last: 2, ..EtcdLogReach::default() }
        );
    }

    #[test]
    fn a_cut_log_reaches_to_its_last_complete_record() {
        let whole = [entry(1, b"a"), state(1, 1), entry(2, b"b")].concat();
        for cut in 0..whole.len() {
            let mut log = EtcdLog::default();
            log.add(&whole[..cut]);
            assert!(log.reach(0).last <= 1, "{cut}");
        }
        let mut log = EtcdLog::default();
        log.add(&[0xff; 64][..]);
        log.add(&b"data"[..]);
        assert_eq!(log, EtcdLog::default());
    }
}
