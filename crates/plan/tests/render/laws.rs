//! Laws of every rendered plan: limits are kept, and no secret is shown.

use proptest::prelude::*;
use slipway_plan::change::{ChangeAction, ResourceChange};
use slipway_plan::precondition::Precondition;
use slipway_plan::render::{self, TextOptions};
use slipway_plan::{Plan, ReasonCode};
use slipway_resource::diff::Change;
use slipway_resource::provider::Disruption;
use slipway_resource::{Path, Value};

use crate::fixture::{self, SECRET};

/// Every rendering of a plan, with the renderer's name.
fn all(plan: &Plan) -> Vec<(&'static str, String)> {
    let text = |color, verbose| {
        render::text(plan, &TextOptions { color, width: 80, verbose, ..TextOptions::default() })
    };
    let mut streamed = Vec::new();
    render::json_to(plan, &mut streamed).unwrap();
    let changes: String = plan
        .changes
        .iter()
        .map(|change| render::change_lines(&change.changes, &change.sensitive, &TextOptions::default()))
        .collect();
    vec![
        ("text", text(false, false)),
        ("coloured text", text(true, false)),
        ("verbose text", text(false, true)),
        ("json", render::json(plan).to_string()),
        ("streamed json", String::from_utf8(streamed).unwrap()),
        ("markdown", render::markdown(plan, render::COMMENT_LIMIT)),
        ("html", render::html(plan)),
        ("dot", render::dot(plan)),
        ("svg", render::svg(plan)),
        ("changes", changes),
    ]
}

fn assert_nothing_shows(plan: &Plan) {
    for (renderer, out) in all(plan) {
        assert!(!out.contains(SECRET), "{renderer} shows a secret:\n{out}");
        let for_tools = renderer.ends_with("json");
        assert!(for_tools || !out.contains('\u{202e}'), "{renderer} lets the direction of reading be turned");
        assert!(renderer == "coloured text" || !out.contains('\u{1b}'), "{renderer} lets escapes through");
    }
}

#[test]
fn the_rich_plan_shows_no_secret() {
    let plan = fixture::rich();
    let whole = serde_json::to_string(&plan).unwrap();
    assert!(whole.contains(SECRET), "the fixture has a secret to find");
    assert_nothing_shows(&plan);
}

#[test]
fn streamed_json_is_the_same() {
    let plan = fixture::rich();
    let mut streamed = Vec::new();
    render::json_to(&plan, &mut streamed).unwrap();
    let back: serde_json::Value = serde_json::from_slice(&streamed).unwrap();
    assert_eq!(back, render::json(&plan));
}

#[test]
fn the_digest_of_a_sensitive_field_is_left_out() {
    let mut plan = fixture::empty();
    let mut change = fixture::changed("sim_user.a", ChangeAction::Update, vec![]);
    let digest = slipway_resource::Digest::of_bytes(b"x");
    let fields = [("password".to_owned(), digest.clone()), ("name".to_owned(), digest.clone())];
    change.precondition = Precondition::Unchanged { fields: fields.into_iter().collect() };
    change.sensitive = vec!["password".parse().unwrap()];
    plan.changes = vec![change];
    let fields = &render::json(&plan)["preconditions"][0]["fields"];
    assert_eq!(fields["name"], digest.as_str());
    assert!(fields["password"].is_null());
}

#[test]
fn dangerous_changes_are_never_folded_away() {
    let mut plan = fixture::rich();
    let more = fixture::large(100).changes.into_iter();
    plan.changes.extend(more.filter(|change| change.action.is_replace()));
    let text = render::text(&plan, &TextOptions::default());
    let markdown = render::markdown(&plan, render::COMMENT_LIMIT);
    let open = markdown.split("<details>").next().unwrap();
    for change in plan.changes.iter().filter(|change| {
        change.action == ChangeAction::Delete || change.action.is_replace() || change.confirmation.is_some()
    }) {
        for out in [text.as_str(), open] {
            let is_named = |word: &str| word.ends_with(change.address.name());
            assert!(out.split([' ', ',', '\n']).any(is_named), "{}", change.address);
        }
    }
}

