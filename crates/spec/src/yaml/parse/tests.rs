use super::*;

fn read(text: &str) -> (Vec<serde_json::Value>, Vec<(u32, String)>) {
    let file = SourceFile::new("a.yaml", text);
    let (documents, diagnostics) = parse(&file);
    let documents = documents.iter().map(|document| document.root.to_json()).collect();
    let problems = diagnostics
        .into_iter()
        .map(|diagnostic| (diagnostic.location.map_or(0, |place| place.line), diagnostic.message))
        .collect();
    (documents, problems)
}

#[test]
fn reads_documents_with_places() {
    let file = SourceFile::new("a.yaml", "a: 1\nb:\n  - x\n  - {c: \"d\"}\n---\ne: |\n  f\n");
    let (documents, diagnostics) = parse(&file);
    assert!(diagnostics.is_empty());
    assert_eq!(documents.len(), 2);
    let root = &documents[0].root;
    let entry = root.get("b").unwrap().items()[1].entry("c").unwrap();
    assert_eq!(entry.key.span.start, Position { line: 4, column: 6 });
    assert_eq!(file.excerpt(entry.value.span), "\"d\"");
    assert_eq!(documents[1].root.get("e").unwrap().as_str(), Some("f\n"));
}

#[test]
fn follows_aliases_and_merge_keys() {
    let (documents, problems) = read("a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3\nc: *x\n");
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(documents[0]["b"], serde_json::json!({"l": 3, "k": 1}));
    assert_eq!(documents[0]["c"]["l"], 2);
}

#[test]
fn reports_mistakes_where_they_are() {
    for (text, line, words) in [
        ("a: 1\na: 2\n", 2, "given twice"),
        ("a:\n\tb: 1\n", 2, "tab"),
        ("a: \"b\nc: 1\nd: 2\n", 1, "never closed"),
        ("a: 'b\nc: 1\n", 1, "never closed"),
        ("a: [1, 2\nb: 1\n", 1, "never closed"),
        ("a:\n  b: 1\n c: 2\n", 3, "indentation"),
        ("a: b: c\n", 1, "begins another key"),
        ("a: 1\nb:2\nc: 3\n", 2, "colon"),
        ("a:\n  -x\n  b: 1\n", 2, "hyphen"),
        ("a: *none\n", 1, "alias"),
        ("a: @b\n", 1, "keeps for itself"),
        ("a: !custom b\n", 1, "tag"),
        ("? [a]\n: b\n", 1, "key is a list"),
    ] {
        let (_, problems) = read(text);
        assert_eq!(problems.len(), 1, "{text:?}: {problems:?}");
        assert_eq!(problems[0].0, line, "{text:?}: {problems:?}");
        assert!(problems[0].1.contains(words), "{text:?}: {problems:?}");
    }
}

#[test]
fn aliases_without_a_value_are_named_where_they_are() {
    for (text, line, column, alias, words) in [
        ("a: *none\n", 1, 4, "*none", "no anchor"),
        ("a: &z [x]\nb: [1, *zz]\n", 2, 8, "*zz", "no anchor"),
        ("a: {b: *zz}\n", 1, 8, "*zz", "no anchor"),
        ("a: 1\n<<: *base\n", 2, 5, "*base", "no anchor"),
        ("a: &z [x]\n---\na: *z\n", 3, 4, "*z", "no anchor"),
        ("a: &z [*z]\n", 1, 8, "*z", "its own anchor"),
        ("a: &z\n  b: *z\n", 2, 6, "*z", "its own anchor"),
        ("a: &z\n  <<: *z\n  b: 1\n", 2, 7, "*z", "its own anchor"),
        ("a: &z {b: &y [*z, *y]}\n", 1, 15, "*z", "its own anchor"),
    ] {
        let file = SourceFile::new("a.yaml", text);
        let (_, problems) = parse(&file);
        let problem = problems.first().unwrap();
        let code = if words == "no anchor" { code::SYNTAX } else { code::ALIAS };
        assert_eq!(problem.code, code, "{text:?}: {problems:?}");
        assert!(problem.message.contains(words), "{text:?}: {problems:?}");
        assert!(problem.message.contains(&format!("`{alias}`")), "{text:?}: {problems:?}");
        let place = problem.location.as_ref().unwrap();
        assert_eq!((place.line, place.column), (line, column), "{text:?}");
    }
}

