//! The policy: turns a name in a spec into a value that may be opened.

use std::path::{Path, PathBuf};

use crate::environment::{fits, is_credential};
use crate::network::{address_of, host_of, is_below, is_here, is_in};
use crate::tree::normal;
use crate::{Reach, Refusal, Settings, Tree, TrustedFile, TrustedUrl, TrustedVariable, is_reserved, reach};

/// The path that names a spec on standard input.
const STANDARD_INPUT: &str = "-";

/// The author of the spec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The caller, who wrote it in a folder of their own.
    #[default]
    Own,
    /// Another person, as in a pull request: beyond the spec's folders, only names are opened that the caller
    /// has allowed.
    Untrusted,
}

/// The location of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderKind {
    /// Part of the program, without network access.
    Embedded,
    /// Part of the program, without network access when offline.
    Linked,
    /// A separate executable beside that of the program: as trusted as the program, as long as it has no
    /// network access.
    Beside,
    /// A separate executable.
    Process,
}

/// A provider that may be used. Only [`Policy`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedProvider {
    name: String,
    lock_file: Option<PathBuf>,
}

impl TrustedProvider {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The lock file that pins it; none for one that needs no pin.
    #[must_use]
    pub fn lock_file(&self) -> Option<&Path> {
        self.lock_file.as_deref()
    }
}

/// The names that a spec may use, by the settings of the user who runs Slipway.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    settings: Settings,
    mode: Mode,
    read_only: bool,
    home: Option<PathBuf>,
    working: Option<PathBuf>,
}

impl Policy {
    /// A policy for this process: its working directory and its user's home.
    #[must_use]
    pub fn new(settings: Settings, mode: Mode) -> Self {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        Self { settings, mode, read_only: false, home, working: std::env::current_dir().ok() }
    }

    /// The same for specs that are in no folder of the caller, such as the checkout of a source: the working directory does
    /// not count as theirs, wherever they are.
    #[must_use]
    pub fn elsewhere(self) -> Self {
        Self { working: None, ..self }
    }

    /// The same for a command that only shows something: no file is written.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// The same for specs that another person wrote.
    #[must_use]
    pub fn untrusted(mut self) -> Self {
        self.mode = Mode::Untrusted;
        self
    }

    /// The same with one more folder in which specs may name files.
    #[must_use]
    pub fn with_file_root(mut self, folder: &Path) -> Self {
        self.settings.file_roots.push(folder.to_owned());
        self
    }

