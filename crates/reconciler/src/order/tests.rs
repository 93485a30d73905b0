use std::time::Duration;

use super::*;
use crate::board::Pause;
use crate::status::Reason;

/// A fleet whose clusters were in line with digest `1` and have digest `2` in the present revision.
struct Fleet {
    members: BTreeMap<String, Member>,
    statuses: BTreeMap<String, Status>,
    source: Ordered,
    board: Board,
    now: Timestamp,
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

impl Fleet {
    fn new(clusters: &[(&str, i32, &[&str])]) -> Self {
        let first = clusters.iter().map(|(_, wave, _)| *wave).min().unwrap_or_default();
        let source = Ordered { waves: Waves::default(), first, unread: BTreeSet::new() };
        let mut fleet = Self {
            members: BTreeMap::new(),
            statuses: BTreeMap::new(),
            source,
            board: Board::default(),
            now: at(1_000),
        };
        for (name, wave, after) in clusters {
            let spec = Spec {
                path: format!("clusters/{name}"),
                digest: "2".to_owned(),
                revision: "0123456789abcdef".to_owned(),
            };
            let after = after.iter().map(|entry| (*entry).to_owned()).collect();
            let member =
                Member { source: "fleet".to_owned(), wave: *wave, after, spec: Some(spec), blocked: None };
            fleet.members.insert((*name).to_owned(), member);
            fleet.report(name, "1", Reason::InSync, "", 0);
        }
        fleet
    }

    fn report(&mut self, name: &str, digest: &str, reason: Reason, message: &str, second: i64) {
        let mut status = Status {
            cluster: name.to_owned(),
            controller: "default".to_owned(),
            source: self.members[name].source.clone(),
            path: format!("clusters/{name}"),
            spec_digest: digest.to_owned(),
            checked: Some(at(100_000)),
            ..Status::default()
        };
        status.tell(reason, message, at(second));
        self.statuses.insert(name.to_owned(), status);
    }

    fn done(&mut self, name: &str) {
        self.report(name, "2", Reason::InSync, "", 900);
    }

    fn is_done(&self, name: &str) -> bool {
        self.statuses[name].spec_digest == "2" && self.statuses[name].is(Reason::InSync)
    }

    fn order(&self) -> Order {
        let sources = BTreeMap::from([("fleet".to_owned(), self.source.clone())]);
        Order::new("default", sources, self.members.clone())
    }

    fn wait(&self, name: &str) -> Option<Wait> {
        let statuses = self.statuses.iter().map(|(name, status)| (name.as_str(), status)).collect();
        self.order().waits(name, &View { statuses, board: &self.board, now: self.now })
    }

    /// The message of a cluster that waits; empty for one that may be applied.
    fn message(&self, name: &str) -> String {
        self.wait(name).map(|wait| wait.to_string()).unwrap_or_default()
    }

