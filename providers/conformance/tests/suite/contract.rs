//! The page that people read and the rules that are proved are the same.

use std::path::Path;

use slipway_provider_conformance::RULES;

#[test]
fn the_page_has_every_rule_as_it_is_proved() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design/provider-contract.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .filter(|cells: &Vec<&str>| cells.len() == 5)
        .collect();
    let written: Vec<(String, &str, &str)> =
        rows.iter().map(|cells| (cells[0].trim_matches('`').to_owned(), cells[1], cells[2])).collect();
    let proved: Vec<(String, &str, &str)> = RULES
        .iter()
        .map(|rule| {
            let mandatory = if rule.mandatory { "yes" } else { "no" };
            (rule.id.to_owned(), mandatory, rule.text)
        })
        .collect();
    assert_eq!(written, proved);
}
