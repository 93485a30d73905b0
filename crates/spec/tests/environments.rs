//! Environments with bases in folders.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use slipway_spec::{
    Guard, Loaded,
    diagnostic::{Diagnostic, code, render_all},
    load, load_guarded,
};

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../specs/environments").join(name)
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.clusters.iter().map(|cluster| cluster.name.as_str()).collect()
}

#[test]
fn an_environment_is_the_same_alone_and_among_others() {
    let all = load(&[example("")]);
    assert!(all.diagnostics.is_empty(), "{}", render_all(&all.diagnostics));
    assert_eq!(names(&all), ["shop-dev", "shop-prod", "shop-stage"], "the base is no cluster");
    for name in ["dev", "stage", "prod"] {
        let alone = load(&[example(name)]);
        assert!(alone.diagnostics.is_empty(), "{}", render_all(&alone.diagnostics));
        assert_eq!(alone.clusters.len(), 1);
        assert_eq!(alone.cluster(&format!("shop-{name}")), all.cluster(&format!("shop-{name}")));
    }
    let prod = all.cluster("shop-prod").unwrap();
    let sizes: Vec<(&str, u32)> =
        prod.pools.iter().map(|pool| (pool.name.as_str(), pool.size.min())).collect();
    assert_eq!(sizes, [("batch", 2), ("control-plane", 3), ("workers", 3)]);
}

#[test]
fn a_base_that_is_refused_is_reported_at_its_line() {
    let refuse = |path: &Path| {
        let message = format!("{} is not allowed", path.display());
        path.ends_with("base").then(|| Diagnostic::error(code::UNREADABLE, message))
    };
    let guard = Guard { given: &|_| None, bases: &refuse };
    let loaded = load_guarded(&[example("dev")], &[], guard);
    let found: Vec<u32> =
        loaded.diagnostics.iter().map(|problem| problem.location.as_ref().unwrap().line).collect();
    assert_eq!(found, [7], "{}", render_all(&loaded.diagnostics));
    assert!(loaded.clusters.is_empty());
}

#[test]
fn links_in_bases_are_followed_once_and_what_is_no_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["base", "prod"] {
        fs::create_dir(at(name)).unwrap();
    }
    let base = fs::read_to_string(example("../minimal/cluster.yaml")).unwrap();
    fs::write(at("base/cluster.yaml"), base).unwrap();
    symlink(folder.path(), at("base/circle")).unwrap();
    let environment = |bases: &str| {
        format!(
            "apiVersion: slipway.dev/v1alpha1\nkind: Environment\nmetadata: {{ name: prod }}\nspec:\n  bases: [{bases}]\n"
        )
    };
    // Through the circle, the base contains the environment.
    fs::write(at("prod/environment.yaml"), environment("../base")).unwrap();
    let codes = |loaded: &Loaded| -> Vec<&'static str> {
        loaded.diagnostics.iter().map(|problem| problem.code.id).collect()
    };
    let loaded = load(&[at("prod")]);
    assert_eq!(codes(&loaded), ["SPEC0100"]);

    fs::remove_file(at("base/circle")).unwrap();
    let loaded = load(&[at("prod")]);
    assert_eq!((names(&loaded), codes(&loaded)), (vec!["minimal"], vec![]));

    symlink("/dev/zero", at("zero.yaml")).unwrap();
    fs::write(at("prod/environment.yaml"), environment("../base, ../zero.yaml, ../nothing")).unwrap();
    let loaded = load(&[at("prod")]);
    assert_eq!(codes(&loaded), ["LIMIT0001", "SPEC0011"]);
    assert!(
        loaded.diagnostics.iter().all(|problem| problem.location.as_ref().is_some_and(|at| at.line == 5))
    );
}

/// A folder with an environment of these bases in `prod`.
fn with_bases(bases: &[String]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["base", "prod"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let environment = format!(
        "apiVersion: slipway.dev/v1alpha1\nkind: Environment\nmetadata: {{ name: prod }}\nspec:\n  bases: [{}]\n",
        bases.join(", ")
    );
    fs::write(folder.path().join("prod/environment.yaml"), environment).unwrap();
    folder
}

#[test]
fn what_many_paths_to_one_base_read_is_bounded() {
    let bases: Vec<String> = (0..20).map(|index| format!("../link{index}")).collect();
    let folder = with_bases(&bases);
    // 4 MB each time.
    fs::write(folder.path().join("base/comment.yaml"), "#".repeat(4_000_000)).unwrap();
    for index in 0..20 {
        symlink("base", folder.path().join(format!("link{index}"))).unwrap();
    }
    let loaded = load(&[folder.path().join("prod")]);
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|problem| problem.code.id).collect();
    assert!(codes.contains(&"LIMIT0003"), "{codes:?}");
}

#[test]
fn a_file_that_is_not_called_like_a_spec_is_no_base() {
    let folder = with_bases(&["../config".to_owned(), "../.env".to_owned()]);
    for name in ["config", ".env"] {
        fs::write(folder.path().join(name), "url: https://hunter2@slipway.dev\n\tbroken").unwrap();
    }
    let loaded = load(&[folder.path().join("prod")]);
    let codes: Vec<&str> = loaded.diagnostics.iter().map(|problem| problem.code.id).collect();
    assert_eq!(codes, ["SPEC0100", "SPEC0100"]);
    assert!(!render_all(&loaded.diagnostics).contains("hunter2"));
}