    fn open(&self) -> Vec<String> {
        self.members.keys().filter(|name| !self.is_done(name)).cloned().collect()
    }
}

#[test]
fn a_wave_begins_when_the_lower_ones_are_in_line() {
    let mut fleet = Fleet::new(&[("canary", 0, &[]), ("eu", 1, &[]), ("us", 1, &[]), ("world", 2, &[])]);
    assert_eq!(fleet.message("canary"), "");
    assert_eq!(fleet.message("eu"), "canary: it was not planned with revision 0123456789ab yet");
    assert_eq!(fleet.message("world"), fleet.message("eu"), "the lowest wave is named");
    fleet.done("canary");
    assert_eq!((fleet.message("eu"), fleet.message("us")), (String::new(), String::new()));
    fleet.done("eu");
    assert!(fleet.message("world").starts_with("us: "));
    fleet.done("us");
    assert_eq!(fleet.message("world"), "");
}

#[test]
fn a_cluster_that_the_revision_does_not_change_is_in_line() {
    let mut fleet = Fleet::new(&[("canary", 0, &[]), ("eu", 1, &[])]);
    fleet.members.get_mut("canary").unwrap().spec.as_mut().unwrap().digest = "1".to_owned();
    assert_eq!(fleet.message("eu"), "");
    fleet.report("canary", "1", Reason::Drifted, "1 resources were changed", 5);
    assert_eq!(fleet.message("eu"), "canary: Drifted: 1 resources were changed");
}

#[test]
fn the_message_names_the_cluster_and_the_reason() {
    let mut fleet = Fleet::new(&[("canary", 0, &[]), ("canary-2", 0, &[]), ("eu", 1, &[])]);
    for (reason, message, said) in [
        (Reason::Failed, "the run is not complete\nmore", "the last attempt failed: the run is not complete"),
        (Reason::ApprovalNeeded, "0 of 2 approvals", "ApprovalNeeded: 0 of 2 approvals"),
        (Reason::PlanOnly, "1 to create", "PlanOnly: 1 to create"),
        (Reason::Applying, "the plan is being applied", "Applying: the plan is being applied"),
        (Reason::SpecInvalid, "no such field", "SpecInvalid: no such field"),
    ] {
        fleet.report("canary", "2", reason, message, 900);
        assert_eq!(fleet.message("eu"), format!("canary: {said}"));
    }
    fleet.report("canary", "2", Reason::Applying, "", 900);
    fleet.report("canary-2", "2", Reason::Failed, &"x".repeat(5_000), 900);
    let message = fleet.message("eu");
    assert!(message.starts_with("canary-2: ") && message.len() < 300, "a failure comes first: {message}");
}

#[test]
fn a_paused_cluster_and_one_of_another_controller_hold_the_others() {
    let mut fleet = Fleet::new(&[("canary", 0, &[]), ("eu", 1, &[])]);
    fleet.done("canary");
    let pause = Pause { who: "ada@laptop".into(), since: at(0), until: None, reason: "incident 7".into() };
    fleet.board.pauses.insert("canary".to_owned(), pause);
    assert_eq!(fleet.message("eu"), "canary: paused by ada@laptop: incident 7");
    fleet.board = Board::default();
    assert_eq!(fleet.message("eu"), "");
    fleet.statuses.get_mut("canary").unwrap().controller = "other".to_owned();
    assert_eq!(fleet.message("eu"), "canary: the controller other works on it");
    fleet.statuses.remove("canary");
    assert!(fleet.message("eu").starts_with("canary: it was not planned"));
}

#[test]
fn specs_that_cannot_be_read_hold_what_comes_after_them() {
    let mut fleet = Fleet::new(&[("canary", 0, &[]), ("eu", 1, &[])]);
    fleet.done("canary");
    fleet.source.unread.insert("clusters/new".to_owned());
    assert_eq!(fleet.message("canary"), "", "nothing is before the first wave");
    assert!(fleet.message("eu").starts_with("clusters/new: its specs cannot be read"));
    fleet.source.unread.clear();
    fleet.members.get_mut("canary").unwrap().blocked = Some("SpecInvalid: no such field".to_owned());
    assert_eq!(fleet.message("eu"), "canary: SpecInvalid: no such field");
}

#[test]
fn after_names_clusters_of_any_wave_and_source() {
    let mut fleet = Fleet::new(&[("a", 0, &["b"]), ("b", 0, &["base-*"]), ("base-1", 0, &[])]);
    fleet.members.get_mut("base-1").unwrap().source = "platform".to_owned();
    fleet.report("base-1", "1", Reason::InSync, "", 0);
    assert!(fleet.message("a").starts_with("b: ") && fleet.message("b").starts_with("base-1: "));
    assert_eq!(fleet.message("base-1"), "");
    fleet.done("base-1");
    assert_eq!(fleet.message("b"), "");
    fleet.done("b");
    assert_eq!(fleet.message("a"), "");
    fleet.members.get_mut("a").unwrap().after = vec!["c".to_owned()];
    assert!(fleet.message("a").starts_with("c: `after` names it"), "{}", fleet.message("a"));
}

#[test]
fn clusters_that_wait_for_each_other_say_so() {
    let fleet = Fleet::new(&[("a", 0, &["b"]), ("b", 1, &[]), ("c", 0, &[]), ("self", 0, &["s*"])]);
    assert!(fleet.message("a").contains("wait for each other"), "{}", fleet.message("a"));
    assert!(fleet.message("b").contains("wait for each other") || fleet.message("b").contains("itself"));
    assert!(fleet.message("self").starts_with("self: `after` names the cluster itself"));
    assert_eq!(fleet.message("c"), "", "it waits for no cluster");
}

#[test]
fn a_wave_soaks_before_the_next_one() {
    let mut fleet = Fleet::new(&[("canary", 0, &[]), ("canary-2", 0, &[]), ("eu", 1, &[])]);
    fleet.source.waves.soak = Duration::from_secs(600);
    fleet.done("canary");
    fleet.report("canary-2", "2", Reason::InSync, "", 950);
    let wait = fleet.wait("eu").unwrap();
    assert_eq!((wait.subject.as_str(), wait.until), ("canary-2", Some(at(1_550))));
    fleet.now = at(1_550);
    assert_eq!(fleet.wait("eu"), None);
    // A failure begins it anew.
    fleet.report("canary", "2", Reason::InSync, "", 1_540);
    assert_eq!(fleet.wait("eu").and_then(|wait| wait.until), Some(at(2_140)));
}

#[test]
fn a_cluster_is_looked_at_once_more_before_others_rely_on_it() {
    let mut fleet = Fleet::new(&[("canary", 0, &[]), ("eu", 1, &[]), ("world", 1, &["eu"])]);
    fleet.done("canary");
    let said = "canary: it is planned once more before others rely on it";
    let looked = |fleet: &mut Fleet, second| {
        fleet.statuses.get_mut("canary").unwrap().checked = Some(at(second));
        fleet.message("eu")
    };
    assert_eq!(looked(&mut fleet, 899), said);
    assert_eq!(looked(&mut fleet, 900), "");
    fleet.source.waves.soak = Duration::from_secs(600);
    fleet.now = at(1_600);
    assert_eq!(looked(&mut fleet, 1_400), said);
    let statuses = fleet.statuses.iter().map(|(name, status)| (name.as_str(), status)).collect();
    let (order, view) = (fleet.order(), View { statuses, board: &fleet.board, now: fleet.now });
    assert_eq!(order.to_look_at("eu", &view), ["canary"]);
    assert_eq!(order.to_look_at("world", &view), Vec::<String>::new(), "it waits for eu anyway");
    let open = order.open("eu", &view);
    assert!(open.contains(&"canary".to_owned()) && order.is_ready("canary", &view));
    assert_eq!(looked(&mut fleet, 1_500), "");
}

#[test]
fn a_wave_is_applied_in_parts() {
    let mut fleet =
        Fleet::new(&[("a", 0, &[]), ("b", 0, &[]), ("c", 0, &[]), ("d", 0, &["e"]), ("e", 0, &[])]);
    fleet.source.waves.max_at_once = Some(2);
    let free = |fleet: &Fleet| {
        let free = fleet.open().into_iter().filter(|name| fleet.wait(name).is_none());
        free.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(free(&fleet), "a b");
    fleet.report("a", "2", Reason::Failed, "no", 900);
    fleet.report("b", "2", Reason::Applying, "", 900);
    assert_eq!(free(&fleet), "a b", "a failure keeps its place");
    assert!(fleet.message("c").ends_with("; at most 2 at once"));
    fleet.done("a");
    assert_eq!(free(&fleet), "b c");
    for name in ["b", "c"] {
        fleet.done(name);
    }
    assert_eq!(free(&fleet), "e", "what the next one waits for comes first");
    // A run that began with an earlier revision counts too.
    fleet.done("e");
    fleet.source.waves.max_at_once = Some(1);
    fleet.report("a", "1", Reason::Applying, "", 900);
    assert!(fleet.message("d").starts_with("a: "));
}

/// A small generator of numbers; the same seed gives the same ones.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

/// A fleet of up to nine clusters in up to three waves, with some names after others.
fn any_fleet(numbers: &mut Numbers) -> Fleet {
    let count = numbers.below(9) + 1;
    let mut fleet = Fleet::new(&[]);
    let names: Vec<String> = (0..count).map(|number| format!("c{number}")).collect();
    for name in &names {
        let wave = i32::try_from(numbers.below(3)).unwrap();
        let mut one = Fleet::new(&[(name.as_str(), wave, &[])]);
        if numbers.below(3) == 0 {
            one.members.get_mut(name).unwrap().after.push(names[numbers.below(count)].clone());
        }
        fleet.members.append(&mut one.members);
        fleet.statuses.append(&mut one.statuses);
    }
    fleet.source.first = fleet.members.values().map(|member| member.wave).min().unwrap();
    fleet.source.waves.max_at_once = u16::try_from(numbers.below(4)).ok().filter(|limit| *limit > 0);
    fleet
}

#[test]
fn every_rollout_ends_or_says_why_and_keeps_its_order_and_limit() {
    let mut numbers = Numbers(42);
    let (mut ended, mut stuck) = (0, 0);
    for _ in 0..150 {
        let mut fleet = any_fleet(&mut numbers);
        let has_circle = fleet.order().ranks.len() < fleet.members.len();
        loop {
            let open = fleet.open();
            let free: Vec<&String> = open.iter().filter(|name| fleet.wait(name).is_none()).collect();
            if free.is_empty() {
                assert_eq!(open.is_empty(), !has_circle, "{:?}", fleet.members);
                break;
            }
            let limit = fleet.source.waves.max_at_once.map_or(usize::MAX, usize::from);
            assert!(free.len() <= limit, "{free:?} of {:?}", fleet.members);
            for name in &free {
                let member = &fleet.members[*name];
                let mut before = fleet.members.iter().filter(|(other, of)| precedes(other, of, member));
                assert!(before.all(|(other, _)| fleet.is_done(other)), "{name} of {:?}", fleet.members);
            }
            let name = free[numbers.below(free.len())].clone();
            match numbers.below(3) {
                0 => fleet.report(&name, "2", Reason::Applying, "", 900),
                1 => fleet.report(&name, "2", Reason::Failed, "no", 900),
                _ => fleet.done(&name),
            }
        }
        if has_circle { stuck += 1 } else { ended += 1 }
    }
    assert!(ended > 20 && stuck > 20, "{ended} ended, {stuck} had a circle");
}
