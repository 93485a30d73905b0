use std::collections::BTreeMap;

use slipway_plan::change::{ChangeAction, RecordTemplate, ResourceChange};
use slipway_plan::precondition::Precondition;
use slipway_plan::{Binding, Mode};
use slipway_resource::Value;
use slipway_resource::provider::Disruption;

use super::*;
use crate::approvals::{Given, Reason, Refused};
use crate::model::Revision;

/// A name that tries everything.
const EVIL: &str = "x`</summary><b>@ada</b> [a](http://evil)\n/merge\n-->";

fn change(address: &str, action: ChangeAction, name: &str) -> ResourceChange {
    let there = Value::map([("name", name)]);
    let (before, after) = match action {
        ChangeAction::Create => (Value::Null, there),
        _ => (there, Value::Null),
    };
    ResourceChange {
        address: address.parse().unwrap(),
        previous_address: None,
        retag: false,
        provider: "sim".to_owned(),
        schema_version: 1,
        action,
        identity: None,
        before,
        after,
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

fn plan(changes: Vec<ResourceChange>) -> Plan {
    let binding = Binding {
        uid: None,
        generation: Some(12),
        snapshot: None,
        continues: None,
        spec_digest: Digest::of_bytes(b"spec"),
        catalogs: BTreeMap::new(),
        providers: BTreeMap::new(),
    };
    Plan { changes, unchanged: 12, ..Plan::without_changes("prod", Mode::Apply, binding) }
}

fn pull_request(branch: &str) -> PullRequest {
    PullRequest {
        number: 7,
        open: true,
        merged: false,
        author: "ada".to_owned(),
        head: Revision::parse(&"b".repeat(40)).unwrap(),
        base: Revision::parse(&"a".repeat(40)).unwrap(),
        base_branch: branch.to_owned(),
        from_fork: false,
        labels: Vec::new(),
    }
}

fn render(plan: &Plan, before: Option<&Plan>, approvals: &Outcome, limit: usize) -> String {
    let pull_request = pull_request("main");
    let preview = Preview {
        pull_request: &pull_request,
        plan,
        before,
        weakened: &[],
        untrusted: false,
        approvals,
        by_review: true,
    };
    preview.render(limit).unwrap()
}

fn two() -> Vec<ResourceChange> {
    vec![
        change("sim_network.a", ChangeAction::Create, "a"),
        change("sim_network.b", ChangeAction::Delete, "b"),
    ]
}

#[test]
fn a_comment_has_all_parts() {
    let plan = plan(two());
    let digest = plan.digest().unwrap();
    let approvals = Outcome {
        needed: 2,
        given: vec![Given { person: "grace".to_owned(), at: "2026-11-26T12:00:00Z".parse().unwrap() }],
        refused: vec![Refused { person: "eve".to_owned(), reason: Reason::NotNamed }],
        ..Outcome::default()
    };
    let before = self::plan(two().into_iter().take(1).collect());
    let body = render(&plan, Some(&before), &approvals, 60_000);
    let (marker, _) = Marker::split(&body).unwrap();
    assert_eq!(marker.digest, Some(digest.clone()));
    assert_eq!((marker.generation, marker.stale), (Some(12), false));
    for part in [
        "### Plan for `prod`",
        "#### Dangerous: 1 change",
        "Of these 2 changes, 1 are pending on `main` without this pull request.",
        "- `sim_network.a`",
        "#### Approvals: 1 of 2",
        "| `grace` | counts, 2026-11-26T12:00:00Z |",
        "| `eve` | refused: the policy does not name this person |",
        &format!("/slipway approve {digest}\n"),
        "made from state generation 12.",
        "Base `main` at `aaaaaaaaaaaa`, head `bbbbbbbbbbbb`.",
    ] {
        assert!(body.contains(part), "no {part} in\n{body}");
    }
}

#[test]
fn changes_that_are_pending_anyway_are_not_those_of_the_pull_request() {
    let plan = plan(two());
    let none = Outcome::default();
    let all = render(&plan, Some(&plan), &none, 60_000);
    assert!(
        all.contains("**Not by this pull request:** all of these changes are pending on `main`"),
        "{all}"
    );
    let other = self::plan(vec![change("sim_network.a", ChangeAction::Create, "another name")]);
    assert!(!render(&plan, Some(&other), &none, 60_000).contains("pending"));
    assert!(render(&plan, None, &none, 60_000).contains("cannot be planned"));
    assert!(!render(&plan, Some(&plan), &none, 60_000).contains("Approvals"), "none is needed");
}

#[test]
fn a_comment_fits_and_keeps_what_is_dangerous() {
    let many = |count: usize, action| {
        (0..count).map(move |number| {
            change(&format!("sim_network.n{number:05}"), action, &format!("{number} {}", "x".repeat(200)))
        })
    };
    let mut changes: Vec<_> = many(400, ChangeAction::Create).collect();
    changes.extend(
        ('a'..='t').map(|name| change(&format!("sim_volume.v-{name}"), ChangeAction::Delete, "data")),
    );
    let plan = plan(changes);
    let approvals = Outcome { needed: 1, ..Outcome::default() };
    let whole = render(&plan, Some(&plan), &approvals, 250_000);
    assert!(whole.contains("<details>") && !whole.contains("Left out here"));
    let limit = whole.len() - 100;
    let body = render(&plan, Some(&plan), &approvals, limit);
    assert!(body.len() <= limit, "{}", body.len());
    assert!(body.contains("Left out here for its length."), "harmless changes are shortened");
    for name in 'a'..='t' {
        assert!(body.contains(&format!("v-{name}")), "{name} is missing in\n{body}");
    }
    let dangerous = body.find("#### Dangerous: 20 changes").unwrap();
    assert_eq!(body[..dangerous].matches("<details>").count(), 0, "nothing folds it away");
    let deletes = self::plan(many(3_000, ChangeAction::Delete).collect());
    let body = render(&deletes, None, &Outcome::default(), 10_000);
    assert!(body.len() <= 10_000 && body.contains("| Delete | `sim_network` | 3000 |"), "{body}");
}

#[test]
fn foreign_texts_have_no_effect() {
    let mut plan = plan(vec![change("sim_network.a", ChangeAction::Delete, EVIL)]);
    plan.cluster = EVIL.to_owned();
    let approvals = Outcome {
        needed: 1,
        refused: vec![Refused { person: EVIL.to_owned(), reason: Reason::NotNamed }],
        ..Outcome::default()
    };
    let pull_request = pull_request(EVIL);
    let preview = Preview {
        pull_request: &pull_request,
        plan: &plan,
        before: None,
        weakened: &[],
        untrusted: true,
        approvals: &approvals,
        by_review: true,
    };
    let texts = [
        preview.render(60_000).unwrap(),
        without_plan(&MarkedPart::Cluster(EVIL.to_owned()), &pull_request, ("It failed.", EVIL), 60_000),
    ];
    for body in texts {
        let line = body.lines().next().unwrap_or_default();
        assert_eq!((line.matches("-->").count(), line.ends_with("-->")), (1, true), "{line}");
        // Outside of code there is none of it.
        let outside = without_code(&body);
        for part in ["@ada", "<b>", "](http", "/merge", "</summary><b>"] {
            assert!(!outside.contains(part), "{part} in\n{outside}\nof\n{body}");
        }
    }
}

/// The lines outside of fenced blocks, without their code spans, as CommonMark reads them.
fn without_code(body: &str) -> String {
    let mut text = String::new();
    let mut fence: Option<usize> = None;
    for line in body.lines().skip(1) {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            Some(open) if ticks >= open && line.trim_matches('`').is_empty() => fence = None,
            Some(_) => {}
            None if ticks >= 3 => fence = Some(ticks),
            None => {
                let mut rest = line;
                while let Some(start) = rest.find('`') {
                    text.push_str(&rest[..start]);
                    let after = rest[start..].trim_start_matches('`');
                    let open = &rest[start..rest.len() - after.len()];
                    let end = (0..after.len()).find(|at| {
                        after[*at..].starts_with(open)
                            && !after[*at + open.len()..].starts_with('`')
                            && !after[..*at].ends_with('`')
                    });
                    rest = end.map_or("", |end| &after[end + open.len()..]);
                }
                text.push_str(rest);
                text.push('\n');
            }
        }
    }
    text
}

#[test]
fn a_long_text_is_cut_with_a_note() {
    let text = "`a problem of the specs` \u{202e}\n".repeat(2_000);
    for limit in [900, 5_000, 60_000] {
        let body = without_plan(&MarkedPart::Specs, &pull_request("main"), ("It failed.", &text), limit);
        assert!(body.len() <= limit, "{limit}: {}", body.len());
        assert!(body.contains("It failed.") && body.contains("The rest is left out"), "{body}");
    }
    let whole = without_plan(&MarkedPart::Specs, &pull_request("main"), ("It failed.", "short"), 60_000);
    assert!(whole.contains("short") && !whole.contains("left out"));
}

#[test]
fn a_comment_is_marked_as_out_of_date_once() {
    let body = render(&plan(two()), None, &Outcome::default(), 60_000);
    let marked = stale(&body, "the base branch moved").unwrap();
    let (marker, rest) = Marker::split(&marked).unwrap();
    assert!(marker.stale);
    assert!(rest.starts_with("> **Out of date:** the base branch moved. A merge would"));
    assert!(rest.contains("### Plan for `prod`"));
    assert!(stale(&marked, "again").is_none());
    assert!(stale("a comment of somebody", "the base branch moved").is_none());
}

#[test]
fn the_status_of_a_plan_waits_for_its_approvals() {
    use crate::model::StatusState::{Pending, Success};
    let changing = plan(two());
    let digest = changing.digest().unwrap();
    let given = vec![Given { person: "grace".to_owned(), at: "2026-11-26T12:00:00Z".parse().unwrap() }];
    let of = |plan: &Plan, needed, given: &[Given]| {
        let outcome = Outcome { needed, given: given.to_vec(), ..Outcome::default() };
        let status = crate::report::of_plan(plan, 0, &outcome, Some("https://ci.example/1")).unwrap();
        assert_eq!(status.context, "slipway/prod");
        (status.state, status.description)
    };
    let mark = crate::report::mark(&digest);
    assert_eq!(of(&changing, 0, &[]), (Success, format!("2 changes, 1 dangerous; {mark}")));
    let waiting = format!("2 changes, 1 dangerous; 0 of 1 approvals; {mark}");
    assert_eq!(of(&changing, 1, &[]), (Pending, waiting));
    assert_eq!(of(&changing, 1, &given).0, Success);
    let (state, words) = of(&plan(Vec::new()), 1, &[]);
    assert_eq!(state, Success);
    assert!(words.starts_with("no changes; plan "), "{words}");
    let outcome = Outcome { needed: 1, ..Outcome::default() };
    let hides = crate::report::of_plan(&plan(Vec::new()), 1, &outcome, None).unwrap();
    assert_eq!(hides.state, Pending);
    assert!(
        hides
            .description
            .starts_with("no changes; 1 setting for hiding or allowing some; 0 of 1 approvals; plan ")
    );
}

#[test]
fn settings_that_hide_changes_stand_above_a_plan_without_changes() {
    let (plan, pull_request) = (plan(Vec::new()), pull_request("main"));
    let weakened: Vec<String> = (0..30).map(|number| format!("`ignoreChanges`: number {number}")).collect();
    let approvals = Outcome { needed: 1, ..Outcome::default() };
    let preview = Preview {
        pull_request: &pull_request,
        plan: &plan,
        before: None,
        weakened: &weakened,
        untrusted: false,
        approvals: &approvals,
        by_review: true,
    };
    let body = preview.render(4_000).unwrap();
    assert!(body.len() <= 4_000);
    let settings = body.find("#### Settings that hide or allow changes").unwrap();
    assert!(settings < body.find("No changes").unwrap(), "{body}");
    assert!(body.contains("number 19\n- … and 10 more") && body.contains("Approvals: 0 of 1"), "{body}");
}
