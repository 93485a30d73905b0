//! The search for providers. A spec has no influence on it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use slipway_resource::provider::executable_name;

use crate::Error;
use crate::manifest::{Installed, check_name};

/// Environment variable with directories to search first, separated as in `PATH`.
pub const PATH_VARIABLE: &str = "SLIPWAY_PROVIDER_PATH";

/// Directories that are searched for providers; the first match wins.
///
/// In each directory a provider is `<name>/provider.toml`, `slipway-provider-<name>.toml`, or a
/// `provider.toml` that has its name; the executable is beside the file. The directory of the running
/// executable may also be that of a build: then `providers/<name>/provider.toml` of the source tree around it
/// describes the providers, and their executables are beside the running one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPath {
    directories: Vec<PathBuf>,
    own: Option<PathBuf>,
}

impl SearchPath {
    /// A search path of these directories.
    pub fn new(directories: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { directories: directories.into_iter().collect(), own: None }
    }

    /// The same, with the directory of the running executable: its content is trusted like that executable.
    #[must_use]
    pub fn with_own(mut self, own: Option<PathBuf>) -> Self {
        self.own = own;
        self
    }

    /// The search path of this process: [`PATH_VARIABLE`], the directory of the running executable, and
    /// `slipway/providers` among the user's data.
    #[must_use]
    pub fn from_environment() -> Self {
        let mut directories = Vec::new();
        if let Some(listed) = std::env::var_os(PATH_VARIABLE) {
            directories.extend(std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()));
        }
        let own = std::env::current_exe().ok().and_then(|executable| executable.parent().map(Path::to_owned));
        directories.extend(own.clone());
        let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).or_else(|| {
            let home = std::env::var_os("HOME")?;
            Some(Path::new(&home).join(".local/share"))
        });
        directories.extend(data.map(|data| data.join("slipway/providers")));
        Self { directories, own }
    }

    /// The same, with these directories before all others.
    #[must_use]
    pub fn after(mut self, directories: impl IntoIterator<Item = PathBuf>) -> Self {
        self.directories.splice(0..0, directories);
        self
    }

    /// The directories, in their order.
    #[must_use]
    pub fn directories(&self) -> &[PathBuf] {
        &self.directories
    }

    /// Finds a provider by name. Runs nothing.
    ///
    /// # Errors
    /// When no directory has it, or the first match cannot be used.
    pub fn find(&self, name: &str) -> Result<Installed, Error> {
        check_name(name)?;
        for directory in &self.directories {
            if let Some(installed) = self.find_in(directory, name)? {
                return Ok(installed);
            }
        }
        let searched: Vec<String> = self.directories.iter().map(|path| path.display().to_string()).collect();
        let executable = executable_name(name);
        let undescribed =
            self.directories.iter().map(|directory| directory.join(&executable)).find(|path| path.is_file());
        Err(Error::NotFound { name: name.to_owned(), searched: searched.join(", "), undescribed })
    }

    /// Finds a provider beside the running executable. Runs nothing.
    ///
    /// # Errors
    /// When the match cannot be used.
    pub fn find_own(&self, name: &str) -> Result<Option<Installed>, Error> {
        check_name(name)?;
        self.own.as_deref().map_or(Ok(None), |own| self.find_in(own, name))
    }

    fn find_in(&self, directory: &Path, name: &str) -> Result<Option<Installed>, Error> {
        let own = [
            directory.join(name).join("provider.toml"),
            directory.join(format!("{}.toml", executable_name(name))),
        ];
        if let Some(file) = own.iter().find(|file| file.is_file()) {
            return named(Installed::read(file)?, name).map(Some);
        }
        let file = directory.join("provider.toml");
        if file.is_file() {
            let installed = Installed::read(&file)?;
            if installed.name() == name {
                return Ok(Some(installed));
            }
        }
        if self.own.as_deref() != Some(directory) {
            return Ok(None);
        }
        let Some(file) = tree(directory).map(|tree| tree.join(name).join("provider.toml")) else {
            return Ok(None);
        };
        if !file.is_file() {
            return Ok(None);
        }
        named(Installed::read_with_executables_in(&file, directory)?, name).map(Some)
    }

    /// Every provider that can be found, each name once, sorted, and the problems of the search. Runs
    /// nothing.
    #[must_use]
    pub fn list(&self) -> (Vec<Installed>, Vec<Error>) {
        let mut found: Vec<Installed> = Vec::new();
        let mut errors = Vec::new();
        // The directory of the executable may also be one of the search path.
        let mut seen = BTreeSet::new();
        let directories = self.directories.iter().filter(|directory| {
            seen.insert(directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf()))
        });
        for file in directories.flat_map(|directory| candidates(directory)) {
            match Installed::read(&file) {
                Ok(installed) if found.iter().any(|other| other.name() == installed.name()) => {}
                Ok(installed) => found.push(installed),
                Err(error) => errors.push(error),
            }
        }
        found.sort_by(|left, right| left.name().cmp(right.name()));
        (found, errors)
    }
}

/// Refuses a file that describes another provider.
fn named(installed: Installed, name: &str) -> Result<Installed, Error> {
    if installed.name() == name {
        return Ok(installed);
    }
    let reason = format!("it is that of provider {}, not of {name}", installed.name());
    Err(Error::Manifest { path: installed.file, reason })
}

