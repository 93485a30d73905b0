//! Parallel actions of one kind: an action that has made its change waits for others that will soon read the
//! same objects, so that all of them share one call.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

/// The actions of a session that change something, by the type that they will read.
#[derive(Debug, Default)]
pub(crate) struct Table(Mutex<HashMap<String, Peers>>);

/// The actions that will read the same type.
#[derive(Clone, Debug)]
pub(crate) struct Peers {
    busy: Arc<watch::Sender<usize>>,
}

/// One busy action, until this value is dropped.
#[derive(Debug)]
pub(crate) struct Busy {
    peers: Peers,
}

/// One action that only waits, until this value is dropped.
#[derive(Debug)]
pub(crate) struct Rest<'a> {
    busy: &'a Busy,
}

impl Table {
    /// The actions on objects of a type.
    pub fn of(&self, kind: &str) -> Peers {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Peers { busy: Arc::new(watch::Sender::new(0)) };
        table.entry(looks_at(kind).to_owned()).or_insert_with(new).clone()
    }
}

/// The type whose objects are read for those of another type, because its answers contain them.
fn looks_at(kind: &str) -> &str {
    match kind {
        "aws_route" | "aws_route_table_association" => "aws_route_table",
        "aws_vpc_ipv4_cidr_block_association" | "aws_vpc_dhcp_options_association" => "aws_vpc",
        "aws_lb_listener" | "aws_lb_target_group" => "aws_lb",
        own => own,
    }
}

impl Peers {
    /// Adds a busy action.
    pub fn begin(self) -> Busy {
        self.busy.send_modify(|busy| *busy += 1);
        Busy { peers: self }
    }

    /// Waits until none of them is busy, for so long at the most.
    pub async fn at_rest(&self, most: Duration) {
        let mut busy = self.busy.subscribe();
        // The sender lives as long as this does; when the time is over nothing is lost but a shared look.
        let _ = tokio::time::timeout(most, busy.wait_for(|busy| *busy == 0)).await;
    }
}

impl Busy {
    /// The one with its peers.
    pub fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Marks the action as only waiting.
    pub fn rest(&self) -> Rest<'_> {
        self.peers.busy.send_modify(|busy| *busy -= 1);
        Rest { busy: self }
    }
}

impl Drop for Rest<'_> {
    fn drop(&mut self) {
        self.busy.peers.busy.send_modify(|busy| *busy += 1);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.peers.busy.send_modify(|busy| *busy -= 1);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const MOST: Duration = Duration::from_secs(2);

    #[tokio::test(start_paused = true)]
    async fn one_waits_for_those_that_look_at_the_same_things() {
        let table = Table::default();
        let one = table.of("aws_route").begin();
        let other = table.of("aws_route_table_association").begin();
        let stranger = table.of("aws_subnet").begin();
        let started = Instant::now();
        let done = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            drop(other);
        };
        let look = async {
            let _rest = one.rest();
            one.peers().at_rest(MOST).await;
        };
        tokio::join!(look, done);
        assert_eq!(started.elapsed(), Duration::from_millis(300));
        stranger.peers().at_rest(MOST).await;
        assert_eq!(
            started.elapsed(),
            Duration::from_millis(2_300),
            "who is busy itself does not wait for ever"
        );
    }
}
