//! The page of a plan: its structure, and texts that cannot leave their place in it.

use insta::assert_snapshot;
use proptest::prelude::*;
use slipway_plan::{Mode, Plan, render};

use crate::fixture;

/// The elements of the page.
const ELEMENTS: &[&str] = &[
    "a", "b", "body", "button", "code", "dd", "defs", "del", "details", "div", "dl", "dt", "footer", "g",
    "h1", "h2", "head", "header", "html", "i", "input", "ins", "kbd", "label", "li", "link", "main", "mark",
    "marker", "meta", "nav", "ol", "p", "path", "pre", "rect", "script", "section", "span", "strong",
    "style", "summary", "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr", "ul",
];

/// Elements without an end.
const VOID: &[&str] = &["input", "link", "meta"];

/// Attributes whose values come from plans; all others are words of the program.
const FREE: &[&str] = &["aria-label", "content"];

/// The page without its style and script.
fn body(page: &str) -> String {
    let (before, style) = page.split_once("<style>").unwrap();
    let (_, rest) = style.split_once("</style>").unwrap();
    let (between, script) = rest.split_once("<script>").unwrap();
    let (_, after) = script.split_once("</script>").unwrap();
    let (before, policy) = before.split_once("sha256-").unwrap();
    let (_, before_end) = policy.split_once("\">").unwrap();
    format!("{before}…\">{before_end}<style></style>{between}<script></script>{after}")
}

/// The elements in their order with their attributes; fails where one is unknown, unquoted, or ends where it may not.
fn elements(page: &str) -> Vec<String> {
    let body = body(page);
    let mut rest = body.strip_prefix("<!DOCTYPE html>").unwrap();
    let mut open: Vec<String> = Vec::new();
    let mut found = Vec::new();
    while let Some(start) = rest.find('<') {
        text(&rest[..start]);
        let end = rest[start..].find('>').map(|end| start + end).unwrap();
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "in {tag}");
            continue;
        }
        let is_empty = tag.ends_with('/');
        let tag = tag.trim_end_matches('/');
        let name = tag.split([' ', '\n']).next().unwrap();
        assert!(ELEMENTS.contains(&name), "<{tag}>");
        found.push(format!("{name} {}", attributes(&tag[name.len()..])));
        if !is_empty && !VOID.contains(&name) {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    found
}

/// The attributes of an element, quoted, without the values that a plan gives.
fn attributes(tag: &str) -> String {
    let mut out = String::new();
    let mut rest = tag.trim();
    while !rest.is_empty() {
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let name = &rest[..end];
        assert!(name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b':'), "{tag}");
        assert!(!name.starts_with("on") && name != "style" && name != "src", "{tag}");
        rest = &rest[end..];
        let Some(value) = rest.strip_prefix("=\"") else {
            out.push_str(name);
            rest = rest.trim_start();
            continue;
        };
        let (value, after) = value.split_once('"').unwrap();
        text(value);
        if name == "href" {
            assert!(value.starts_with('#') || value == "data:,", "{tag}");
        }
        if name == "class" || name == "id" {
            assert!(value.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b' '), "{tag}");
        }
        out.push_str(&if FREE.contains(&name) { name.to_owned() } else { format!("{name}={value}") });
        out.push(' ');
        rest = after.trim_start();
    }
    out
}

/// A text has no character that would begin something else, and none that is not seen.
fn text(text: &str) {
    for (start, _) in text.match_indices('&') {
        let entity = text[start..].split(';').next().unwrap();
        assert!(["&amp", "&lt", "&gt", "&quot", "&#39"].contains(&entity), "{entity}");
    }
    let is_odd = |c: char| {
        c.is_control() && c != '\n'
            || matches!(c, '<' | '>' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.contains(is_odd), "{text:?}");
}

#[test]
fn page_of_everything() {
    let page = render::html(&fixture::priced());
    elements(&page);
    assert_snapshot!(body(&page));
}

#[test]
fn pages_of_plans_that_do_nothing() {
    let mut plan = fixture::empty();
    let page = render::html(&plan);
    assert!(page.contains("No changes. main is as its spec says."), "{page}");
    assert!(!page.contains("<section") && !page.contains("<nav"), "{page}");
    plan.mode = Mode::Drift;
    plan.drift = fixture::rich().drift;
    let page = render::html(&plan);
    elements(&page);
    assert!(page.contains("Drift: 2 resources of main changed outside Slipway."), "{page}");
    assert!(page.contains("<section class=\"part\" id=\"drift\""), "{page}");
}

#[test]
fn the_same_plan_gives_the_same_bytes() {
    let plan = fixture::priced();
    assert_eq!(render::html(&plan), render::html(&plan.clone()));
}

#[test]
fn every_resource_of_a_large_plan_is_there_and_the_page_is_small() {
    let plan = fixture::large(1_250);
    let page = render::html(&plan);
    assert!(page.len() < 5_000_000, "{} bytes", page.len());
    let names: std::collections::HashSet<&str> = page.split(['<', '>', ' ']).collect();
    for change in &plan.changes {
        let address = change.address.to_string();
        assert!(names.contains(change.address.name()) || names.contains(address.as_str()), "{address}");
    }
    let dangerous = page.find("id=\"dangerous\"").unwrap();
    let harmless = page.find("id=\"update\"").unwrap();
    assert!(dangerous < harmless);
}

#[test]
fn the_page_grows_with_the_plan_and_no_faster() {
    let size = |each| render::html(&fixture::large(each)).len() - render::html(&fixture::large(1)).len();
    let (one, four) = (size(250), size(1_000));
    assert!(four < one * 5, "{one}, {four}");
}

#[test]
fn one_text_cannot_change_the_page() {
    let page = render::html(&fixture::hostile(fixture::HOSTILE));
    elements(&page);
    assert!(!page.contains("<img"), "{page}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn texts_never_leave_their_place(
        parts in prop::collection::vec(
            prop_oneof![
                Just("</script>".to_owned()), Just("\"><img onerror=x>".to_owned()), Just("'".to_owned()),
                Just("<!--".to_owned()), Just("-->".to_owned()), Just("]]>".to_owned()), Just("&amp;lt;".to_owned()),
                Just("&#x3c;".to_owned()), Just("\u{202e}".to_owned()), Just("\u{2067}".to_owned()),
                Just("\u{0}".to_owned()), Just("\u{1b}[2J".to_owned()), Just("</svg>".to_owned()),
                Just("\n".to_owned()), Just("\r\n\t".to_owned()), any::<char>().prop_map(String::from),
            ],
            1..8,
        )
    ) {
        let plan: Plan = fixture::hostile(&parts.concat());
        elements(&render::html(&plan));
    }
}