#[test]
fn names_of_a_range_stand_for_all_between() {
    let mut plan = fixture::empty();
    plan.changes = (0..2_000)
        .map(|number| fixture::changed(&format!("sim_volume.v{number}"), ChangeAction::Delete, vec![]))
        .collect();
    plan.changes.remove(1_000);
    let text = render::text(&plan, &TextOptions::default());
    assert!(text.contains("v0 … v999 (1000), v1001 … v1999 (999)"), "{text}");
}

#[test]
fn values_cannot_leave_their_place_in_markdown() {
    let markdown = render::markdown(&fixture::rich(), render::COMMENT_LIMIT);
    let mut fence: Option<usize> = None;
    let mut depth = 0;
    for line in markdown.lines() {
        let ticks = line.bytes().take_while(|byte| *byte == b'`').count();
        match fence {
            Some(open) if ticks >= open && line.len() == ticks => fence = None,
            Some(_) => {}
            None if ticks >= 3 => fence = Some(ticks),
            None => {
                depth += i32::from(line == "<details>") - i32::from(line == "</details>");
                assert!((0..=1).contains(&depth) && !line.contains('@'), "{line}");
            }
        }
    }
    assert_eq!((fence, depth), (None, 0));
}

/// Values with secrets at places that the paths name; those without are plain.
fn object() -> impl Strategy<Value = (Value, Vec<Path>)> {
    let place = prop_oneof![
        Just("password"),
        Just("login.password"),
        Just("users[0].token"),
        Just("users[1].token"),
        Just("keys.a"),
    ];
    (prop::collection::btree_set(place, 0..5), "[a-z`|<>$\\{\n]{0,12}", any::<bool>()).prop_map(
        |(secret, plain, wrapped)| {
            let hidden = |path: &str| match (secret.contains(path), wrapped) {
                (true, true) => fixture::secret(),
                (true, false) => Value::from(SECRET),
                (false, _) => Value::from(plain.as_str()),
            };
            let value = Value::map([
                ("password", hidden("password")),
                (
                    "login",
                    Value::map([("password", hidden("login.password")), ("user", plain.as_str().into())]),
                ),
                (
                    "users",
                    Value::list([
                        Value::map([("token", hidden("users[0].token"))]),
                        Value::map([("token", hidden("users[1].token")), ("n", 1_i64.into())]),
                    ]),
                ),
                ("keys", Value::map([("a", hidden("keys.a"))])),
                ("text", Value::from(plain.as_str())),
            ]);
            (value, secret.into_iter().map(|path| path.parse().unwrap()).collect())
        },
    )
}

