//! Laws that hold for every cluster and every change of it, tried on generated ones.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Result, ensure};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use slipway_integration::lab::{Lab, cluster};
use slipway_integration::served::Served;
use slipway_provider_sim::Sim;
use slipway_resource::Provider;
use slipway_spec::model::Cluster;
use tokio::runtime::Runtime;

/// The parameters of a generated cluster.
#[derive(Clone, Debug)]
struct Shape {
    zones: usize,
    public: bool,
    control_planes: u32,
    pools: Vec<Pool>,
    patch: u32,
    endpoint: &'static str,
    label: u32,
    /// Which ranges the subnets have; 0 for those that are chosen by default.
    ranges: usize,
}

#[derive(Clone, Debug)]
struct Pool {
    size: u32,
    image: u32,
    autoscaled: bool,
    tainted: bool,
    surge: u32,
}

fn pools() -> impl Strategy<Value = Pool> {
    (1u32..4, 0u32..3, any::<bool>(), any::<bool>(), 0u32..3).prop_map(
        |(size, image, autoscaled, tainted, surge)| Pool { size, image, autoscaled, tainted, surge },
    )
}

fn shapes() -> impl Strategy<Value = Shape> {
    let endpoints = prop::sample::select(vec![
        "loadBalancer: { scheme: public }",
        "loadBalancer: { scheme: internal }",
        "given: { host: api.laws.example.com, port: 6443 }",
    ]);
    (
        1usize..4,
        any::<bool>(),
        prop::bool::ANY,
        prop::collection::vec(pools(), 1..4),
        0u32..3,
        endpoints,
        0u32..3,
        0usize..4,
    )
        .prop_map(|(zones, public, several, pools, patch, endpoint, label, ranges)| Shape {
            zones,
            public,
            control_planes: if several && zones == 3 { 3 } else { 1 },
            pools,
            patch,
            endpoint,
            label,
            ranges,
        })
}

impl Shape {
    fn documents(&self) -> Vec<String> {
        let zones: Vec<String> =
            ["a", "b", "c"].iter().take(self.zones).map(|zone| format!("sim-1{zone}")).collect();
        let mut head = format!(
            "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata:\n  name: laws\nspec:\n  provider:\n    name: sim\n  \
             region: sim-1\n  kubernetesVersion: 1.34.{}\n  zones: [{}]\n  cloudLabels:\n    team: t{}\n",
            self.patch,
            zones.join(", "),
            self.label
        );
        let topology = if self.public { "public" } else { "private" };
        let _ = write!(
            head,
            "  network:\n    topology: {topology}\n{}  controlPlane:\n    endpoint:\n      {}\n",
            self.subnets(),
            self.endpoint
        );
        let mut documents = vec![head];
        documents.push(format!(
            "apiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata:\n  name: control-plane\nspec:\n  role: \
             controlPlane\n  machineType: sim.medium\n  size:\n    fixed: {}\n",
            self.control_planes
        ));
        for (index, pool) in self.pools.iter().enumerate() {
            let size = if pool.autoscaled {
                format!("bounds: {{ min: {}, max: {} }}", pool.size, pool.size + 2)
            } else {
                format!("fixed: {}", pool.size)
            };
            let mut text = format!(
                "apiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata:\n  name: pool-{index}\nspec:\n  machineType: \
                 sim.large\n  image: image-{}\n  size:\n    {size}\n  rollout:\n    maxSurge: {}\n    maxUnavailable: {}\n",
                pool.image,
                pool.surge,
                u32::from(pool.surge == 0)
            );
            if pool.tainted {
                text.push_str(
                    "  taints:\n    - { key: example.com/only, value: \"yes\", effect: NoSchedule }\n",
                );
            }
            documents.push(text);
        }
        documents
    }

    /// Subnets that move: to other ranges, and to ranges that overlap those.
    fn subnets(&self) -> String {
        let thirds = match self.ranges {
            0 => return String::new(),
            1 => [32, 64, 96],
            2 => [128, 160, 192],
            // In the middle of the first.
            _ => [48, 80, 112],
        };
        let kind = if self.public { "public" } else { "private" };
        let mut text = "    cidr: 10.10.0.0/16\n    subnets:\n".to_owned();
        for (zone, third) in ["a", "b", "c"].iter().take(self.zones).zip(thirds) {
            let _ = writeln!(
                text,
                "      - {{ name: n-{zone}, zone: sim-1{zone}, kind: {kind}, cidr: 10.10.{third}.0/{} }}",
                if self.ranges == 3 { 20 } else { 19 }
            );
        }
        if !self.public {
            for (index, zone) in ["a", "b", "c"].iter().take(self.zones).enumerate() {
                let _ = writeln!(
                    text,
                    "      - {{ name: u-{zone}, zone: sim-1{zone}, kind: utility, cidr: 10.10.{}.0/24 }}",
                    index + 1
                );
            }
        }
        text
    }

