//! A Git repository that a test pushes to.

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A bare repository, and a clone of it in which commits are made.
pub struct Repository {
    folder: PathBuf,
}

impl Repository {
    /// A new repository in a folder, with an empty branch `main`.
    pub fn new(folder: &Path) -> Self {
        let repository = Self { folder: folder.to_owned() };
        std::fs::create_dir_all(folder).unwrap();
        repository.git(&["init", "--quiet", "--bare", "--initial-branch=main", "origin.git"], folder);
        repository.git(&["clone", "--quiet", "origin.git", "work"], folder);
        repository
    }

    pub fn url(&self) -> String {
        format!("file://{}", self.folder.join("origin.git").display())
    }

    fn work(&self) -> PathBuf {
        self.folder.join("work")
    }

    /// Writes a file; without a text it is removed.
    pub fn write(&self, path: &str, text: Option<&str>) {
        let path = self.work().join(path);
        match text {
            Some(text) => {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            None => std::fs::remove_file(path).unwrap(),
        }
    }

    /// Makes a symbolic link.
    pub fn link(&self, path: &str, target: &str) {
        std::os::unix::fs::symlink(target, self.work().join(path)).unwrap();
    }

    /// Commits everything and pushes it; `options` go to `git commit`. Returns the commit.
    pub fn push(&self, options: &[&str]) -> String {
        self.git(&["add", "--all"], &self.work());
        let commit = [&["commit", "--quiet", "--allow-empty", "-m", "a change"], options].concat();
        self.git(&commit, &self.work());
        self.git(&["push", "--quiet", "--force", "origin", "HEAD:refs/heads/main"], &self.work());
        self.git(&["rev-parse", "HEAD"], &self.work()).trim().to_owned()
    }

    /// Commits and pushes one file.
    pub fn push_file(&self, path: &str, text: &str) -> String {
        self.write(path, Some(text));
        self.push(&[])
    }

    /// Goes back to another commit in the clone.
    pub fn reset(&self, commit: &str) {
        self.git(&["reset", "--quiet", "--hard", commit], &self.work());
    }

    /// Deletes the branch in the bare repository.
    pub fn delete_branch(&self) {
        self.git(&["update-ref", "-d", "refs/heads/main"], &self.folder.join("origin.git"));
    }

    /// Makes a key for signatures, and lets commits be signed with it. Returns the public key.
    pub fn sign(&self, name: &str) -> String {
        let key = self.folder.join(name);
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-C", "tester@example.com", "-f"])
            .arg(&key)
            .status();
        assert!(made.unwrap().success());
        for (setting, value) in
            [("gpg.format", "ssh"), ("user.signingKey", key.to_str().unwrap()), ("commit.gpgSign", "true")]
        {
            self.git(&["config", setting, value], &self.work());
        }
        std::fs::read_to_string(key.with_extension("pub")).unwrap()
    }

    /// Makes a key of GPG, and lets commits be signed with it. Returns the public key. The agent of the keys ends when the folder
    /// of the repository is removed.
    pub fn sign_by_gpg(&self, name: &str) -> Vec<u8> {
        // git is called with this folder as its home.
        let home = self.folder.join(".gnupg");
        let user = format!("{name}@example.com");
        let make = ["--pinentry-mode", "loopback", "--passphrase", "", "--quick-generate-key", &user];
        gpg(&home, &[&make[..], &["ed25519", "sign", "never"]].concat());
        for (setting, value) in
            [("gpg.format", "openpgp"), ("user.signingKey", user.as_str()), ("commit.gpgSign", "true")]
        {
            self.git(&["config", setting, value], &self.work());
        }
        gpg(&home, &["--export", &user])
    }

    /// Tags the commit of the clone, and pushes the tag; `options` go to `git tag`.
    pub fn tag(&self, name: &str, options: &[&str]) {
        let tag = [&["tag", "--force"], options, &[name]].concat();
        self.git(&tag, &self.work());
        self.push_tag(name, name);
    }

    /// Pushes a tag of the clone under a name.
    pub fn push_tag(&self, tag: &str, name: &str) {
        let tags = format!("refs/tags/{tag}:refs/tags/{name}");
        self.git(&["push", "--quiet", "--force", "origin", &tags], &self.work());
    }

    fn git(&self, arguments: &[&str], folder: &Path) -> String {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "tester")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "tester@example.com")))
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Calls gpg with a home folder, which is made if it does not exist. Returns what it prints.
pub fn gpg(home: &Path, arguments: &[&str]) -> Vec<u8> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(home).unwrap();
    let called =
        Command::new("gpg").args(["--batch", "--quiet", "--homedir"]).arg(home).args(arguments).output();
    let output = called.unwrap();
    assert!(output.status.success(), "gpg {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