fn one_change() -> impl Strategy<Value = ResourceChange> {
    let action = prop_oneof![
        Just(ChangeAction::Create),
        Just(ChangeAction::Update),
        Just(ChangeAction::ReplaceDeleteFirst),
        Just(ChangeAction::Delete),
        Just(ChangeAction::Adopt),
        Just(ChangeAction::Deferred),
    ];
    (action, object(), object(), "[a-z]{1,6}", 0_u8..3).prop_map(|(action, before, after, name, kind)| {
        let mut sensitive = before.1;
        sensitive.extend(after.1);
        sensitive.sort();
        sensitive.dedup();
        let changes = ["password", "login", "users", "keys.a", "text"]
            .into_iter()
            .map(|path| path.parse::<Path>().unwrap())
            .map(|path| Change {
                before: before.0.at(&path).cloned().unwrap_or_default(),
                after: after.0.at(&path).cloned().unwrap_or_default(),
                replaces: action.is_replace(),
                sensitive: false,
                path,
            })
            .collect();
        ResourceChange {
            before: before.0,
            after: after.0,
            changes: if action == ChangeAction::Create { Vec::new() } else { changes },
            reasons: vec![fixture::reason(ReasonCode::Provider, "the provider says so")],
            disruption: if kind == 0 { Disruption::Brief } else { Disruption::None },
            sensitive,
            ..fixture::change(&format!("sim_kind{kind}.{name}"), action)
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_renderer_shows_a_secret(
        changes in prop::collection::vec(one_change(), 0..6),
        drift in prop::collection::vec(one_change(), 0..2),
        kept in prop::collection::vec(one_change(), 0..2),
    ) {
        let plan = Plan { changes, drift, kept, ..fixture::empty() };
        assert_nothing_shows(&plan);
    }

    #[test]
    fn markdown_never_exceeds_its_limit(
        changes in prop::collection::vec(one_change(), 0..40),
        limit in prop_oneof![0_usize..2_000, 2_000_usize..20_000],
    ) {
        let plan = Plan { changes, ..fixture::rich() };
        let markdown = render::markdown(&plan, limit);
        prop_assert!(markdown.len() <= limit, "{} > {limit}", markdown.len());
        if limit > 2_000 {
            prop_assert!(markdown.contains(plan.digest().unwrap().as_str()));
        }
    }
}

#[test]
fn every_form_says_what_a_month_costs() {
    let prices = slipway_plan::Prices {
        lists: vec!["a list".to_owned()],
        before_millis: 1_000,
        after_millis: 3_500,
        resources: Vec::new(),
    };
    let plan = Plan { prices: Some(prices.clone()), ..fixture::rich() };
    let sentence = "Price: 3.50 USD a month, 2.50 USD more than now (a list).";
    assert_eq!(prices.sentence(), sentence);
    let options = TextOptions { width: 80, ..TextOptions::default() };
    assert!(render::text(&plan, &options).contains(sentence));
    assert!(render::markdown(&plan, render::COMMENT_LIMIT).contains(sentence));
    assert_eq!(render::json(&plan)["prices"]["after_millis"], 3_500);
    assert_eq!(render::json(&fixture::rich()).get("prices"), None);
}

#[test]
fn a_value_is_cut_at_a_terminal_only() {
    let names: Vec<Value> = (0..20).map(|number| Value::from(format!("host-{number}"))).collect();
    let plan = Plan {
        changes: vec![ResourceChange {
            after: Value::map([("dns_names", Value::List(names))]),
            ..fixture::change("sim_certificate.a", ChangeAction::Create)
        }],
        ..fixture::empty()
    };
    let piped = TextOptions { width: 60, ..TextOptions::default() };
    let out = render::text(&plan, &piped);
    assert!(out.contains("\"host-19\"]") && !out.contains('…'), "{out}");
    assert!(out.contains("0 to delete; 12 unchanged."), "{out}");
    let out = render::text(&plan, &TextOptions { fits: true, ..piped });
    assert!(!out.contains("host-19") && out.contains('…'), "{out}");
    let digest = out.find("Digest:").unwrap();
    assert!(out[..digest].lines().all(|line| line.chars().count() <= 60), "{out}");
}

#[test]
fn the_counts_add_up() {
    let plan = fixture::rich();
    let counts = render::Counts::of(&plan);
    let changed = [
        counts.create,
        counts.update,
        counts.replace,
        counts.roll,
        counts.delete,
        counts.record,
        counts.rename,
        counts.forget,
        counts.deferred,
    ];
    assert_eq!(changed.iter().sum::<u64>(), plan.changes.len() as u64);
    assert_eq!(counts.kept, plan.kept.len() as u64);
    let text = render::text(&plan, &TextOptions::default());
    assert!(text.contains("; 12 unchanged, 1 kept."), "{text}");
}

#[test]
fn the_same_change_of_many_types_is_one_entry() {
    let of = |types: usize| {
        let tagged = |number| {
            let tag = fixture::field("tags.team", "platform", "network");
            fixture::changed(&format!("sim_kind{number}.main"), ChangeAction::Update, vec![tag])
        };
        let plan = Plan { changes: (0..types).map(tagged).collect(), ..fixture::empty() };
        render::text(&plan, &TextOptions::default())
    };
    let text = of(5);
    assert!(text.contains("  ~ 5 resources of 5 types\n") && text.contains("sim_kind4: main\n"), "{text}");
    assert_eq!(text.matches("tags.team").count(), 1, "{text}");
    assert_eq!(of(4).matches("tags.team").count(), 4);
}
