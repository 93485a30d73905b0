//! Calls that fail before and after their effect, calls that are refused for their pace, reads that lag behind: a cluster
//! is made, rolled and deleted all the same, with nothing twice and nothing left.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::cloud::machines;
use crate::disturbance::{Once, Rules, Which};
use crate::several::each;
use crate::world::{APPLY, DELETE, HIGHLY_AVAILABLE, World};

/// How often a user runs a command again that has failed.
const RUNS: usize = 6;

/// The disturbances of a life.
#[derive(Clone, Debug, Default)]
struct Disturbed {
    rules: Rules,
    /// How many seconds reads lag behind.
    lag: u32,
}

fn failing(seed: u64) -> Rules {
    Rules { failing: 0.1, seed, ..Rules::default() }
}

/// Every kind of trouble at once, for as many seeds as `SLIPWAY_SEEDS` says.
pub fn of_every_kind_at_once() -> Result<()> {
    let seeds: u64 = std::env::var("SLIPWAY_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let all = |seed| Disturbed { rules: Rules { pace: Some(5.0), ..failing(seed) }, lag: 5 };
    survive(&(1..=seeds).map(all).collect::<Vec<_>>())
}

pub fn of_one_kind_each() -> Result<()> {
    let pace = Rules { pace: Some(5.0), ..Rules::default() };
    survive(&[
        Disturbed { rules: failing(1), lag: 0 },
        Disturbed { rules: pace, lag: 0 },
        Disturbed { rules: Rules::default(), lag: 5 },
    ])
}

/// Calls that name something that the same run has made.
const NAMING: &[&str] = &[
    "AddRoleToInstanceProfile",
    "AssociateDhcpOptions",
    "AssociateRouteTable",
    "AttachInternetGateway",
    "AuthorizeSecurityGroupEgress",
    "AuthorizeSecurityGroupIngress",
    "CreateAutoScalingGroup",
    "CreateLaunchTemplate",
    "CreateListener",
    "CreateLoadBalancer",
    "CreateNatGateway",
    "CreateRoute",
    "CreateRouteTable",
    "CreateSecurityGroup",
    "CreateSubnet",
    "CreateTargetGroup",
    "EnableMetricsCollection",
    "ModifySubnetAttribute",
    "ModifyTargetGroupAttributes",
    "ModifyVpcAttribute",
    "PutLifecycleHook",
    "PutRolePolicy",
    "PutTargets",
    "RevokeSecurityGroupEgress",
];

/// All other calls that change something: they name nothing, or what was there before, as the hosted zone.
const NAMING_NOTHING_NEW: &[&str] = &[
    "AllocateAddress",
    "CreateDhcpOptions",
    "CreateInstanceProfile",
    "CreateInternetGateway",
    "CreateQueue",
    "CreateRole",
    "CreateVolume",
    "CreateVpc",
    "POST /2013-04-01/hostedzone/…/rrset",
    "PutRule",
];

/// A new object is denied once to each call that names it: one run creates the cluster all the same.
pub fn of_what_is_not_known_everywhere_yet() -> Result<()> {
    let world = World::new()?;
    world.spec(HIGHLY_AVAILABLE)?;
    world.disturbance.set(Rules { once: Some((Once::Unseen, Which::Named(NAMING))), ..Rules::default() });
    world.disturbance.take();
    world.apply()?;
    let hit = world.disturbance.hit();
    ensure!(hit.len() == NAMING.len(), "only {hit:?} were called");
    let calls = world.disturbance.take();
    let changing = calls.keys().filter(|call| call.changes()).map(|call| call.action.as_str());
    let unknown: Vec<&str> =
        changing.filter(|name| !NAMING.contains(name) && !NAMING_NOTHING_NEW.contains(name)).collect();
    ensure!(unknown.is_empty(), "do these calls name something that the run has made? {unknown:?}");
    world.disturbance.set(Rules::default());
    world.is_settled()?;
    world.delete()?;
    world.is_empty()
}

fn survive(troubles: &[Disturbed]) -> Result<()> {
    let undisturbed = World::new()?;
    undisturbed.public(&[])?;
    undisturbed.apply()?;
    let wanted = undisturbed.shape()?;
    each(troubles, |world, trouble| live(world, trouble, &wanted).with_context(|| format!("{trouble:?}")))
}

fn live(world: &World, trouble: &Disturbed, wanted: &[String]) -> Result<()> {
    world.public(&[])?;
    disturbed(world, trouble, APPLY)?;
    let shape = world.shape()?;
    ensure!(shape == wanted, "made: {}", difference(&shape, wanted));
    world.is_settled()?;

    world.public(&[("image: ami-1e749f67", "image: ami-760aaa0f")])?;
    disturbed(world, trouble, APPLY)?;
    world.is_settled()?;
    let objects = world.cloud.objects()?;
    let old =
        objects.iter().filter(|object| object.kind == "instance" && object.name.ends_with("ami-1e749f67"));
    ensure!(old.count() == 0, "instances of before the roll run");
    let sizes: Vec<usize> = machines(&objects).into_values().collect();
    ensure!(sizes == [1, 2], "{sizes:?} instances run");

    disturbed(world, trouble, DELETE)?;
    world.is_empty()
}

/// Runs a command under disturbance, again when it fails, as its user would.
fn disturbed(world: &World, trouble: &Disturbed, arguments: &[&str]) -> Result<()> {
    world.cloud.lag(trouble.lag)?;
    world.disturbance.set(trouble.rules.clone());
    let mut said = String::new();
    let mut is_done = false;
    for run in 1..=RUNS {
        let ended = world.place().run(arguments)?;
        is_done = ended.code == Some(0);
        let (failed, refused) = world.disturbance.take_disturbed();
        eprintln!("{} run {run}: {:?}, {failed} calls failed, {refused} refused", arguments[0], ended.code);
        if is_done {
            break;
        }
        said.push_str(&ended.err);
    }
    world.disturbance.set(Rules::default());
    // The state that was shown last remains for a while.
    std::thread::sleep(Duration::from_secs(trouble.lag.into()));
    world.cloud.lag(0)?;
    ensure!(is_done, "{} does not come to an end:\n{said}", arguments[0]);
    Ok(())
}

/// The lines that only one of the two has.
pub fn difference(found: &[String], wanted: &[String]) -> String {
    let missing: Vec<&String> = wanted.iter().filter(|line| !found.contains(line)).collect();
    let extra: Vec<&String> = found.iter().filter(|line| !wanted.contains(line)).collect();
    format!("missing {missing:#?}, too much {extra:#?}")
}
