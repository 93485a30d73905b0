//! The page of a plan in a real browser: what it loads, how it looks, and how it is used.

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use insta::assert_snapshot;
use serde_json::Value as Json;
use slipway_plan::{Plan, render};
use slipway_testkit::Chromium;
use slipway_testkit::chromium::Page;
use slipway_testkit::scratch::Scratch;

use crate::{fixture, pictures};

/// One browser for all tests of this program.
static BROWSER: LazyLock<Mutex<Chromium>> = LazyLock::new(|| Mutex::new(Chromium::start().unwrap()));

/// What tests ask of a page.
const LOOK: &str = include_str!("browser.js");

fn browser() -> MutexGuard<'static, Chromium> {
    BROWSER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Opens the page of a plan; the folder has to outlive it.
fn open(page: &mut Page<'_>, plan: &Plan) -> Scratch {
    let scratch = Scratch::new("page").unwrap();
    let file = scratch.path().join("plan.html");
    let html = render::html(plan);
    pictures::show(&format!("{}.html", plan.changes.len()), &html);
    std::fs::write(&file, html).unwrap();
    page.open(&file).unwrap();
    scratch
}

fn ask(page: &mut Page<'_>, expression: &str) -> Json {
    page.evaluate(expression).unwrap()
}

/// Plans of about ten and of five thousand resources.
fn plans() -> [(&'static str, Plan); 2] {
    [("small", fixture::priced()), ("large", fixture::large(1_250))]
}

#[test]
fn pages_load_nothing_and_complain_of_nothing() {
    let mut browser = browser();
    for (name, plan) in plans() {
        let mut page = browser.page().unwrap();
        let _place = open(&mut page, &plan);
        let requests = page.requests().unwrap();
        assert_eq!(requests.len(), 1, "{name}: {requests:?}");
        assert_eq!(page.complaints().unwrap(), [""; 0], "{name}");
    }
}

#[test]
fn nothing_overlaps_and_every_text_can_be_read() {
    let mut browser = browser();
    for (name, plan) in plans() {
        let mut page = browser.page().unwrap();
        let _place = open(&mut page, &plan);
        ask(&mut page, LOOK);
        // Paper is about 760 pixels wide.
        let looks = [
            ("screen", "light", 1280),
            ("screen", "dark", 1280),
            ("screen", "dark", 420),
            ("print", "dark", 760),
        ];
        for (medium, scheme, width) in looks {
            page.size(width, 1000).unwrap();
            page.show_as(medium, scheme).unwrap();
            let about = format!("{name}-{medium}-{scheme}-{width}");
            assert_eq!(ask(&mut page, "look.overlaps()"), Json::Array(vec![]), "{about}");
            assert_eq!(ask(&mut page, "look.faint()"), Json::Array(vec![]), "{about}");
            pictures::show(&format!("{about}.png"), page.picture().unwrap());
        }
    }
}

#[test]
fn the_parts_have_their_places() {
    let mut browser = browser();
    let mut page = browser.page().unwrap();
    let _place = open(&mut page, &fixture::priced());
    ask(&mut page, LOOK);
    let mut layouts = String::new();
    for (medium, width) in [("screen", 1280), ("screen", 420), ("print", 800)] {
        page.size(width, 1000).unwrap();
        page.show_as(medium, "light").unwrap();
        let lines = ask(&mut page, "look.layout().join('\\n')");
        layouts.push_str(&format!("{medium} {width}\n{}\n\n", lines.as_str().unwrap()));
    }
    assert_snapshot!(layouts);
}

#[test]
fn changes_are_searched_and_filtered_by_keyboard() {
    let mut browser = browser();
    let mut page = browser.page().unwrap();
    let _place = open(&mut page, &fixture::large(1_250));
    let focused = "document.activeElement.id || document.activeElement.closest('.entry')?.textContent";
    let found = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => \
                 done(document.getElementById('found').textContent))))";
    page.press("/").unwrap();
    assert_eq!(ask(&mut page, focused), "find");
    page.type_text("HOST-777.").unwrap();
    assert_eq!(ask(&mut page, found), "1 of 5000 changes");
    pictures::show("search.png", page.picture().unwrap());
    page.press("Enter").unwrap();
    let entry = ask(&mut page, focused);
    assert!(entry.as_str().unwrap().contains("host-777.example.com"), "{entry}");
    assert_eq!(ask(&mut page, "document.activeElement.closest('.entry').open"), true);
    page.press("/").unwrap();
    page.type_text("no such thing").unwrap();
    assert_eq!(ask(&mut page, found), "0 of 5000 changes");
    assert_eq!(ask(&mut page, "document.getElementById('none').checkVisibility()"), true);
    page.press("Escape").unwrap();
    assert_eq!(ask(&mut page, found), "");
    ask(&mut page, "document.querySelector('.tile.delete').focus()");
    page.press(" ").unwrap();
    assert_eq!(ask(&mut page, found), "1250 of 5000 changes");
    page.press("Enter").unwrap();
    assert_eq!(ask(&mut page, found), "");
    assert_eq!(page.complaints().unwrap(), [""; 0]);
}

