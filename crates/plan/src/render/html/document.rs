//! The document around the parts of the page.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_resource::Digest;

use super::super::group::View;
use super::head;
use super::section::Section;

/// The style of the page, for screens in light and dark and for paper.
const STYLE: &str = include_str!("page.css");

/// The script of the page.
const SCRIPT: &str = include_str!("page.js");

/// Arrows of graphs, which all pictures of the page share.
const SHARED: &str = "<svg class=\"shared\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>\
    <marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">\
    <path d=\"M0 0.5 L8 4 L0 7.5 z\"/></marker></defs></svg>\n";

/// What the script shows: search, and buttons that fold and unfold.
const TOOLS: &str = "<div class=\"tools\" id=\"tools\" role=\"search\" hidden>\n\
    <label class=\"find\"><span class=\"spoken\">Search changes</span>\
    <input id=\"find\" type=\"search\" placeholder=\"Search names, values, reasons\" autocomplete=\"off\" \
    spellcheck=\"false\" aria-keyshortcuts=\"/\"><kbd aria-hidden=\"true\">/</kbd></label>\n\
    <p id=\"found\" role=\"status\"></p>\n\
    <button type=\"button\" id=\"unfold\">Unfold all</button>\n\
    <button type=\"button\" id=\"fold\">Fold all</button>\n</div>\n";

/// Puts the page together.
pub(super) fn document(view: &View<'_>, head: &str, tiles: &str, sections: &[Section]) -> String {
    let title = head::title(view.plan);
    let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str(&format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n", policy()));
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    out.push_str("<meta name=\"referrer\" content=\"no-referrer\">\n");
    out.push_str("<meta name=\"format-detection\" content=\"telephone=no\">\n");
    out.push_str(&format!("<link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n"));
    out.push_str(&format!("<style>{STYLE}</style>\n</head>\n<body>\n"));
    out.push_str("<a class=\"skip\" href=\"#main\">Skip to the changes</a>\n");
    out.push_str(SHARED);
    out.push_str(head);
    out.push_str(&format!("<div class=\"bar\">\n{tiles}{TOOLS}</div>\n"));
    out.push_str("<div class=\"columns\">\n");
    if sections.len() > 1 {
        out.push_str("<nav class=\"contents\" aria-label=\"Contents\">\n<ul>\n");
        sections.iter().for_each(|section| section.write_link(&mut out));
        out.push_str("</ul>\n</nav>\n");
    }
    out.push_str("<main id=\"main\" tabindex=\"-1\">\n");
    sections.iter().for_each(|section| section.write(&mut out));
    out.push_str("<p id=\"none\" hidden>No change matches.</p>\n</main>\n</div>\n");
    if !view.plan.steps.is_empty() {
        out.push_str("<footer class=\"foot\">Apply exactly this plan with <code>slipway apply PLANFILE</code>.</footer>\n");
    }
    out.push_str(&format!("<script>{SCRIPT}</script>\n</body>\n</html>\n"));
    out
}

/// The content security policy: the style and the script of this page, and nothing else. `data:` is the empty icon, without
/// which a browser asks the server for one.
fn policy() -> String {
    format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        source(STYLE),
        source(SCRIPT)
    )
}

/// The source expression of an inline element: its hash, as in Content Security Policy Level 3, 2.3.1.
fn source(text: &str) -> String {
    let digest = Digest::of_bytes(text.as_bytes());
    let digits = digest.hex().as_bytes();
    let bytes: Vec<u8> = digits
        .chunks_exact(2)
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect();
    format!("'sha256-{}'", STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_the_specification() {
        // The example of Content Security Policy Level 3.
        let expected = "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='";
        assert_eq!(source("alert('Hello, world.');"), expected);
    }

    #[test]
    fn style_and_script_end_where_they_should() {
        for text in [STYLE, SCRIPT] {
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
        for word in ["innerHTML", "eval", "fetch", "http", "url(", "@import"] {
            assert!(!SCRIPT.contains(word) && !STYLE.replace("url(#tip)", "").contains(word), "{word}");
        }
    }
}
