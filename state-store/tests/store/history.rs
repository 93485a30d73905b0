//! Whatever happens to holders, a read returns the acknowledged records, in order.

use std::sync::Arc;

use proptest::prelude::*;
use slipway_state_store::clock::ManualClock;
use slipway_state_store::faults::{Failure, Fault, Faulty, Operation};
use slipway_state_store::{Backend, Error, Holder, MemoryBackend, Retention, View, read};

use crate::support::{acquire, holder, meta, numbers, record, take_over, view};

/// One event.
#[derive(Clone, Debug)]
enum Happening {
    /// A holder, alive or not, appends so many records, all at once or one after the other.
    Append { holder: prop::sample::Index, records: u64, at_once: bool },
    /// A holder commits all that it knows of.
    Commit { holder: prop::sample::Index },
    /// Another holder takes over.
    TakeOver,
    /// The newest holder releases the cluster, and another acquires it.
    Release,
    /// A later write fails, or its answer is lost.
    Fault { operation: Operation, failure: Failure },
}

fn happening() -> impl Strategy<Value = Happening> {
    let index = any::<prop::sample::Index>;
    let operation = prop_oneof![Just(Operation::Create), Just(Operation::Update)];
    let failure = prop_oneof![
        Just(Failure::Transient),
        Just(Failure::UnknownWithEffect),
        Just(Failure::UnknownWithoutEffect),
    ];
    prop_oneof![
        6 => (index(), 1..6_u64, any::<bool>())
            .prop_map(|(holder, records, at_once)| Happening::Append { holder, records, at_once }),
        2 => index().prop_map(|holder| Happening::Commit { holder }),
        2 => Just(Happening::TakeOver),
        1 => Just(Happening::Release),
        3 => (operation, failure).prop_map(|(operation, failure)| Happening::Fault { operation, failure }),
    ]
}

/// The store, its present and earlier holders, and the records that must be read.
struct World {
    faulty: Arc<Faulty>,
    backend: Arc<dyn Backend>,
    memory: Arc<dyn Backend>,
    holders: Vec<(Holder, Arc<ManualClock>)>,
    committed: Vec<u64>,
    appended: Vec<u64>,
    next: u64,
}

impl World {
    async fn new() -> Self {
        let memory: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
        let faulty = Arc::new(Faulty::new(memory.clone()));
        let backend: Arc<dyn Backend> = faulty.clone();
        let holders = vec![holder(&backend, acquire("first")).await];
        Self { faulty, backend, memory, holders, committed: vec![], appended: vec![], next: 0 }
    }

    async fn happen(&mut self, happening: Happening) {
        let newest = self.holders.len() - 1;
        match happening {
            Happening::Append { holder, records, at_once } => {
                let holder = holder.index(self.holders.len());
                let numbers: Vec<u64> = (self.next..self.next + records).collect();
                self.next += records;
                let journal = self.holders[holder].0.journal();
                let append = |number: &u64| journal.append(vec![record(*number)]);
                let results = if at_once {
                    futures_util::future::join_all(numbers.iter().map(append)).await
                } else {
                    vec![journal.append(numbers.iter().map(|number| record(*number)).collect()).await]
                };
                for result in results {
                    assert_eq!(result.is_ok(), holder == newest, "{result:?}");
                    assert!(result.is_ok() || result.unwrap_err().is_lost());
                }
                if holder == newest {
                    self.appended.extend(numbers);
                }
            }
            Happening::Commit { holder } => {
                let holder = holder.index(self.holders.len());
                let state: Vec<u64> = self.committed.iter().chain(&self.appended).copied().collect();
                let snapshot = serde_json::to_vec(&state).unwrap();
                let result = self.holders[holder].0.commit(snapshot, meta("apply")).await;
                if holder == newest {
                    result.unwrap();
                    self.committed.append(&mut self.appended);
                } else {
                    assert!(result.unwrap_err().is_lost());
                }
            }
            Happening::TakeOver => {
                self.holders.push(take_over(&self.backend, "another").await.unwrap());
            }
            Happening::Release => {
                let (newest, _) = self.holders.pop().unwrap();
                newest.release(None).await.unwrap();
                self.holders.push(holder(&self.backend, acquire("next")).await);
            }
            Happening::Fault { operation, failure } => {
                self.faulty.fail(Fault::new(operation, "", failure));
            }
        }
    }

    async fn check(&self) -> Result<(), Error> {
        let seen = read(&*self.memory, &crate::support::cluster()).await?.unwrap();
        let snapshot = seen.snapshot.as_deref().unwrap_or(b"[]");
        assert_eq!(serde_json::from_slice::<Vec<u64>>(snapshot).unwrap(), self.committed);
        assert_eq!(numbers(&seen), self.appended);
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_read_is_what_was_acknowledged(happenings in prop::collection::vec(happening(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new().await;
            for happening in happenings {
                world.happen(happening).await;
                world.check().await.unwrap();
            }
        });
    }
}

/// The number of records in a view's snapshot.
fn included(view: &View) -> u64 {
    view.snapshot.as_deref().map_or(0, |bytes| std::str::from_utf8(bytes).unwrap().parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_see_a_consistent_prefix_while_others_write() {
    let backend: Arc<dyn Backend> = Arc::new(MemoryBackend::new());
    let (first, _) = holder(&backend, acquire("first")).await;
    let writing = tokio::spawn({
        let backend = backend.clone();
        async move {
            let (mut held, mut next) = (first, 0);
            for round in 0..200_u64 {
                for _ in 0..3 {
                    held.append(vec![record(next)]).await.unwrap();
                    next += 1;
                }
                if round % 3 == 0 {
                    held.commit(record(next), meta("apply")).await.unwrap();
                    // Objects that are not needed any more may be removed during a read.
                    held.collect_garbage(Retention::generations(0)).await.unwrap();
                }
                if round % 5 == 0 {
                    held.release(None).await.unwrap();
                    held = holder(&backend, acquire("next")).await.0;
                }
            }
        }
    });
    let mut last = 0;
    while !writing.is_finished() {
        let seen = view(&backend).await;
        let included = included(&seen);
        let end = included + seen.records.len() as u64;
        assert_eq!(numbers(&seen), (included..end).collect::<Vec<_>>());
        assert!(end >= last, "what was read once is always read");
        last = end;
        tokio::task::yield_now().await;
    }
    writing.await.unwrap();
    // Exactly 600 records were written in the end, and the last read includes them.
    let seen = view(&backend).await;
    assert_eq!(included(&seen) + seen.records.len() as u64, 600);
    assert!(last <= 600, "{last}");
}
