use jiff::Timestamp;

use super::*;

const fn at(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// How long the kernel may keep an address after its lifetime was set: it looks at least once a second, and rounds the time up by
/// at most a quarter.
const KERNEL: Duration = at(1_270);

fn lease(holder: &str, version: u64) -> Lease {
    let mut lease = Lease::created(holder, Timestamp::UNIX_EPOCH);
    lease.set_version(&version.to_string());
    lease
}

#[test]
fn a_lease_is_taken_only_after_it_was_unchanged_for_its_duration() {
    let mut election = Election::new("b".to_owned());
    assert_eq!(election.look(None, at(0)), Move::Create);
    assert_eq!(election.look(Some(&lease("a", 1)), at(100)), Move::Wait(at(2_000)));
    assert_eq!(election.look(Some(&lease("a", 1)), at(1_100)), Move::Wait(at(1_000)));
    // It was renewed: the wait begins again.
    assert_eq!(election.look(Some(&lease("a", 2)), at(1_200)), Move::Wait(at(2_000)));
    assert_eq!(election.look(Some(&lease("a", 2)), at(3_199)), Move::Wait(at(1)));
    assert_eq!(election.look(Some(&lease("a", 2)), at(3_200)), Move::Take);
    // It was given back, or is this candidate's own.
    assert_eq!(election.look(Some(&lease("", 3)), at(3_300)), Move::Take);
    assert_eq!(election.look(Some(&lease("b", 4)), at(3_400)), Move::Take);
}

#[test]
fn a_holder_counts_from_the_time_at_which_it_sent_the_request() {
    let mut election = Election::new("a".to_owned());
    assert!(!election.is_holder());
    assert_eq!(election.left(at(0)), None);
    assert!(!election.may_extend(at(0)));
    election.wrote(at(1_000));
    assert!(election.is_holder());
    assert_eq!(election.left(at(1_300)), Some(at(900)));
    assert!(election.may_extend(at(1_500)));
    assert!(!election.may_extend(at(1_501)));
    assert_eq!(election.left(at(2_200)), None);
    // The machine was suspended.
    assert_eq!(election.left(at(9_000)), None);
    election.lost();
    assert!(!election.is_holder());
}

#[test]
fn the_times_leave_none_in_which_two_machines_answer() {
    assert!(ANSWER + KERNEL < LEASE);
    assert!(HOLD < LEASE);
    assert!(RENEW + ANSWER < HOLD);
    assert!(Duration::from_secs(u64::from(LIFETIME)) <= KERNEL);
}

/// A machine of the simulation.
struct Simulated {
    election: Election,
    held: Option<Lease>,
    /// Until when the kernel keeps the address.
    answers_until: Duration,
    next: Duration,
    /// The request on its way: when it was sent, arrives and is answered, and what it writes.
    request: Option<Request>,
    cut_off: bool,
    stuck: bool,
}

struct Request {
    sent: Duration,
    arrives: Duration,
    answered: Duration,
    write: Option<Lease>,
    /// What the server did, when it had arrived: the Lease that was read or written, or none after a conflict.
    done: Option<Option<Lease>>,
}

/// Numbers that look random, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

impl Simulated {
    fn new(name: &str) -> Self {
        Self {
            election: Election::new(name.to_owned()),
            held: None,
            answers_until: Duration::ZERO,
            next: Duration::ZERO,
            request: None,
            cut_off: false,
            stuck: false,
        }
    }

    fn send(&mut self, write: Option<Lease>, now: Duration, numbers: &mut Numbers) {
        let arrives = now + at(numbers.below(300));
        let answered = arrives + at(numbers.below(300));
        self.request = Some(Request { sent: now, arrives, answered, write, done: None });
    }

    /// The server's part: a write with an old version is a conflict.
    fn serve(&mut self, stored: &mut Option<Lease>, version: &mut u64, now: Duration) {
        let Some(request) = self.request.as_mut().filter(|request| request.done.is_none()) else { return };
        if self.cut_off || now < request.arrives {
            return;
        }
        let current = stored.as_ref().map(|lease| lease.version().to_owned()).unwrap_or_default();
        request.done = Some(match &request.write {
            None => stored.clone(),
            Some(wanted) if wanted.version() == current => {
                *version += 1;
                let mut written = wanted.clone();
                written.set_version(&version.to_string());
                *stored = Some(written.clone());
                Some(written)
            }
            Some(_) => None,
        });
    }

    /// The candidate's part, as the service does it.
    fn act(&mut self, now: Duration, numbers: &mut Numbers) {
        if self.stuck {
            return;
        }
        if self.election.is_holder() && self.election.left(now).is_none() {
            self.answers_until = now;
            self.election.lost();
            self.held = None;
        }
        if let Some(request) = self.request.take_if(|request| {
            (request.done.is_some() && now >= request.answered) || now >= request.sent + ANSWER
        }) {
            let in_time = request.done.filter(|_| now >= request.answered && !self.cut_off);
            match (in_time, request.write) {
                (Some(Some(written)), Some(_)) => {
                    self.election.wrote(request.sent);
                    self.held = Some(written);
                    if self.election.may_extend(now) {
                        self.answers_until = now + KERNEL;
                    }
                    self.next = now + RENEW;
                }
                (Some(None), Some(_)) => {
                    self.answers_until = self.answers_until.min(now);
                    self.election.lost();
                    self.held = None;
                }
                (Some(found), None) => {
                    let taken = match (self.election.look(found.as_ref(), now), found) {
                        (Move::Wait(_), _) => None,
                        (Move::Take, Some(lease)) => {
                            Some(lease.taken(self.election.identity(), Timestamp::UNIX_EPOCH))
                        }
                        _ => Some(Lease::created(self.election.identity(), Timestamp::UNIX_EPOCH)),
                    };
                    self.next = now + at(100);
                    if taken.is_some() {
                        return self.send(taken, now, numbers);
                    }
                }
                (None, _) => {}
            }
        }
        if self.request.is_none() && now >= self.next {
            let renewal = self.held.as_ref().map(|lease| lease.renewed(Timestamp::UNIX_EPOCH));
            self.send(renewal, now, numbers);
        }
    }
}

#[test]
fn never_do_two_machines_answer_whoever_is_cut_off_or_stuck() {
    for seed in 0..40 {
        let mut numbers = Numbers(seed);
        let mut machines = ["a", "b", "c"].map(Simulated::new);
        let (mut stored, mut version) = (None, 0);
        let mut answered = 0;
        for step in 0..6_000_u64 {
            let now = at(step * 10);
            if step.is_multiple_of(250) {
                for machine in &mut machines {
                    machine.cut_off = numbers.below(4) == 0;
                    machine.stuck = numbers.below(6) == 0;
                }
            }
            for machine in &mut machines {
                machine.serve(&mut stored, &mut version, now);
            }
            for machine in &mut machines {
                machine.act(now, &mut numbers);
            }
            let holders = machines.iter().filter(|machine| machine.answers_until > now).count();
            assert!(holders <= 1, "seed {seed}, {now:?}: {holders} machines answer");
            answered += holders;
        }
        assert!(answered > 1_000, "seed {seed}: the address answered in {answered} of 6000 steps");
    }
}