/// The folder with the providers' descriptions in the source tree around a directory of built executables.
fn tree(built: &Path) -> Option<PathBuf> {
    // target/<profile>, also below a directory for one purpose or platform.
    let around = built.ancestors().skip(2).take(3);
    around
        .filter(|root| root.join("Cargo.toml").is_file())
        .map(|root| root.join("providers"))
        .find(|path| path.is_dir())
}

/// All files in a directory that may describe a provider, in the order of their names.
fn candidates(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?;
            if name == "provider.toml" || (name.starts_with("slipway-provider-") && name.ends_with(".toml")) {
                return Some(path);
            }
            let inner = path.join("provider.toml");
            inner.is_file().then_some(inner)
        })
        .collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(file: &Path, name: &str, version: &str) {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = format!(
            "name = '{name}'\nversion = '{version}'\nprotocol = ['v1alpha1']\ndescription = 'A cloud.'\n"
        );
        std::fs::write(file, text).unwrap();
    }

    #[test]
    fn the_complete_example_of_the_guide_is_read() {
        let guide = include_str!("../../../docs/guide/providers.md");
        let example = guide.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("slipway-provider-acme.toml");
        std::fs::write(&file, example).unwrap();
        let installed = SearchPath::new([root.path().to_owned()]).find("acme").unwrap();
        assert_eq!(installed.executable, root.path().join("slipway-provider-acme"));
        assert_eq!(installed.offline, Some(root.path().join("slipway-provider-acme-offline")));
        assert_eq!(installed.conformance(), root.path().join("conformance.json"));
        assert_eq!(installed.manifest.environment, Some(vec!["ACME_*".to_owned()]));
    }

    #[test]
    fn the_first_directory_wins() {
        let root = tempfile::tempdir().unwrap();
        let (first, second) = (root.path().join("1"), root.path().join("2"));
        install(&second.join("sim/provider.toml"), "sim", "1.0.0");
        let path = SearchPath::new([first.clone(), second.clone()]);
        assert_eq!(path.find("sim").unwrap().manifest.version, "1.0.0");
        install(&first.join("slipway-provider-sim.toml"), "sim", "2.0.0");
        let found = path.find("sim").unwrap();
        assert_eq!(found.manifest.version, "2.0.0");
        assert_eq!(found.executable, first.join("slipway-provider-sim"));
        install(&second.join("provider.toml"), "aws", "3.0.0");
        assert_eq!(path.find("aws").unwrap().manifest.version, "3.0.0");
        let (listed, errors) = path.list();
        let names: Vec<&str> = listed.iter().map(Installed::name).collect();
        assert_eq!(names, ["aws", "sim"]);
        assert!(errors.is_empty());
    }

    #[test]
    fn a_build_tree_has_its_providers_beside_the_program() {
        let root = tempfile::tempdir().unwrap();
        let built = root.path().join("target/debug");
        std::fs::create_dir_all(&built).unwrap();
        let file = root.path().join("providers/aws/provider.toml");
        install(&file, "aws", "1.0.0");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{text}offline = '../../target/x/slipway-provider-aws-offline'\n"))
            .unwrap();
        let path = SearchPath::new([built.clone()]).with_own(Some(built.clone()));
        assert!(path.find_own("aws").unwrap().is_none(), "no source tree is around it");
        std::fs::write(root.path().join("Cargo.toml"), "").unwrap();
        let found = path.find("aws").unwrap();
        assert_eq!(path.find_own("aws").unwrap().as_ref(), Some(&found));
        assert_eq!(found.executable, built.join("slipway-provider-aws"));
        assert_eq!(found.offline_executable(), None, "nothing is built");
        std::fs::write(built.join("slipway-provider-aws-offline"), "").unwrap();
        assert_eq!(found.offline_executable(), Some(built.join("slipway-provider-aws-offline").as_path()));
        std::fs::write(&found.executable, "").unwrap();
        assert_eq!(found.offline_executable(), Some(found.executable.as_path()));
        // A provider in another directory is not found as the own one.
        let elsewhere = SearchPath::new([built]).with_own(Some(root.path().to_owned()));
        assert!(elsewhere.find_own("aws").unwrap().is_none());
        assert_eq!(elsewhere.find("aws").unwrap_err().code(), "PROVIDER0001");
    }

    #[test]
    fn what_is_missing_or_misnamed_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let path = SearchPath::new([root.path().to_owned()]);
        let missing = path.find("sim").unwrap_err();
        assert_eq!(missing.code(), "PROVIDER0001");
        assert!(missing.hint().unwrap().contains("install slipway-provider-sim"), "{missing:?}");
        // The executable alone is not enough, and the hint names the file that is missing.
        std::fs::write(root.path().join("slipway-provider-sim"), "").unwrap();
        let hint = path.find("sim").unwrap_err().hint().unwrap();
        let executable = root.path().join("slipway-provider-sim").display().to_string();
        assert!(hint.starts_with(&executable) && hint.contains("write slipway-provider-sim.toml"), "{hint}");
        assert_eq!(path.find("../sim").unwrap_err().code(), "PROVIDER0002");
        install(&root.path().join("sim/provider.toml"), "aws", "1.0.0");
        assert_eq!(path.find("sim").unwrap_err().code(), "PROVIDER0003");
        std::fs::write(root.path().join("sim/provider.toml"), "name = 1").unwrap();
        assert_eq!(path.list().1.len(), 1);
    }
}
