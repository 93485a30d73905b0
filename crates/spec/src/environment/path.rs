use std::path::{Component, Path, PathBuf};

/// The path of a base that a file names. `..` is resolved by the letters of the path, before symbolic links.
///
/// # Errors
/// Why the base is not one that a file may name, and the way out.
pub(super) fn of_base(file: &str, base: &str) -> Result<PathBuf, (String, &'static str)> {
    let relative = "write the path of a file or a folder relative to this file, as `../../base`";
    if base.is_empty() {
        return Err(("a base is empty".to_owned(), relative));
    }
    if base.contains("://") {
        let hint = "Slipway does not download bases: keep them in the same repository";
        return Err((format!("the base `{base}` is a URL"), hint));
    }
    if base.contains(char::is_control) {
        return Err(("a base contains control characters".to_owned(), relative));
    }
    if Path::new(base).is_absolute() {
        return Err((format!("the base `{base}` is an absolute path"), relative));
    }
    if file.starts_with('<') {
        let hint = "write the environment to a file, and name the file with `-f`";
        return Err(("an environment on standard input has no folder for its bases".to_owned(), hint));
    }
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let path = normal(&folder.join(base));
    if path == Path::new("-") {
        return Err((format!("the base `{base}` means standard input"), relative));
    }
    Ok(path)
}

/// A path without `.`, and without `..` except at its beginning.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => match normal.components().next_back() {
                Some(Component::Normal(_)) => {
                    normal.pop();
                }
                Some(Component::RootDir) => {}
                _ => normal.push(".."),
            },
            other => normal.push(other),
        }
    }
    if normal.as_os_str().is_empty() { PathBuf::from(".") } else { normal }
}

/// The key by which a file is known, whatever path and symbolic links lead to it.
pub(super) fn key(path: &str) -> PathBuf {
    let path = Path::new(path);
    if let Ok(real) = std::fs::canonicalize(path) {
        return real;
    }
    normal(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_relative_to_the_file_that_names_it() {
        let base = |file: &str, base: &str| of_base(file, base).map(|path| path.display().to_string()).ok();
        let file = "environments/prod/environment.yaml";
        assert_eq!(base(file, "../../base").as_deref(), Some("base"));
        assert_eq!(base(file, "./pools.yaml").as_deref(), Some("environments/prod/pools.yaml"));
        assert_eq!(base(file, "../../../x").as_deref(), Some("../x"));
        assert_eq!(base(file, "../..").as_deref(), Some("."));
        assert_eq!(base("/a/b.yaml", "../../../etc").as_deref(), Some("/etc"));
        assert_eq!(base("../b.yaml", "../base").as_deref(), Some("../../base"));
        for refused in ["", "/etc", "https://example.com/base", "a\nb"] {
            assert_eq!(base(file, refused), None, "{refused:?}");
        }
        assert_eq!(base("environment.yaml", "-"), None);
        assert_eq!(base("<stdin>", "base"), None);
        assert_eq!(key("./a/../b.yaml"), key("b.yaml"));
    }
}