    fn cluster(&self) -> Result<Cluster> {
        cluster(&self.documents().join("---\n"))
    }

    fn reversed(&self) -> Result<Cluster> {
        let mut documents = self.documents();
        documents.reverse();
        cluster(&documents.join("---\n"))
    }
}

async fn life(lab: &Lab, shapes: &[Shape]) -> Result<()> {
    for shape in shapes {
        let wanted = shape.cluster()?;
        let plan = match lab.plan(&wanted).await {
            // Refused by name, since it could not be carried out.
            Err(error) if is_held(&error) => continue,
            plan => plan?,
        };
        ensure!(plan.to_bytes()? == lab.plan(&wanted).await?.to_bytes()?, "planned twice, two plans");
        ensure!(
            plan.to_bytes()? == lab.plan(&shape.reversed()?).await?.to_bytes()?,
            "the order of documents matters"
        );
        let (plan, report) = lab.apply(&wanted).await?;
        ensure!(
            report.is_complete(),
            "{:?}",
            report
                .failures
                .iter()
                .map(|failure| { format!("{}: {}", plan.steps[failure.step.index()].title(), failure.error) })
                .collect::<Vec<_>>()
        );
        let again = lab.plan(&wanted).await?;
        ensure!(
            again.is_empty(),
            "applied, and a plan is left: {}",
            slipway_plan::render::text(&again, &Default::default())
        );
        let inventory = lab.inventory()?;
        ensure!(inventory.doubled().is_empty(), "doubled: {:?}", inventory.doubled());
    }
    if let Some(last) = shapes.last() {
        let (_, report) = lab.delete(&last.cluster()?).await?;
        ensure!(report.is_complete(), "{:?}", report.failures);
    }
    let inventory = lab.inventory()?;
    ensure!(inventory.objects.is_empty(), "left: {:?}", inventory.objects);
    ensure!(inventory.machines.is_empty(), "left: {:?}", inventory.machines);
    Ok(())
}

/// Whether a plan is refused because what is to be replaced cannot be let go of.
fn is_held(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(slipway_plan::Error::Held { .. }))
}

/// Tries generated lives; a failing one is made small before it is shown.
fn try_lives(cases: u32, make: impl Fn(&Runtime) -> Result<Lab>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 60, ..Config::default() };
    let result = TestRunner::new(config).run(&prop::collection::vec(shapes(), 1..4), |shapes| {
        let fail = |error| TestCaseError::fail(format!("{error:#}"));
        let lab = make(&runtime).map_err(fail)?;
        runtime.block_on(life(&lab, &shapes)).map_err(fail)
    });
    result.map_err(|error| anyhow::anyhow!("{error}"))
}

#[test]
fn every_life_keeps_the_laws() -> Result<()> {
    try_lives(cases(), |_| Lab::new())
}

#[test]
fn every_life_keeps_the_laws_over_grpc() -> Result<()> {
    let served = Served::start(Arc::new(Sim))?;
    try_lives(cases() / 2, |runtime| Lab::with(runtime.block_on(served.client())?))
}

#[tokio::test]
async fn embedded_and_over_grpc_the_plan_is_the_same() -> Result<()> {
    let served = Served::start(Arc::new(Sim))?;
    let wanted = cluster(include_str!("rollout.yaml"))?;
    let rolled = cluster(&include_str!("rollout.yaml").replace("image-1", "image-2"))?;
    let mut plans = Vec::new();
    for provider in [Arc::new(Sim) as Arc<dyn Provider>, served.client().await?] {
        let lab = Lab::with(provider)?;
        let created = lab.plan(&wanted).await?;
        lab.apply(&wanted).await?;
        let roll = lab.plan(&rolled).await?;
        let mut created = created;
        created.binding.providers.clear();
        // The ids of objects that are made side by side depend on which comes first; the steps do not.
        let mut steps: Vec<(String, String)> =
            roll.steps.iter().map(|step| (step.address.to_string(), step.action.verb().to_owned())).collect();
        steps.sort();
        let changes: Vec<_> =
            roll.changes.iter().map(|change| (change.address.clone(), change.action)).collect();
        plans.push((created, steps, changes));
    }
    ensure!(plans[0] == plans[1], "the plans differ");
    Ok(())
}

/// How many lives are tried; more with `SLIPWAY_LAWS=<n>`.
fn cases() -> u32 {
    std::env::var("SLIPWAY_LAWS").ok().and_then(|text| text.parse().ok()).unwrap_or(16)
}
