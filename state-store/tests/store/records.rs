//! Objects beside the state: history, plans, approvals; garbage collection and repair.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use slipway_state_store::approvals::{self, Approval};
use slipway_state_store::clock::ManualClock;
use slipway_state_store::faults::{Failure, Fault, Faulty, Operation};
use slipway_state_store::plans::{self, About, StoredPlan};
use slipway_state_store::verify::{Mend, verify};
use slipway_state_store::{
    Backend, CommitMeta, Digest, Epoch, Generation, HeadStands, Holder, Key, MemoryBackend, Prefix,
    Retention, find_garbage, head_stands, history, read, read_head, restore_head,
};

use crate::support::{acquire, cluster, holder, meta, record, view};

fn memory() -> (Arc<MemoryBackend>, Arc<dyn Backend>) {
    let memory = Arc::new(MemoryBackend::new());
    (memory.clone(), memory)
}

fn day(number: i64) -> Timestamp {
    Timestamp::from_second(number * 24 * 60 * 60).unwrap()
}

/// Commits one generation for each day.
async fn commit_daily(backend: &Arc<dyn Backend>, days: i64) -> Holder {
    let (mut held, _) = holder(backend, acquire("ada")).await;
    for number in 1..=days {
        let meta =
            CommitMeta { when: day(number), plan_digest: Some(plan(number).to_string()), ..meta("apply") };
        held.commit(number.to_string().into_bytes(), meta).await.unwrap();
    }
    held
}

fn plan(number: i64) -> Digest {
    Digest::of(format!("plan {number}").as_bytes())
}

fn stored(generation: u64, plan: Digest, bytes: &'static [u8]) -> StoredPlan {
    let about = About {
        format: plans::FORMAT,
        cluster: cluster(),
        plan,
        generation: Generation(generation),
        who: "ada@laptop".into(),
        when: day(1),
        digest: Digest::of(bytes),
    };
    StoredPlan { about, bytes: Bytes::from_static(bytes) }
}

fn approval(plan: Digest, person: &str, generation: u64) -> Approval {
    Approval {
        format: approvals::FORMAT,
        cluster: cluster(),
        plan,
        generation: Generation(generation),
        person: person.into(),
        who: format!("{person}@laptop"),
        when: day(1),
        comment: None,
    }
}

