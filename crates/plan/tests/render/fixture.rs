//! Plans made by hand, with everything that a plan can have.

use std::collections::BTreeMap;

use slipway_plan::change::{ChangeAction, MachineChange, RecordTemplate, ResourceChange};
use slipway_plan::precondition::Precondition;
use slipway_plan::{Binding, Mode, Plan, Prices, Reason, ReasonCode, Step, StepAction, StepId};
use slipway_resource::diff::Change;
use slipway_resource::provider::{Disruption, ExpandNote, MonthlyPrice, PreflightFinding, ResourcePrice};
use slipway_resource::{Address, Digest, ErrorClass, Identity, Secret, SecretText, TemplatePart, Value};

/// A text that must be in no rendering.
pub const SECRET: &str = "hunter2-is-the-password";

pub fn address(text: &str) -> Address {
    text.parse().unwrap()
}

pub fn change(at: &str, action: ChangeAction) -> ResourceChange {
    ResourceChange {
        address: address(at),
        previous_address: None,
        retag: false,
        provider: "sim".to_owned(),
        schema_version: 1,
        action,
        identity: None,
        before: Value::Null,
        after: Value::Null,
        changes: Vec::new(),
        ignored: Vec::new(),
        reasons: Vec::new(),
        disruption: Disruption::None,
        confirmation: None,
        precondition: Precondition::None,
        record: RecordTemplate::default(),
        sensitive: Vec::new(),
        surplus: Vec::new(),
        machines: Vec::new(),
        drained: None,
        uncordoned: Vec::new(),
    }
}

pub fn field(path: &str, before: impl Into<Value>, after: impl Into<Value>) -> Change {
    Change {
        path: path.parse().unwrap(),
        before: before.into(),
        after: after.into(),
        replaces: false,
        sensitive: false,
    }
}

/// An existing resource with changed fields.
pub fn changed(at: &str, action: ChangeAction, changes: Vec<Change>) -> ResourceChange {
    let mut before = Value::map([("name", at)]);
    let mut after = before.clone();
    for change in &changes {
        before.set(&change.path, change.before.clone());
        after.set(&change.path, change.after.clone());
    }
    ResourceChange {
        identity: Some(Identity::new(format!("{}-1", at.replace('_', "-")))),
        before,
        after,
        changes,
        ..change(at, action)
    }
}

pub fn reason(code: ReasonCode, message: &str) -> Reason {
    Reason::new(code, message)
}

fn located(mut reason: Reason, origin: &str, location: &str) -> Reason {
    reason.origin = Some(origin.to_owned());
    reason.location = Some(location.to_owned());
    reason
}

pub fn secret() -> Value {
    Value::from(Secret {
        fingerprint: Some("0badc0de".to_owned()),
        text: Some(SecretText::new(SECRET)),
        ..Secret::new("env:SIM_TOKEN")
    })
}

pub fn empty() -> Plan {
    let binding = Binding {
        uid: None,
        generation: Some(12),
        snapshot: None,
        continues: None,
        spec_digest: Digest::of_bytes(b"spec"),
        catalogs: BTreeMap::new(),
        providers: BTreeMap::new(),
    };
    Plan { format: 1, unchanged: 12, ..Plan::without_changes("main", Mode::Apply, binding) }
}

/// Adds a step and returns its id.
pub fn step(plan: &mut Plan, at: &str, action: StepAction, seconds: u64, after: &[StepId]) -> StepId {
    let id = StepId(u32::try_from(plan.steps.len()).unwrap());
    plan.steps.push(Step {
        id,
        address: address(at),
        action,
        identity: None,
        roll: None,
        depends_on: after.to_vec(),
        rate_class: "write".to_owned(),
        estimate_ms: seconds * 1000,
        timeout_ms: 900_000,
    });
    id
}

pub fn gate(name: &str, argument: &str, subject: &str) -> StepAction {
    StepAction::Operation { name: name.to_owned(), arguments: Value::map([(argument, subject)]) }
}