    /// Whether no file may be written.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.read_only || self.is_untrusted()
    }

    /// Whether another person wrote the spec.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.mode == Mode::Untrusted
    }

    /// The folders of specs that the caller names by these paths: the named folder, or that of the named
    /// file. Also the working directory around them, if the caller wrote the spec and it is not a home
    /// directory. The path `-`, standard input, has no folder.
    #[must_use]
    pub fn tree(&self, paths: &[PathBuf]) -> Tree {
        let mut tree = Tree::default();
        for path in paths.iter().filter(|path| path.as_os_str() != STANDARD_INPUT) {
            let folder = if path.is_dir() { path.clone() } else { parent(path) };
            let within = self.working.as_ref().filter(|working| normal(path).starts_with(working));
            let around = match within {
                Some(working) => Some(working.clone()),
                None => self.is_untrusted().then(|| parent(path)),
            };
            // The caller named a folder inside `around`, so a link out of it comes from the author of the
            // spec.
            let leads_out = around.is_some_and(|around| {
                let (real, around) = (std::fs::canonicalize(&folder), std::fs::canonicalize(around));
                matches!((real, around), (Ok(real), Ok(around)) if !real.starts_with(&around))
            });
            if leads_out {
                tree.add_real(&folder, normal(&folder));
            } else {
                tree.add(&folder);
            }
            if let Some(working) =
                within.filter(|working| !self.is_untrusted() && !self.is_around_home(working))
            {
                tree.add(working);
            }
        }
        for root in &self.settings.file_roots {
            tree.add(root);
        }
        tree
    }

    /// The files of a spec that the caller's own state has. The spec was accepted when it was applied.
    #[must_use]
    pub fn recorded(&self) -> Tree {
        if self.is_untrusted() { Tree::default() } else { Tree::everywhere() }
    }

    fn is_around_home(&self, folder: &Path) -> bool {
        folder.parent().is_none() || self.home.as_ref().is_some_and(|home| home.starts_with(folder))
    }

    /// A file or folder that is read as a spec.
    ///
    /// # Errors
    /// When it is not in the tree, or leads out of it.
    pub fn spec(&self, tree: &Tree, path: &Path) -> Result<(), Refusal> {
        let stream = |place: &str| path.starts_with(place);
        if !self.is_untrusted() && (stream("/dev") || stream("/proc/self/fd")) {
            // A shell passes this path; no repository has such a name.
            return Ok(());
        }
        self.file(tree, "the spec", path).map(drop)
    }

    /// A file that a spec names. `what` describes it in messages. A relative path begins at the working
    /// directory.
    ///
    /// # Errors
    /// When it is not in the tree, or leads out of it.
    pub fn file(&self, tree: &Tree, what: &str, path: &Path) -> Result<TrustedFile, Refusal> {
        let (what, shown) = (what.to_owned(), path.to_owned());
        if !tree.names(path) {
            return Err(Refusal::File { what, path: shown, roots: tree.shown() });
        }
        match std::fs::canonicalize(path) {
            Ok(real) if tree.holds(&real) => Ok(TrustedFile::new(real)),
            Ok(_) => Err(Refusal::Link { what, path: shown, roots: tree.shown() }),
            // The later attempt to open the file reports why it cannot be opened.
            Err(_) => Ok(TrustedFile::new(normal(path))),
        }
    }

    /// A folder that a spec names, with the rules of a file; it need not exist.
    ///
    /// # Errors
    /// As for [`Self::file`].
    pub fn folder(&self, tree: &Tree, what: &str, path: &Path) -> Result<(), Refusal> {
        self.file(tree, what, path)?;
        // For a folder that does not exist yet, check the nearest existing one.
        let there = normal(path).ancestors().find_map(|folder| std::fs::canonicalize(folder).ok());
        match there {
            Some(real) if !tree.holds(&real) && !tree.names(&real) && !tree.is_below(&real) => {
                Err(Refusal::Link { what: what.to_owned(), path: path.to_owned(), roots: tree.shown() })
            }
            _ => Ok(()),
        }
    }

    /// The private key for SSH to a host: in the tree, or among the user's own keys. It is used and never
    /// sent.
    ///
    /// # Errors
    /// When it is elsewhere, or is one of the user's own keys and another person wrote the spec.
    pub fn identity_file(&self, tree: &Tree, path: &Path) -> Result<TrustedFile, Refusal> {
        let mut tree = tree.clone();
        if let Some(home) = self.home.as_ref().filter(|_| !self.is_untrusted()) {
            tree.add(&home.join(".ssh"));
        }
        self.file(&tree, "the SSH key", path)
    }

    /// The file of a secret.
    ///
    /// # Errors
    /// When another person wrote the spec, or as for [`Self::file`].
    pub fn secret_file(&self, tree: &Tree, path: &Path) -> Result<TrustedFile, Refusal> {
        self.secrets(&format!("the file {}", path.display()))?;
        self.file(tree, "the secret", path)
    }

    /// An environment variable that a spec names.
    ///
    /// # Errors
    /// When another person wrote the spec, or the variable has credentials of the caller.
    pub fn variable(&self, name: &str) -> Result<TrustedVariable, Refusal> {
        self.secrets(&format!("the environment variable {name}"))?;
        if is_credential(name) && !fits(name, self.settings.environment.iter().map(String::as_str)) {
            return Err(Refusal::Variable { name: name.to_owned() });
        }
        Ok(TrustedVariable::new(name))
    }

    /// Whether secrets may be opened at all.
    ///
    /// # Errors
    /// When another person wrote the spec.
    pub fn secrets(&self, what: &str) -> Result<(), Refusal> {
        if self.is_untrusted() { Err(Refusal::Secret { what: what.to_owned() }) } else { Ok(()) }
    }

    /// A kubeconfig that a spec names. Returns whether it counts as the caller's own, so that it may run
    /// commands and name files.
    ///
    /// # Errors
    /// When it is neither the caller's nor in the tree.
    pub fn kubeconfig(&self, tree: &Tree, path: &Path) -> Result<bool, Refusal> {
        let named = normal(path);
        if self.settings.kubeconfigs.iter().any(|own| normal(own) == named) {
            return Ok(true);
        }
        if self.is_untrusted() {
            let path = path.display().to_string();
            return Err(Refusal::Kubeconfig {
                path,
                reason: "with --untrusted only one that you name is used".to_owned(),
            });
        }
        self.file(tree, "the kubeconfig", path).map(|_| false)
    }

    /// The URL of an endpoint, and the addresses to which a name in it may resolve. An endpoint that gets the
    /// caller's credentials must be allowed or on this machine.
    ///
    /// # Errors
    /// When it is not allowed.
    pub fn endpoint(&self, url: &str, gets_credentials: bool) -> Result<Reach, Refusal> {
        if is_below(url, &self.settings.endpoints) {
            return Ok(Reach::anywhere());
        }
        let refused = |reason| Err(Refusal::Endpoint { url: url.to_owned(), reason });
        let Some((host, secure)) = host_of(url) else { return refused("which is not an http or https URL") };
        if self.is_untrusted() {
            return refused("and with --untrusted only those that you allow are spoken to");
        }
        let reach = reach::of_server(&host, gets_credentials, &self.settings.host_networks);
        if is_here(&host) {
            return Ok(reach);
        }
        if address_of(&host).is_some_and(is_reserved) {
            return refused(
                "which is not an address of a server: clouds give out credentials of machines there",
            );
        }
        if gets_credentials {
            return refused("which would be spoken to with your credentials");
        }
        if !secure {
            return refused("which is not reached over TLS");
        }
        Ok(reach)
    }

    /// The address or name of a host, and the addresses to which a name may resolve.
    ///
    /// # Errors
    /// When it is not allowed.
    pub fn host(&self, what: &str, address: &str) -> Result<Reach, Refusal> {
        let refused =
            |reason| Err(Refusal::Host { what: what.to_owned(), address: address.to_owned(), reason });
        let reach = Reach::host(address, &self.settings.host_networks);
        if is_in(address, &self.settings.host_networks) {
            return Ok(reach);
        }
        if self.is_untrusted() {
            return refused("and with --untrusted only networks that you allow are spoken to");
        }
        if address_of(address).is_some_and(is_reserved) {
            return refused("which is not an address of a host");
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]%".contains(&byte);
        if address.is_empty() || address.starts_with('-') || !address.bytes().all(is_plain) {
            return refused("which is neither an address nor a name");
        }
        Ok(reach)
    }

    /// The networks and names of hosts that the caller allows, including reserved addresses.
    #[must_use]
    pub fn networks(&self) -> &[String] {
        &self.settings.host_networks
    }

    /// A socket of this machine that a spec names: of the agent of a host that is this machine, or a
    /// forwarded one.
    ///
    /// # Errors
    /// When it is neither in the tree nor in a folder of Slipway.
    pub fn socket(&self, tree: &Tree, path: &Path) -> Result<(), Refusal> {
        let mut tree = tree.clone();
        if !self.is_untrusted() {
            for folder in ["/run/slipway", "/var/run/slipway", "/var/lib/slipway"] {
                tree.add(Path::new(folder));
            }
        }
        self.file(&tree, "the agent's socket", path).map(drop)
    }

    /// A URL that is fetched without credentials.
    ///
    /// # Errors
    /// When it is not allowed.
    pub fn url(&self, url: &str) -> Result<TrustedUrl, Refusal> {
        if is_below(url, &self.settings.urls) {
            return Ok(TrustedUrl::new(url, Reach::anywhere()));
        }
        let refused = |reason| Err(Refusal::Url { url: url.to_owned(), reason });
        let Some((host, _)) = host_of(url) else { return refused("which is not an https URL") };
        if self.is_untrusted() {
            return refused("and with --untrusted only those that you allow are fetched");
        }
        let trusted = TrustedUrl::new(url, Reach::elsewhere());
        match address_of(&host) {
            Some(address) if !trusted.reach().may_be_at(address) => {
                refused("which is not an address of a server")
            }
            None if is_here(&host) => refused("which is this machine"),
            _ => Ok(trusted),
        }
    }

    /// A provider that a spec asks for.
    ///
    /// # Errors
    /// When another person wrote the spec and the caller has not named the provider, or no lock file that
    /// pins it.
    pub fn provider(
        &self,
        name: &str,
        kind: ProviderKind,
        offline: bool,
    ) -> Result<TrustedProvider, Refusal> {
        let trusted = |lock_file| Ok(TrustedProvider { name: name.to_owned(), lock_file });
        if !self.is_untrusted() {
            return trusted(Some(self.lock_file().to_owned()));
        }
        match kind {
            ProviderKind::Embedded => return trusted(self.settings.lock_file.clone()),
            ProviderKind::Linked | ProviderKind::Beside if offline => return trusted(None),
            ProviderKind::Linked | ProviderKind::Beside | ProviderKind::Process => {}
        }
        if !self.settings.providers.iter().any(|allowed| allowed == name) {
            return Err(Refusal::Provider { name: name.to_owned() });
        }
        if kind != ProviderKind::Linked && self.settings.lock_file.is_none() {
            return Err(Refusal::LockFile { name: name.to_owned() });
        }
        trusted(self.settings.lock_file.clone())
    }

    /// The lock file for commands that change it: the caller's, or that of the working directory.
    #[must_use]
    pub fn lock_file(&self) -> &Path {
        self.settings.lock_file.as_deref().unwrap_or(Path::new("slipway.lock"))
    }

    /// The state in its default folder, which neither a flag nor the configuration names.
    ///
    /// # Errors
    /// When another person wrote the spec and the folder exists.
    pub fn unnamed_state(&self, path: &Path) -> Result<(), Refusal> {
        if self.is_untrusted() && std::fs::symlink_metadata(path).is_ok() {
            return Err(Refusal::State { path: path.to_owned() });
        }
        Ok(())
    }

    /// A setting of a provider that only the caller may set.
    ///
    /// # Errors
    /// Always.
    pub fn setting_of_caller(&self, field: &str, provider: &str) -> Result<(), Refusal> {
        Err(Refusal::Setting { field: field.to_owned(), provider: provider.to_owned() })
    }

    /// A setting of a provider that chooses among the caller's credentials.
    ///
    /// # Errors
    /// When another person wrote the spec.
    pub fn credentials(&self, field: &str, value: &str, provider: &str) -> Result<(), Refusal> {
        if !self.is_untrusted() {
            return Ok(());
        }
        let (field, value, provider) = (field.to_owned(), value.to_owned(), provider.to_owned());
        Err(Refusal::Credentials { field, value, provider })
    }
}

fn parent(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

#[cfg(test)]
mod tests;
