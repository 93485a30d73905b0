//! Reads the identity in a data directory of etcd, without starting etcd.
//!
//! Every segment of the write-ahead log begins with a checksum record and then a metadata record, which holds the ids of
//! the member and of its cluster (`server/storage/wal` of etcd). A record is a length field of eight bytes, little endian,
//! whose lower 56 bits count the bytes of a protobuf message `{1: type, 2: crc, 3: data}`, padded to eight bytes.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::protobuf::Fields;

/// The data of a member of etcd.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EtcdData {
    /// The ids in its log; none when there is no log, or it cannot be read.
    pub ids: Option<EtcdIds>,
    /// How much space it takes in KiB; 0 when that is not known.
    pub size_kib: u64,
    /// When it was last written, in seconds since 1970; none when that is not known.
    pub written: Option<i64>,
}

/// Which member of which cluster wrote a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EtcdIds {
    /// The member's id.
    pub member: u64,
    /// The id of its cluster.
    pub cluster: u64,
}

/// The type of a record that holds the metadata.
const METADATA: u64 = 1;

/// How many bytes at the beginning of a log are enough to read its ids.
pub const HEAD: usize = 512;

impl EtcdIds {
    /// The ids in the beginning of any segment of a log; none when that is no log.
    #[must_use]
    pub fn of_log(head: &[u8]) -> Option<Self> {
        let mut rest = head;
        // A checksum comes first; a repaired log may have more of them.
        for _ in 0..4 {
            let (length, after) = rest.split_first_chunk::<8>()?;
            let field = u64::from_le_bytes(*length);
            let padding = if field >> 63 == 1 { usize::try_from((field >> 56) & 0x7).ok()? } else { 0 };
            let length = usize::try_from(field & 0x00ff_ffff_ffff_ffff).ok()?;
            let record = Fields::of(after.get(..length)?)?;
            if record.number(1) == Some(METADATA) {
                let metadata = Fields::of(record.bytes(3)?)?;
                return Some(Self { member: metadata.number(1)?, cluster: metadata.number(2)? });
            }
            rest = after.get(length.checked_add(padding)?..)?;
        }
        None
    }
}

impl fmt::Display for EtcdIds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "etcd member {:x} of cluster {:x}", self.member, self.cluster)
    }
}

impl fmt::Display for EtcdData {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.ids {
            Some(ids) => write!(formatter, "the data of {ids}")?,
            None => formatter.write_str("data of an etcd whose ids cannot be read")?,
        }
        let mut parts = Vec::new();
        if self.size_kib >= 1024 {
            parts.push(format!("{} MiB", self.size_kib / 1024));
        } else if self.size_kib > 0 {
            parts.push(format!("{} KiB", self.size_kib));
        }
        if let Some(time) = self.written.and_then(|seconds| Timestamp::from_second(seconds).ok()) {
            parts.push(format!("last written {time}"));
        }
        if parts.is_empty() { Ok(()) } else { write!(formatter, " ({})", parts.join(", ")) }
    }
}

/// The hint where data of an etcd blocks the operation. The destructive option comes last.
#[must_use]
pub fn way_out(path: &str) -> String {
    format!(
        "Slipway leaves it as it is: stop and reset the cluster that uses it with the tool that made it, or keep it aside with `mv {path} {path}.kept`; `rm -rf {path}` destroys it for good"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with its length field and padding.
    fn record(message: &[u8]) -> Vec<u8> {
        let padding = (8 - message.len() % 8) % 8;
        let mut field = message.len() as u64;
        if padding > 0 {
            field |= (0x80 | padding as u64) << 56;
        }
        let mut record = field.to_le_bytes().to_vec();
        record.extend(message);
        record.extend(vec![0; padding]);
        record
    }

    fn number(field: u64, mut value: u64) -> Vec<u8> {
        let mut out = vec![u8::try_from(field << 3).unwrap()];
        while value >= 0x80 {
            out.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
            value >>= 7;
        }
        out.push(u8::try_from(value).unwrap());
        out
    }

    fn log(member: u64, cluster: u64) -> Vec<u8> {
        let metadata = [number(1, member), number(2, cluster)].concat();
        let mut message = [number(1, METADATA), number(2, 0xdead_beef)].concat();
        message.extend([0x1a, u8::try_from(metadata.len()).unwrap()]);
        message.extend(metadata);
        [record(&[number(1, 4), number(2, 0)].concat()), record(&message)].concat()
    }

    #[test]
    fn the_ids_are_read_from_the_beginning_of_a_log() {
        let ids = EtcdIds { member: 0x8e9e_05c5_2164_694d, cluster: 0xcdf8_1819_4e3a_8c32 };
        assert_eq!(EtcdIds::of_log(&log(ids.member, ids.cluster)), Some(ids));
        assert_eq!(ids.to_string(), "etcd member 8e9e05c52164694d of cluster cdf818194e3a8c32");
    }

    #[test]
    fn what_is_no_log_has_no_ids() {
        let log = log(1, 2);
        for cut in 0..log.len() - 4 {
            let _ = EtcdIds::of_log(&log[..cut]);
        }
        assert_eq!(EtcdIds::of_log(b"data"), None);
        assert_eq!(EtcdIds::of_log(&[0xff; HEAD]), None);
        assert_eq!(EtcdIds::of_log(&[0; HEAD]), None);
    }

    #[test]
    fn data_is_described_by_what_is_known_of_it() {
        let ids = Some(EtcdIds { member: 0xa, cluster: 0xb });
        let data = EtcdData { ids, size_kib: 64 * 1024, written: Some(1_767_225_600) };
        assert_eq!(
            data.to_string(),
            "the data of etcd member a of cluster b (64 MiB, last written 2026-01-01T00:00:00Z)"
        );
        let unknown = EtcdData { size_kib: 12, ..EtcdData::default() };
        assert_eq!(unknown.to_string(), "data of an etcd whose ids cannot be read (12 KiB)");
        let hint = way_out("/var/lib/etcd");
        assert!(hint.find("mv ").unwrap() < hint.find("rm -rf").unwrap(), "{hint}");
    }
}