pub fn subnets(count: usize) -> Vec<ResourceChange> {
    (0..count)
        .map(|number| {
            let name = format!("node-{number}");
            ResourceChange {
                after: Value::map([
                    ("id", Value::Unknown),
                    ("name", Value::from(name.as_str())),
                    ("cidr", Value::from(format!("10.1.{number}.0/24"))),
                    ("network", Value::reference(address("sim_network.main"), "id")),
                    ("tags", Value::map([("team", "platform")])),
                ]),
                reasons: vec![reason(ReasonCode::Wanted, "the spec asks for it")],
                ..change(&format!("sim_subnet.{name}"), ChangeAction::Create)
            }
        })
        .collect()
}

fn network() -> ResourceChange {
    let mut cidr = field("cidr", "10.0.0.0/16", "10.1.0.0/16");
    cidr.replaces = true;
    let mut why = located(
        reason(ReasonCode::FieldChanged, "cidr changed; it cannot be changed in place"),
        "network.cidr",
        "specs/a.yaml:14:11",
    );
    why.causes.push(reason(ReasonCode::CannotUpdateInPlace, "needs a new object"));
    ResourceChange {
        reasons: vec![why],
        disruption: Disruption::Outage,
        confirmation: Some("it is protected".to_owned()),
        ..changed(
            "sim_network.main",
            ChangeAction::ReplaceDeleteFirst,
            vec![cidr, field("tags.team", Value::Null, "platform")],
        )
    }
}

fn route(at: &str) -> ResourceChange {
    let network = Value::reference(address("sim_network.main"), "id");
    let mut moved = field("network", "net-1", network);
    moved.replaces = true;
    let mut why = reason(ReasonCode::FieldChanged, "network changed");
    let mut behind = reason(ReasonCode::ReferenceReplaced, "sim_network.main is replaced");
    behind.because_of = Some(address("sim_network.main"));
    behind.causes.push(located(
        reason(ReasonCode::FieldChanged, "cidr changed"),
        "network.cidr",
        "specs/a.yaml:14:11",
    ));
    why.causes.push(behind);
    ResourceChange { reasons: vec![why], ..changed(at, ChangeAction::ReplaceCreateFirst, vec![moved]) }
}

fn record() -> ResourceChange {
    let before: String = (1..=12).map(|line| format!("echo line {line}\n")).collect();
    let after = before.replace("line 6", "line ${SIX}");
    let policy = |action: &str| {
        format!(
            r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Action":["s3:GetObject","{action}"],"Resource":"*"}}]}}"#
        )
    };
    let mut login = field("login", Value::map([("user", "root"), ("password", SECRET)]), Value::Null);
    login.after = Value::map([("user", Value::from("admin")), ("password", Value::from(SECRET))]);
    let mut update = changed(
        "sim_record.api.example.com",
        ChangeAction::Update,
        vec![
            field("address", "192.0.2.1", Value::Unknown),
            login,
            field("policy", policy("s3:PutObject"), policy("s3:DeleteObject")),
            field("token", secret(), secret()),
            field("user_data", before, after),
        ],
    );
    update.sensitive = vec!["login.password".parse().unwrap(), "token".parse().unwrap()];
    update.ignored = vec!["tags.owner".parse().unwrap()];
    update.reasons =
        vec![located(reason(ReasonCode::FieldChanged, "address changed"), "api.name", "specs/a.yaml:3:1")];
    update
}