#[test]
fn goes_on_after_a_mistake() {
    let (documents, problems) = read("a: \"b\n---\nc: 1\n---\n\td: 2\n");
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(documents.last().unwrap()["d"], 2);
    assert!(documents.iter().any(|document| document["c"] == 1));
}

#[test]
fn keeps_what_came_before_a_mistake() {
    let file = SourceFile::new("a.yaml", "a: 1\nb:\n  c: 2\n d: 3\n");
    let (documents, _) = parse(&file);
    assert!(documents[0].truncated);
    assert_eq!(documents[0].root.to_json(), serde_json::json!({"a": 1, "b": {"c": 2}}));
}

#[test]
fn has_a_budget() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..9 {
        let below = format!("*a{},", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let (_, problems) = read(&bomb);
    assert!(problems[0].1.contains("aliases"), "{problems:?}");
    let (_, problems) = read(&"[".repeat(5000));
    assert!(problems[0].1.contains("deeply"), "{problems:?}");
}

#[test]
fn aliases_cost_what_they_repeat() {
    // A text of 1 MiB, sixteen times: little in values, much in bytes. The text and its anchor count too.
    let document = |copies: usize| {
        let text = "x".repeat(1 << 20);
        format!("a: &a \"{text}\"\nb: [{}]\n", "*a,".repeat(copies))
    };
    let (_, problems) = read(&document(13));
    assert!(problems.is_empty(), "{problems:?}");
    let (_, problems) = read(&document(14));
    assert!(problems[0].1.contains("16 MiB"), "{problems:?}");
    // Each anchor keeps a copy of all that is inside it.
    let nested = format!("{}{}{}", "&a [".repeat(60), "x,".repeat(2_000), "]".repeat(60));
    assert!(read(&nested).1[0].1.contains("aliases"));
}

#[test]
fn keys_documents_and_depth_are_bounded() {
    // As an explicit key, since a plain key may have at most 1,024 characters anyway.
    let key = |length: usize| read(&format!("? {}\n: 1\n", "k".repeat(length))).1;
    assert!(key(1024).is_empty());
    assert!(key(1025)[0].1.contains("key is longer"), "{:?}", key(1025));
    let nested = |depth: usize| read(&format!("{}{}", "[".repeat(depth), "]".repeat(depth))).1;
    assert!(nested(64).is_empty());
    assert!(nested(65)[0].1.contains("64 levels"), "{:?}", nested(65));
    let documents = |count: usize| read(&"---\na: 1\n".repeat(count)).1;
    assert!(documents(5_000).is_empty());
    assert!(documents(5_001)[0].1.contains("documents"), "{:?}", documents(5_001));
}

#[test]
fn control_characters_are_named_for_what_they_are() {
    for (text, line, name) in [
        ("a: 1\nb: x\u{1b}[2J\n", 2, "U+001B"),
        ("a: \u{0}\n", 1, "U+0000"),
        ("a: \"\u{9b}\"\n", 1, "U+009B"),
        ("\u{7f}", 1, "U+007F"),
    ] {
        let (_, problems) = read(text);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].0, line);
        assert!(problems[0].1.contains(name), "{problems:?}");
    }
    assert!(read("\u{feff}a: \"\\e[2J grün \u{85}\"\r\n").1.is_empty());
}

#[test]
fn only_tags_of_the_core_schema_are_known() {
    for good in ["!!str 1", "!!int 5", "!!float 5", "!!bool true", "!!null ~", "!!seq [a]", "!!map {a: 1}"] {
        assert!(read(&format!("a: {good}\n")).1.is_empty(), "{good}");
    }
    for bad in [
        "!!python/object:os.system [a]",
        "!!python/object x",
        "!!binary aGk=",
        "!!int x",
        "!!map [a]",
        "!secret x",
    ] {
        let (_, problems) = read(&format!("a: {bad}\n"));
        assert_eq!(problems.len(), 1, "{bad}: {problems:?}");
        assert!(problems[0].1.contains("tag"), "{bad}: {problems:?}");
    }
}
