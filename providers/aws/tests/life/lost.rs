//! The answer to a call is lost, before the call arrives or after AWS has carried it out. The same run
//! completes the action, or the next one after a run that reports a failure. No object exists twice, and none
//! is left.
//!
//! In one life, the first call of each name is lost; in others, one call that ends machines. With
//! `SLIPWAY_LOST=all`, each single call of every part is lost in its own life.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::disturbance::{Call, Once, Rules, Which};
use crate::faults::difference;
use crate::several::each_from;
use crate::world::{APPLY, DELETE, HIGHLY_AVAILABLE, PLAN, World};

/// How often a user runs a command again that has failed.
const RUNS: usize = 3;
/// How many seconds reads lag behind while a cluster is deleted of which an instance has just left its group.
const LAG: u32 = 3;
/// Calls that end machines, or take them out of their groups.
const ENDING: &[&str] = &[
    "DeleteAutoScalingGroup",
    "DetachInstances",
    "TerminateInstanceInAutoScalingGroup",
    "TerminateInstances",
];

/// Calls that make objects that have neither a token nor a name that follows from the spec, in alphabetical order.
const NAMELESS: &[&str] = &["AllocateAddress", "CreateDhcpOptions", "CreateInternetGateway", "CreateVpc"];
/// The objects that these calls make.
const TARGETS: &[&str] = &[
    "--target",
    "aws_eip.*",
    "--target",
    "aws_internet_gateway.*",
    "--target",
    "aws_vpc.*",
    "--target",
    "aws_vpc_dhcp_options.*",
];
/// How many seconds reads lag behind while these objects are searched for.
const LATE: u32 = 15;

/// The part of a life in which an answer is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Create,
    Roll,
    Delete,
    /// A deletion after a roll that has stopped: an instance has left its group, and runs.
    DeleteHalfRolled,
}

/// The lost calls.
#[derive(Clone, Debug)]
enum Case {
    /// The first call of each name.
    FirstOfEach(Once),
    /// The call of a name before which there are so many.
    One(Once, String, usize),
}

pub fn before_and_after_each_call() -> Result<()> {
    let all = std::env::var("SLIPWAY_LOST").is_ok_and(|value| value == "all");
    for part in [Part::Create, Part::Roll, Part::Delete, Part::DeleteHalfRolled] {
        part.survives(all).with_context(|| format!("{part:?}"))?;
    }
    Ok(())
}

/// An object that only its tags identify is found after its call was lost, although reads show it late: it is not made twice.
pub fn an_object_without_a_name_is_found_late() -> Result<()> {
    let world = World::new()?;
    world.spec(HIGHLY_AVAILABLE)?;
    world.cloud.lag(LATE)?;
    let lost = Some((Once::LostAfter, Which::Named(NAMELESS)));
    world.disturbance.set(Rules { once: lost, ..Rules::default() });
    world.expect(0, &[APPLY, TARGETS].concat())?;
    let hit = world.disturbance.hit();
    ensure!(hit.iter().map(String::as_str).eq(NAMELESS.iter().copied()), "only {hit:?} were lost");
    world.disturbance.set(Rules::default());
    std::thread::sleep(Duration::from_secs(LATE.into()));
    world.cloud.lag(0)?;
    // This fails where an object exists twice.
    world.shape()?;
    world.expect(0, &[PLAN, TARGETS].concat())?;
    world.delete()?;
    world.is_empty()
}

impl Part {
    fn begin(self, world: &World) -> Result<()> {
        world.public(&[])?;
        if self != Self::Create {
            world.apply()?;
        }
        match self {
            Self::Roll => world.public(&[("image: ami-1e749f67", "image: ami-760aaa0f")]),
            Self::DeleteHalfRolled => {
                let workers = ("t3.medium\n  image: ami-1e749f67", "t3.medium\n  image: ami-760aaa0f");
                world.public(&[workers])?;
                world.disturbance.forbid(&["TerminateInstances"]);
                world.expect(1, APPLY)?;
                world.disturbance.forbid(&[]);
                Ok(())
            }
            Self::Create | Self::Delete => Ok(()),
        }
    }

    fn command(self) -> &'static [&'static str] {
        match self {
            Self::Create | Self::Roll => APPLY,
            Self::Delete | Self::DeleteHalfRolled => DELETE,
        }
    }

    fn survives(self, all: bool) -> Result<()> {
        let world = World::new()?;
        self.begin(&world)?;
        world.disturbance.take();
        world.expect(0, self.command())?;
        let (_, calls) = world.calls();
        if self == Self::DeleteHalfRolled {
            let terminates = |(_, call): &(usize, Call)| call.action == "TerminateInstances";
            ensure!(calls.iter().any(terminates), "no instance had left its group: {calls:?}");
        }
        let wanted = world.shape()?;
        let cases = cases(&calls, all);
        eprintln!("{self:?}: {} lives", cases.len());
        each_from(
            |world| self.begin(world),
            &cases,
            |world, case| {
                let survived = self.one(world, case, &wanted);
                survived.with_context(|| format!("{case:?}; moto: {}", world.cloud.moto().log()))
            },
        )
    }

    fn one(self, world: &World, case: &Case, wanted: &[String]) -> Result<()> {
        let lag = if self == Self::DeleteHalfRolled { LAG } else { 0 };
        world.cloud.lag(lag)?;
        world.disturbance.set(case.rules());
        let mut said = String::new();
        let mut codes = Vec::new();
        while codes.last() != Some(&Some(0)) && codes.len() < RUNS {
            let ended = world.place().run(self.command())?;
            codes.push(ended.code);
            said.push_str(&ended.err);
        }
        let hit = world.disturbance.hit();
        world.disturbance.set(Rules::default());
        eprintln!("{self:?} {case:?}: runs ended with {codes:?}, {} calls were lost", hit.len());
        std::thread::sleep(Duration::from_secs(lag.into()));
        world.cloud.lag(0)?;
        ensure!(codes.last() == Some(&Some(0)), "no run comes to an end:\n{said}");
        let found = world.shape()?;
        ensure!(found == wanted, "{}", difference(&found, wanted));
        if self.command() == APPLY { world.is_settled() } else { world.is_empty() }
    }
}

impl Case {
    fn rules(&self) -> Rules {
        match self {
            Self::FirstOfEach(once) => Rules { once: Some((*once, Which::Changing)), ..Rules::default() },
            Self::One(once, action, before) => {
                Rules { one: Some((*once, action.clone(), *before)), ..Rules::default() }
            }
        }
    }
}

fn cases(calls: &[(usize, Call)], all: bool) -> Vec<Case> {
    let both = [Once::LostBefore, Once::LostAfter];
    let wanted =
        |call: &&(usize, Call)| call.1.changes() && (all || ENDING.contains(&call.1.action.as_str()));
    let one = |(count, call): &(usize, Call)| {
        let action = call.action.clone();
        let numbers = 0..(if all { *count } else { 1 });
        numbers
            .flat_map(move |before| both.map(|once| Case::One(once, action.clone(), before)))
            .collect::<Vec<_>>()
    };
    let single = calls.iter().filter(wanted).flat_map(one);
    both.map(Case::FirstOfEach).into_iter().chain(single).collect()
}