#[tokio::test]
async fn no_generation_is_missing_from_the_history_whatever_fails() {
    for operation in [Operation::Create, Operation::Update] {
        for failure in [Failure::Transient, Failure::UnknownWithEffect, Failure::UnknownWithoutEffect] {
            let (_, memory) = memory();
            let faulty = Arc::new(Faulty::new(memory.clone()));
            let backend: Arc<dyn Backend> = faulty.clone();
            let mut expected = Vec::new();
            for round in 1..=4 {
                let (mut held, _) = holder(&backend, acquire(&format!("holder-{round}"))).await;
                faulty.fail(Fault::new(operation, "", failure).times(3));
                let who = format!("{round}@here");
                let meta = CommitMeta { who: who.clone(), ..meta("apply") };
                let generation = held.commit(record(round), meta).await.unwrap();
                expected.insert(0, (generation, who));
                held.release(None).await.unwrap();
            }
            let entries = history::list(&*memory, &cluster(), usize::MAX).await.unwrap();
            let told: Vec<(Generation, String)> =
                entries.iter().map(|entry| (entry.generation, entry.commit.who.clone())).collect();
            assert_eq!(told, expected, "{operation:?} {failure:?}");
            for entry in &entries {
                let bytes = history::snapshot(&*memory, entry).await.unwrap();
                assert_eq!(bytes, record(entry.generation.0), "{operation:?} {failure:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_life_and_the_next_are_one_history() {
    let (_, backend) = memory();
    commit_daily(&backend, 2).await.tombstone(CommitMeta { when: day(3), ..meta("delete") }).await.unwrap();
    let (mut held, _) = holder(&backend, acquire("bob")).await;
    held.commit(record(4), CommitMeta { when: day(4), ..meta("apply") }).await.unwrap();
    let entries = history::list(&*backend, &cluster(), usize::MAX).await.unwrap();
    let told: Vec<_> = entries.iter().map(|entry| (entry.generation.0, entry.deleted)).collect();
    assert_eq!(told, [(4, false), (3, true), (2, false), (1, false)]);
    assert_eq!(history::snapshot(&*backend, &entries[1]).await.unwrap_err().code(), "STATE0041");
    let missing = history::entry(&*backend, &cluster(), Some(Generation(9))).await.unwrap_err();
    assert_eq!(missing.code(), "STATE0040");
}

#[tokio::test]
async fn generations_without_a_record_are_named() {
    let (_, backend) = memory();
    let key = |generation: u64| Key::new(format!("{}/history/{generation:012}", cluster())).unwrap();
    let held = commit_daily(&backend, 6).await;
    held.collect_garbage(Retention::generations(1)).await.unwrap();
    held.release(None).await.unwrap();
    assert!(history::missing(&*backend, &cluster()).await.unwrap().is_empty());
    assert!(verify(&*backend, &cluster()).await.unwrap().is_sound(), "garbage is not missing");
    for (removed, expected) in [
        (vec![3], vec!["generation 3"]),
        (vec![1], vec!["generation 1", "generation 3"]),
        (vec![2, 4, 5], vec!["generations 1 to 5"]),
    ] {
        for generation in removed {
            backend.delete(&key(generation)).await.unwrap();
        }
        let missing = history::missing(&*backend, &cluster()).await.unwrap();
        assert_eq!(missing.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        let report = verify(&*backend, &cluster()).await.unwrap();
        let named: Vec<String> = report.findings.iter().map(|finding| finding.key.clone()).collect();
        let first: Vec<String> = missing.iter().map(|gap| key(gap.first.0).to_string()).collect();
        assert_eq!(named, first);
        assert!(report.findings.iter().all(|finding| finding.mend == Mend::Past) && !report.is_sound());
    }
}

#[tokio::test]
async fn a_state_from_an_archive_lacks_no_earlier_generation() {
    let (_, backend) = memory();
    let uid = "uid-1".parse().unwrap();
    let lost = meta(history::RESTORED);
    restore_head(&backend, &cluster(), uid, Generation(7), lost).await.unwrap();
    assert!(history::missing(&*backend, &cluster()).await.unwrap().is_empty());
    let (mut held, _) = holder(&backend, acquire("bob")).await;
    held.commit(record(8), meta("state import")).await.unwrap();
    held.release(None).await.unwrap();
    assert!(history::missing(&*backend, &cluster()).await.unwrap().is_empty());
    assert!(verify(&*backend, &cluster()).await.unwrap().is_sound());
}

#[tokio::test]
async fn a_retention_keeps_the_newest_and_the_young_and_what_they_need() {
    let (_, backend) = memory();
    let held = commit_daily(&backend, 10).await;
    for number in 1..=10 {
        // Each plan was made for the generation before the one that it made.
        plans::store(&backend, &stored(number - 1, plan(number as i64), b"plan")).await.unwrap();
        approvals::approve(&backend, approval(plan(number as i64), "eve", number - 1)).await.unwrap();
    }
    plans::store(&backend, &stored(10, plan(11), b"plan")).await.unwrap();
    let (head, _) = read_head(&*backend, &cluster()).await.unwrap().unwrap();
    let snapshots = async |retention, now| {
        let garbage = find_garbage(&*backend, &head, retention, now).await.unwrap();
        (garbage.snapshots.len(), garbage.plans.len(), garbage.approvals.len())
    };
    let days = |days: u64| Duration::from_secs(days * 24 * 60 * 60);
    // Generation 10 is there, 9 and 8 are kept: the plans that made 8 to 10, those for 8 to 10.
    assert_eq!(snapshots(Retention::generations(2), day(10)).await, (7, 7, 7));
    assert_eq!(snapshots(Retention::generations(0), day(10)).await, (9, 9, 9));
    // Generation 8 was replaced on day 9: younger than two days on day 10.
    assert_eq!(snapshots(Retention { generations: 0, age: days(2) }, day(10)).await, (7, 7, 7));
    assert_eq!(snapshots(Retention { generations: 0, age: days(2) }, day(100)).await, (9, 9, 9));
    assert_eq!(snapshots(Retention { generations: 3, age: days(2) }, day(100)).await, (6, 6, 6));
    let before = view(&backend).await;
    let garbage = held.collect_garbage(Retention::generations(2)).await.unwrap();
    assert_eq!(garbage.snapshots.len(), 7);
    assert_eq!(view(&backend).await, before);
    assert!(plans::read(&*backend, &cluster(), plan(11)).await.unwrap().is_some());
    assert!(verify(&*backend, &cluster()).await.unwrap().is_sound());
}

#[tokio::test]
async fn snapshots_of_commits_that_did_not_happen_are_strays() {
    let (_, backend) = memory();
    let mut held = commit_daily(&backend, 2).await;
    let of = |generation: u64| {
        let name = format!("{cluster}/snapshots/{generation:012}-{}", "0".repeat(64), cluster = cluster());
        Key::new(name).unwrap()
    };
    for generation in [1, 2, 3] {
        backend.create(&of(generation), Bytes::from_static(b"x")).await.unwrap();
    }
    let garbage = held.collect_garbage(Retention::generations(9)).await.unwrap();
    assert_eq!(garbage.strays.len(), 3, "{garbage:?}");
    assert_eq!(garbage.snapshots.len(), 0);
    held.commit(record(3), meta("apply")).await.unwrap();
}

#[tokio::test]
async fn a_plan_is_stored_once_and_an_approval_counts_once_for_a_person() {
    let (_, backend) = memory();
    commit_daily(&backend, 1).await.release(None).await.unwrap();
    assert!(plans::store(&backend, &stored(1, plan(1), b"one")).await.unwrap());
    assert!(!plans::store(&backend, &stored(1, plan(1), b"sealed otherwise")).await.unwrap());
    let read = plans::read(&*backend, &cluster(), plan(1)).await.unwrap().unwrap();
    assert_eq!(read.bytes, &b"one"[..]);
    let hex = plan(1).to_hex();
    assert_eq!(plans::find(&*backend, &cluster(), &hex[..8]).await.unwrap(), [plan(1)]);
    assert!(plans::find(&*backend, &cluster(), "zz").await.unwrap().is_empty());

    let many: Vec<_> = (0..8)
        .map(|number| {
            let (backend, person) = (backend.clone(), if number % 2 == 0 { "ada" } else { "bob" });
            tokio::spawn(async move { approvals::approve(&backend, approval(plan(1), person, 1)).await })
        })
        .collect();
    for one in many {
        one.await.unwrap().unwrap();
    }
    let given = approvals::of(&*backend, &cluster(), plan(1)).await.unwrap();
    let persons: Vec<&str> = given.iter().map(|approval| approval.person.as_str()).collect();
    assert_eq!(persons, ["ada", "bob"]);
    assert!(approvals::of(&*backend, &cluster(), plan(2)).await.unwrap().is_empty());

    let revoked = approvals::revoke(&*backend, &cluster(), plan(1), "ada").await.unwrap();
    assert_eq!(revoked.as_ref(), given.first());
    assert!(approvals::revoke(&*backend, &cluster(), plan(1), "ada").await.unwrap().is_none());
    let left = approvals::of(&*backend, &cluster(), plan(1)).await.unwrap();
    assert_eq!(left, given[1..], "the other person still approves");
    approvals::approve(&backend, approval(plan(1), "ada", 1)).await.unwrap();
    assert_eq!(
        approvals::of(&*backend, &cluster(), plan(1)).await.unwrap().len(),
        2,
        "she may approve again"
    );
}

#[tokio::test]
async fn a_lease_is_broken_for_the_holder_that_was_seen_and_for_no_other() {
    let (_, backend) = memory();
    let (mut first, _) = holder(&backend, acquire("ada")).await;
    let seen = first.head().holder.unwrap().id;
    let replace = |who: &str| acquire(who).replace(seen.clone());
    let clock = Arc::new(ManualClock::new());
    let second = Holder::acquire(backend.clone(), &cluster(), replace("bob"), clock.clone()).await.unwrap();
    assert_eq!(second.epoch(), Epoch(2));
    assert!(first.append(vec![record(1)]).await.unwrap_err().is_lost());
    assert!(first.commit(record(1), meta("apply")).await.unwrap_err().is_lost());
    // The cluster has another holder now than the one to replace.
    let third = Holder::acquire(backend.clone(), &cluster(), replace("eve"), clock).await;
    assert_eq!(third.unwrap_err().code(), "STATE0011");
    second.release(None).await.unwrap();
}

#[tokio::test]
async fn a_head_is_made_anew_behind_every_number_that_was_used() {
    let (memory, backend) = memory();
    let held = commit_daily(&backend, 3).await;
    held.append(vec![record(1)]).await.unwrap();
    let head = Key::new(format!("{}/head", cluster())).unwrap();
    assert_eq!(head_stands(&*backend, &cluster()).await.unwrap(), HeadStands::Whole);
    let uid = || "uid-1".parse().unwrap();
    let whole = restore_head(&backend, &cluster(), uid(), Generation(0), meta("restore")).await;
    assert_eq!(whole.unwrap_err().code(), "STATE0001");
    backend.delete(&head).await.unwrap();
    assert_eq!(head_stands(&*backend, &cluster()).await.unwrap(), HeadStands::Lost);
    let made = restore_head(&backend, &cluster(), uid(), Generation(0), meta("restore")).await.unwrap();
    assert_eq!((made.generation, made.epoch), (Generation(3), Epoch(1)));
    // A journal with a damaged last segment is sealed nevertheless: its holder can append nothing any more.
    let segments: Vec<Key> =
        memory.dump().into_keys().filter(|key| key.as_str().contains("/journal/")).collect();
    let last = segments.last().unwrap();
    let (bytes, tag) = backend.get(last).await.unwrap().unwrap();
    backend.update(last, bytes.slice(..bytes.len() / 2), &tag).await.unwrap();
    let clock = Arc::new(ManualClock::new());
    let usual = Holder::acquire(backend.clone(), &cluster(), acquire("bob"), clock.clone()).await;
    assert_eq!(usual.unwrap_err().code(), "STATE0007");
    let over = acquire("bob").over_damage();
    let mut taken = Holder::acquire(backend.clone(), &cluster(), over, clock).await.unwrap();
    assert!(held.append(vec![record(2)]).await.unwrap_err().is_lost());
    assert_eq!(taken.commit(record(4), meta("rebuild")).await.unwrap(), Generation(4));
    let entries = history::list(&*backend, &cluster(), usize::MAX).await.unwrap();
    let told: Vec<u64> = entries.iter().map(|entry| entry.generation.0).collect();
    assert_eq!(told, [4, 3, 2, 1]);
    assert_eq!(history::snapshot(&*backend, &entries[1]).await.unwrap(), &b"3"[..], "kept for who needs it");
    let report = verify(&*backend, &cluster()).await.unwrap();
    assert!(report.findings.iter().all(|finding| finding.mend == Mend::Past), "{report:?}");
}

#[tokio::test]
async fn an_old_head_is_refused_and_made_anew() {
    let (_, backend) = memory();
    commit_daily(&backend, 2).await.release(None).await.unwrap();
    let key = Key::new(format!("{}/head", cluster())).unwrap();
    let (old, _) = backend.get(&key).await.unwrap().unwrap();
    let (mut later, _) = holder(&backend, acquire("bob")).await;
    later.commit(record(3), meta("apply")).await.unwrap();
    later.release(None).await.unwrap();
    // Everything but the seals is removed, as by garbage collection.
    for key in backend.list(&Prefix::new(&format!("{}/history", cluster())).unwrap()).await.unwrap() {
        backend.delete(&key).await.unwrap();
    }
    let (_, tag) = backend.get(&key).await.unwrap().unwrap();
    backend.update(&key, old, &tag).await.unwrap();

    let refused = read(&*backend, &cluster()).await.unwrap_err();
    assert_eq!(refused.code(), "STATE0070", "{refused}");
    let clock = Arc::new(ManualClock::new());
    let refused = Holder::acquire(backend.clone(), &cluster(), acquire("eve"), clock).await.unwrap_err();
    assert_eq!(refused.code(), "STATE0070", "{refused}");
    let report = verify(&*backend, &cluster()).await.unwrap();
    let finding = report.findings.iter().find(|finding| finding.key == key.to_string()).unwrap();
    assert_eq!(finding.mend, Mend::Rebuild, "{report:?}");

    assert_eq!(head_stands(&*backend, &cluster()).await.unwrap(), HeadStands::Old);
    let uid = "uid-1".parse().unwrap();
    let made = restore_head(&backend, &cluster(), uid, Generation(0), meta("restore")).await.unwrap();
    assert_eq!((made.generation, made.epoch), (Generation(3), Epoch(2)));
    let (mut rebuilt, _) = holder(&backend, acquire("eve")).await;
    assert_eq!(rebuilt.commit(record(4), meta("rebuild")).await.unwrap(), Generation(4));
    rebuilt.release(None).await.unwrap();
    read(&*backend, &cluster()).await.unwrap();
}