fn load_balancer() -> ResourceChange {
    let template = Value::Template(vec![
        TemplatePart::Text("https://".to_owned()),
        TemplatePart::Reference(slipway_resource::Reference {
            address: address("sim_record.api.example.com"),
            path: "name".parse().unwrap(),
        }),
        TemplatePart::Text(":6443/${x}".to_owned()),
    ]);
    ResourceChange {
        after: Value::map([
            ("id", Value::Unknown),
            ("listeners", Value::list([Value::map([("port", Value::from(6443_i64)), ("tls", true.into())])])),
            ("note", Value::from("``` </details> | @everyone \u{1b}[31m\u{202e}")),
            ("password", Value::from(SECRET)),
            ("script", Value::from("#!/bin/sh\nset -e\necho hello\n")),
            ("token", secret()),
            ("url", template),
        ]),
        sensitive: vec!["password".parse().unwrap()],
        reasons: vec![reason(ReasonCode::Vanished, "it is gone from the cloud, and the state knows it")],
        ..change("sim_load_balancer.api", ChangeAction::Create)
    }
}

/// Rolls machines; every second one is blocked by a budget.
pub fn roll(plan: &mut Plan, at: &str, machines: u32, after: &[StepId]) {
    let update = step(plan, at, StepAction::Update, 5, after);
    let mut last = step(plan, "sim_etcd.main", gate("snapshot", "name", "before"), 20, &[]);
    for number in 1..=machines {
        let (slot, member) = (number.to_string(), format!("machine-{number}"));
        let surge = step(plan, at, gate("surge", "slot", &slot), 90, &[update, last]);
        let verify = step(plan, at, gate("verify", "slot", &slot), 30, &[surge]);
        let cordon = step(plan, at, gate("cordon", "member", &member), 1, &[verify]);
        let drain = step(plan, at, gate("drain", "member", &member), 60, &[cordon]);
        last = step(plan, at, gate("remove", "member", &member), 20, &[surge, drain]);
    }
    let name = |number: u32| format!("workers-{number}");
    plan.changes.push(ResourceChange {
        disruption: Disruption::Rolling,
        machines: (1..=machines)
            .map(|number| MachineChange {
                name: name(number),
                identity: Identity::new(format!("machine-{number}")),
                node: None,
                replaced: number < machines,
                reason: if number < machines { "its image is not the pool's" } else { "the pool shrinks" }
                    .to_owned(),
                blockers: (number % 2 == 0)
                    .then(|| "budget kube-system/coredns allows 0 disruptions".to_owned())
                    .into_iter()
                    .collect(),
            })
            .collect(),
        ..changed(at, ChangeAction::Update, vec![field("image", "ubuntu-24.04", "ubuntu-26.04")])
    });
}

fn small() -> Vec<ResourceChange> {
    let deletion = |at: &str, why: Option<&str>| ResourceChange {
        before: Value::map([("size", 100_i64)]),
        changes: Vec::new(),
        reasons: vec![reason(ReasonCode::NotWanted, "the spec does not have it any more")],
        confirmation: why.map(str::to_owned),
        ..changed(at, ChangeAction::Delete, vec![])
    };
    let bucket = |name: &str| {
        changed(
            &format!("sim_bucket.{name}"),
            ChangeAction::Update,
            vec![field("versioning", false, true), field("tags[\"a/b\"]", "x", Value::Null)],
        )
    };
    vec![
        bucket("backup"),
        bucket("images"),
        bucket("logs"),
        changed("sim_key.adopted", ChangeAction::Adopt, vec![]),
        ResourceChange {
            previous_address: Some(address("sim_key.old")),
            reasons: vec![reason(ReasonCode::Renamed, "it was sim_key.old before")],
            ..changed("sim_key.new", ChangeAction::NoOp, vec![])
        },
        changed("sim_key.forgotten", ChangeAction::Forget, vec![]),
        ResourceChange {
            reasons: vec![reason(
                ReasonCode::Unreadable,
                "it could not be read: the caller may not list keys",
            )],
            ..change("sim_key.hidden", ChangeAction::Deferred)
        },
        deletion("sim_volume.etcd", Some("deleting it loses its data")),
        deletion("sim_volume.scratch-1", None),
        deletion("sim_volume.scratch-2", None),
    ]
}