#[test]
fn parts_fold_by_keyboard_and_a_box_of_the_graph_unfolds_its_steps() {
    let mut browser = browser();
    let mut page = browser.page().unwrap();
    let _place = open(&mut page, &fixture::large(1_250));
    let is_open = "document.activeElement.parentElement.open";
    ask(&mut page, "document.querySelector('.entry > summary, .type > summary').focus()");
    let before = ask(&mut page, is_open).as_bool().unwrap();
    page.press("Enter").unwrap();
    assert_eq!(ask(&mut page, is_open), !before);
    let at = "[...document.querySelectorAll('main summary')].filter(node => node.checkVisibility()).indexOf(document.activeElement)";
    let place = ask(&mut page, at).as_i64().unwrap();
    page.press("ArrowDown").unwrap();
    assert_eq!(ask(&mut page, at), place + 1);
    let steps = "document.querySelector('.graph a').href.baseVal.slice(1)";
    let is_seen = format!("document.getElementById({steps}).checkVisibility()");
    assert_eq!(ask(&mut page, &is_seen), false);
    ask(&mut page, "document.querySelector('.graph a').focus()");
    page.press("Enter").unwrap();
    assert_eq!(ask(&mut page, &is_seen), true);
    for (button, open) in [("unfold", true), ("fold", false)] {
        ask(&mut page, &format!("document.getElementById('{button}').focus()"));
        page.press("Enter").unwrap();
        let folds =
            format!("[...document.querySelectorAll('main details')].every(node => node.open === {open})");
        assert_eq!(ask(&mut page, &folds), true, "{button}");
    }
    assert_eq!(page.complaints().unwrap(), [""; 0]);
}

#[test]
fn the_focus_goes_through_the_page_and_is_seen() {
    let mut browser = browser();
    let mut page = browser.page().unwrap();
    let _place = open(&mut page, &fixture::priced());
    let mut seen = Vec::new();
    for _ in 0..60 {
        page.press("Tab").unwrap();
        let outline = "(() => { const node = document.activeElement, style = getComputedStyle(node); \
                       const shape = node.querySelector?.('rect'); \
                       const isSeen = style.outlineStyle !== 'none' || (shape && getComputedStyle(shape).strokeWidth === '2.5px'); \
                       return node.localName + '.' + (node.id || node.getAttribute('class') || '') + (isSeen ? '' : ' is not seen'); })()";
        let name = ask(&mut page, outline).as_str().unwrap().to_owned();
        if name.starts_with("body") {
            // The focus left the page at its end.
            break;
        }
        seen.push(name);
    }
    assert_eq!(seen.first().map(String::as_str), Some("a.skip"));
    assert!(seen.iter().any(|name| name == "input.find"), "{seen:?}");
    assert!(seen.iter().any(|name| name.starts_with("summary")), "{seen:?}");
    let unseen: Vec<&String> = seen.iter().filter(|name| name.contains("is not seen")).collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}

#[test]
fn without_script_everything_is_there() {
    let mut browser = browser();
    let mut page = browser.page().unwrap();
    page.without_script().unwrap();
    let _place = open(&mut page, &fixture::priced());
    assert_eq!(ask(&mut page, "document.getElementById('tools').checkVisibility()"), false);
    assert_eq!(ask(&mut page, "document.querySelectorAll('.entry').length > 10"), true);
    ask(&mut page, "document.querySelector('main details:not([open]) > summary').focus()");
    page.press("Enter").unwrap();
    assert_eq!(ask(&mut page, "document.activeElement.parentElement.open"), true);
}

#[test]
fn all_of_it_is_printed() {
    let mut browser = browser();
    let mut page = browser.page().unwrap();
    let _place = open(&mut page, &fixture::large(30));
    let folded = "document.querySelectorAll('details:not([open])').length";
    let before = ask(&mut page, folded);
    assert_ne!(before, 0);
    ask(
        &mut page,
        "addEventListener('beforeprint', () => { window.folded = document.querySelectorAll('details:not([open])').length })",
    );
    assert!(page.printed().unwrap().starts_with(b"%PDF"));
    assert_eq!(ask(&mut page, "window.folded"), 0);
    assert_eq!(ask(&mut page, folded), before);
    // Without the script, the style unfolds all.
    page.show_as("print", "light").unwrap();
    let hidden =
        "[...document.querySelectorAll('main li, main dd')].filter(node => !node.checkVisibility()).length";
    assert_eq!(ask(&mut page, hidden), 0);
    assert_eq!(ask(&mut page, "document.getElementById('tools').checkVisibility()"), false);
}

#[test]
fn texts_of_a_plan_run_nothing() {
    let mut browser = browser();
    let mut page = browser.page().unwrap();
    let _place = open(&mut page, &fixture::hostile(fixture::HOSTILE));
    assert_eq!(ask(&mut page, "window.hit"), Json::Null);
    assert_eq!(ask(&mut page, "document.querySelectorAll('img, iframe, object, [onerror]').length"), 0);
    assert_eq!(page.requests().unwrap().len(), 1);
    assert_eq!(page.complaints().unwrap(), [""; 0]);
    // The policy stops a script and an image that come in nevertheless.
    ask(
        &mut page,
        "document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.hit = 1' }))",
    );
    ask(&mut page, "document.body.append(Object.assign(new Image(), { src: 'http://a.test/b.png' }))");
    assert_eq!(ask(&mut page, "window.hit"), Json::Null);
    let refused = page.complaints().unwrap();
    assert!(refused.iter().any(|said| said.contains("Content Security Policy")), "{refused:?}");
}
