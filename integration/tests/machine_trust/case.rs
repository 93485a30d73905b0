//! A hostile repository, and the machine on which it is planned.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The secrets on the machine: no output contains one of them.
pub const PLANTED: [&str; 3] = ["planted-in-a-file", "planted-in-the-environment", "planted-at-home"];

/// One repository.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    /// The code of the error, or `plans`.
    pub expected: String,
    pub arguments: Vec<String>,
    pub links: Vec<(String, String)>,
    /// Whether the caller names a state.
    pub has_state: bool,
    pub untrusted: bool,
    /// The words of the command.
    pub command: &'static [&'static str],
    folder: PathBuf,
}

impl Case {
    /// All cases, by name.
    pub fn all() -> Vec<Self> {
        let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/hostile");
        let mut folders: Vec<PathBuf> = fs::read_dir(&all)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        folders.sort();
        folders.into_iter().map(Self::read).collect()
    }

    fn read(folder: PathBuf) -> Self {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let mut case = Self {
            name,
            expected: String::new(),
            arguments: Vec::new(),
            links: Vec::new(),
            has_state: true,
            untrusted: true,
            command: &["plan"],
            folder,
        };
        for line in fs::read_to_string(case.folder.join("case.txt")).unwrap().lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            match word {
                "expected" => case.expected = rest.to_owned(),
                "argument" => case.arguments.push(rest.to_owned()),
                "link" => {
                    let (name, target) = rest.split_once(' ').unwrap();
                    case.links.push((name.to_owned(), target.to_owned()));
                }
                "no-state" => case.has_state = false,
                _ => panic!("{}: {line}", case.name),
            }
        }
        case
    }

    /// The same for a caller who trusts the repository without a look at it: no `--untrusted`, and nothing allowed.
    pub fn careless(mut self) -> Self {
        self.untrusted = false;
        while let Some(place) = self.arguments.iter().position(|argument| argument == "--trust") {
            // With its value.
            self.arguments.drain(place..(place + 2).min(self.arguments.len()));
        }
        self
    }

    /// The same for another command of this caller, without any argument but the folder.
    pub fn with(mut self, command: &'static [&'static str]) -> Self {
        self.untrusted = false;
        self.arguments.clear();
        self.has_state &= !command.contains(&"spec");
        self.command = command;
        self
    }

    /// A copy of the repository in a new folder, beside files that the plan must not reach.
    pub fn prepare(&self) -> TempDir {
        let place = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let secret = "token: planted-in-a-file\nplanted-in-a-file: [\n";
        for file in ["outside/token", "outside/secret.yaml", "outside/kc.conf", "outside/events.jsonl"] {
            write(file, secret);
        }
        let exec = "{ exec: { apiVersion: client.authentication.k8s.io/v1, command: touch, args: [ran], interactiveMode: Never } }";
        write(
            "home/.kube/config",
            &format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [ {{ name: a, context: {{ cluster: a, user: a }} }} ]\n\
                 clusters: [ {{ name: a, cluster: {{ server: 'https://192.0.2.1' }} }} ]\nusers: [ {{ name: a, user: {exec} }} ]\n"
            ),
        );
        for file in [
            "home/.ssh/id",
            "home/.ssh/config",
            "home/.aws/credentials",
            "home/.config/slipway/age-identity.txt",
        ] {
            write(file, "planted-at-home\n");
        }
        fs::create_dir_all(place.path().join("state")).unwrap();
        copy(&self.folder.join("repo"), &place.path().join("repo"), place.path());
        for (name, target) in &self.links {
            let target = target.replace("@PLACE@", place.path().to_str().unwrap());
            symlink(target, place.path().join("repo").join(name)).unwrap();
        }
        place
    }

    /// Plans it, or runs the other command. Returns the exit code, and all that was said.
    pub fn run(&self, place: &TempDir, program: &str, recorded: bool) -> (i32, String) {
        let mut command = Command::new(if recorded { "unshare" } else { program });
        if recorded {
            command
                .args(["--net", "strace", "-f", "-qq", "-s", "4096", "-o"])
                .arg(place.path().join("record"));
            command.args(["-e", &format!("trace={}", super::record::CALLS), program]);
        }
        command.args(self.command).args(["-f", "."]);
        if self.untrusted {
            command.arg("--untrusted");
        }
        if self.has_state {
            command.arg("--state").arg(place.path().join("state"));
        }
        command.args(&self.arguments).current_dir(place.path().join("repo")).stdin(Stdio::null());
        // The caller's own: their home, their credentials.
        command
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", place.path().join("home"));
        for name in ["AWS_SECRET_ACCESS_KEY", "SLIPWAY_PASSPHRASE", "GITHUB_TOKEN", "APP_KEY"] {
            command.env(name, "planted-in-the-environment");
        }
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&said).into_owned())
    }
}

fn copy(from: &Path, to: &Path, place: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target, place);
            continue;
        }
        let text = fs::read_to_string(entry.path()).unwrap();
        fs::write(&target, text.replace("@PLACE@", place.to_str().unwrap())).unwrap();
        if target.extension().is_some_and(|end| end == "sh") {
            fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
}

/// The files in a folder; links are not followed.
pub fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap();
        if kind.is_dir() {
            found.insert(path.clone(), Vec::new());
            found.extend(contents(&path));
        } else if kind.is_file() {
            found.insert(path.clone(), fs::read(&path).unwrap());
        } else {
            found.insert(path, Vec::new());
        }
    }
    found
}