/// A plan with everything.
pub fn rich() -> Plan {
    let mut plan = empty();
    plan.changes = subnets(6);
    plan.changes.extend([network(), route("sim_route.a"), route("sim_route.b"), record(), load_balancer()]);
    plan.changes.extend(small());
    let gone = step(&mut plan, "sim_network.main", StepAction::Delete { surplus: false }, 30, &[]);
    let made = step(&mut plan, "sim_network.main", StepAction::Create, 30, &[gone]);
    for number in 0..6 {
        step(&mut plan, &format!("sim_subnet.node-{number}"), StepAction::Create, 10, &[gone, made]);
    }
    let api = step(&mut plan, "sim_load_balancer.api", StepAction::Create, 120, &[made]);
    step(&mut plan, "sim_record.api.example.com", StepAction::Update, 5, &[made, api]);
    for name in ["backup", "images", "logs"] {
        step(&mut plan, &format!("sim_bucket.{name}"), StepAction::Update, 2, &[]);
    }
    step(&mut plan, "sim_key.adopted", StepAction::Record, 0, &[]);
    for name in ["etcd", "scratch-1", "scratch-2"] {
        step(&mut plan, &format!("sim_volume.{name}"), StepAction::Delete { surplus: false }, 5, &[]);
    }
    roll(&mut plan, "sim_machine_pool.workers", 6, &[made]);
    plan.changes.sort_by(|left, right| left.address.cmp(&right.address));
    plan.drift = vec![
        changed(
            "sim_firewall.main",
            ChangeAction::Update,
            vec![field("ports", vec!["22"], vec!["22", "80"])],
        ),
        ResourceChange {
            reasons: vec![reason(ReasonCode::Vanished, "it was deleted outside Slipway")],
            ..changed("sim_load_balancer.api", ChangeAction::Delete, vec![])
        },
    ];
    plan.kept = vec![ResourceChange {
        reasons: vec![reason(ReasonCode::Retained, "the spec says to keep it")],
        ..changed("sim_bucket.archive", ChangeAction::Forget, vec![])
    }];
    plan.notes = vec![ExpandNote {
        field: "pools[workers].spot".to_owned(),
        message: "has no effect on sim.".to_owned(),
    }];
    plan.findings = vec![PreflightFinding {
        address: Some(address("sim_load_balancer.api")),
        class: ErrorClass::Quota { name: "load balancers".to_owned(), limit: 2, used: 2 },
        message: "2 of 2 load balancers are in use".to_owned(),
        hint: Some("ask for a higher limit, or delete one".to_owned()),
    }];
    plan.outlook =
        vec!["Then 1.35 to 1.36: control plane, then 6 machines; planned when this is done.".to_owned()];
    plan.estimate_ms = 390_000;
    plan.critical_path_ms = 250_000;
    plan
}

/// Many changes of all kinds.
pub fn large(each: usize) -> Plan {
    let mut plan = empty();
    plan.changes = subnets(each);
    for number in 0..each {
        let mut replaced = route(&format!("sim_route.r{number}"));
        replaced.changes.push(field("serial", number.to_string(), Value::Unknown));
        plan.changes.push(replaced);
        let mut update = record();
        update.address = Address::new("sim_record", format!("host-{number}.example.com"));
        update.changes.push(field("serial", number.to_string(), (number + 1).to_string()));
        plan.changes.push(update);
        plan.changes.push(ResourceChange {
            reasons: vec![reason(ReasonCode::NotWanted, "the spec does not have it any more")],
            ..changed(&format!("sim_volume{}.v{number}", number % 7), ChangeAction::Delete, vec![])
        });
    }
    plan.changes.sort_by(|left, right| left.address.cmp(&right.address));
    for number in 0..plan.changes.len() {
        let at = plan.changes[number].address.to_string();
        let after: Vec<StepId> = [number / 2, number / 3]
            .iter()
            .filter(|other| **other < number)
            .map(|other| plan.steps[*other].id)
            .collect();
        let mut sorted = after;
        sorted.sort();
        sorted.dedup();
        step(&mut plan, &at, StepAction::Update, 3, &sorted);
    }
    plan
}

