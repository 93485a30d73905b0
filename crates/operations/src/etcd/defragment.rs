//! Defragmentation of a cluster's etcd, one member after the other.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value as Json;
use slipway_resource::Value;

use super::{number_of, run, those_with};
use crate::error::Error;
use crate::opened::Opened;

/// The operation of members that releases the free space in their databases.
const DEFRAGMENT: &str = "defragment";

/// How long one member may take.
const TIME: Duration = Duration::from_secs(1_200);

/// A member whose database was defragmented.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Defragmented {
    /// The machine.
    pub machine: String,
    /// The size of the database before, in bytes.
    pub before: Option<i64>,
    /// Its size now, in bytes.
    pub after: Option<i64>,
    /// Whether an alarm was cleared: the database had reached its quota.
    pub cleared: bool,
}

/// Has the members of etcd release the free space in their databases, one after the other. A member answers no requests meanwhile. A
/// member that leads hands over before. Where etcd has no space, old revisions are removed before, and the alarms are cleared.
///
/// # Errors
/// [`Error::NoMembers`] for a cluster without members that can be asked, or the failure of a member: those after it were not asked.
pub async fn defragment(opened: &Opened) -> Result<Vec<Defragmented>, Error> {
    let members = those_with(opened, &[DEFRAGMENT])?;
    if members.is_empty() {
        return Err(Error::NoMembers { cluster: opened.spec.cluster.name.to_string() });
    }
    let mut done = Vec::new();
    for member in &members {
        let answer = run(opened, member, (DEFRAGMENT, Value::Null), TIME).await.map_err(Error::Provider)?;
        done.push(described(&member.machine, &answer.to_json()));
    }
    Ok(done)
}

fn described(machine: &str, answer: &Json) -> Defragmented {
    Defragmented {
        machine: machine.to_owned(),
        before: number_of(answer, "before"),
        after: number_of(answer, "after"),
        cleared: answer.get("cleared").and_then(Json::as_bool).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_answer_of_a_member_is_read() {
        let found = described("cp-0", &json!({ "before": 4096, "after": 1024, "cleared": true }));
        assert_eq!((found.machine.as_str(), found.before, found.after), ("cp-0", Some(4096), Some(1024)));
        assert!(found.cleared && !described("cp-0", &Json::Null).cleared);
    }
}