/// The plan with everything, and prices.
pub fn priced() -> Plan {
    let price = |at: &str, before: Option<u64>, after: Option<MonthlyPrice>| ResourcePrice {
        address: address(at),
        before: before.map(MonthlyPrice::Known),
        after,
    };
    let known = |millis: u64| Some(MonthlyPrice::Known(millis));
    let prices = Prices {
        lists: vec!["the list of sim, 2026-10-01".to_owned()],
        before_millis: 212_400,
        after_millis: 288_900,
        resources: vec![
            price("sim_load_balancer.api", None, known(18_500)),
            price("sim_machine_pool.workers", Some(180_000), known(240_000)),
            price("sim_network.main", Some(2_400), known(2_400)),
            price("sim_record.api.example.com", Some(30_000), known(28_000)),
            price("sim_volume.etcd", None, Some(MonthlyPrice::Unknown("no price of class fast".to_owned()))),
        ],
    };
    Plan { prices: Some(prices), ..rich() }
}

/// A text that tries to leave its place in a page.
pub const HOSTILE: &str = "</script></style></pre></dl></svg>\"'><img src=x onerror=window.hit=1><script>window.hit=1</script>\
                           <!-- ]]> &lt;b&gt; &#60;i&#62; javascript:alert(1) \u{202e}\u{2066}\u{0}\u{7}\u{1b}[31m\u{feff}\u{85}\nnext";

/// A plan in which every text is this one.
pub fn hostile(text: &str) -> Plan {
    let mut plan = priced();
    let bad = |kind: &str| Address::new(format!("{kind}{text}"), text);
    plan.cluster = text.to_owned();
    let mut why = located(reason(ReasonCode::Provider, text), text, text);
    why.causes.push(reason(ReasonCode::FieldChanged, text));
    let long = format!("first\n{text}\nlast\n");
    for (number, change) in plan.changes.iter_mut().chain(&mut plan.drift).chain(&mut plan.kept).enumerate() {
        change.address = bad(&format!("kind{number}"));
        change.previous_address = change.previous_address.as_ref().map(|_| bad("old"));
        change.identity = Some(Identity::new(text));
        change.reasons = vec![why.clone()];
        change.confirmation = change.confirmation.as_ref().map(|_| text.to_owned());
        for value in [&mut change.before, &mut change.after] {
            if !value.is_null() {
                *value = Value::map([(text, Value::from(text)), ("long", Value::from(long.as_str()))]);
            }
        }
        for field in &mut change.changes {
            field.path = slipway_resource::Path::root().child(text);
            field.before = Value::from(text);
            field.after = Value::from(long.as_str());
        }
        for machine in &mut change.machines {
            machine.name = text.to_owned();
            machine.reason = text.to_owned();
            machine.blockers = vec![text.to_owned()];
        }
    }
    for step in &mut plan.steps {
        step.address = bad("step");
        step.identity = Some(Identity::new(text));
        if let StepAction::Operation { name, arguments } = &mut step.action {
            *name = text.to_owned();
            *arguments = Value::map([("member", text)]);
        }
    }
    if let Some(rolled) = plan.changes.iter().find(|change| !change.machines.is_empty()) {
        let pool = rolled.address.clone();
        plan.steps.iter_mut().for_each(|step| step.roll = Some(pool.clone()));
    }
    plan.notes.iter_mut().for_each(|note| (note.field, note.message) = (text.to_owned(), text.to_owned()));
    for finding in &mut plan.findings {
        finding.address = Some(bad("finding"));
        finding.message = text.to_owned();
        finding.hint = Some(text.to_owned());
    }
    plan.outlook = vec![text.to_owned()];
    plan.infrastructure_only = vec![text.to_owned()];
    if let Some(prices) = &mut plan.prices {
        prices.lists = vec![text.to_owned()];
        for price in &mut prices.resources {
            price.address = bad("price");
            price.after = Some(MonthlyPrice::Unknown(text.to_owned()));
        }
    }
    plan
}
