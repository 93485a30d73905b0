//! Managers and agents as processes.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::lab::{Lab, eventually};

const PROGRAM: &str = env!("CARGO_BIN_EXE_slipway-machine-inventory");
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A process of the program. It is killed with its value.
pub struct Running {
    pub process: Child,
    log: PathBuf,
}

/// Starts a manager of a namespace, without election unless the arguments ask for it.
pub fn manager(lab: &Lab, namespace: &str, more: &[&str]) -> Running {
    let mut command = Command::new(PROGRAM);
    command
        .args(["manager", "--port=0", "--api-address=127.0.0.1:0", "--namespace", namespace])
        .arg(format!("--kubeconfig={}", lab.kubeconfig().display()))
        .args(more);
    if !more.iter().any(|argument| argument.starts_with("--leader-elect")) {
        command.arg("--leader-elect=false");
    }
    if !more.iter().any(|argument| argument.starts_with("--api-cert-file")) {
        command.arg("--insecure-allow-http");
    }
    let running = start(lab, command);
    running.says("Cluster API is installed");
    running
}

/// Starts an agent with a configuration.
pub fn agent(lab: &Lab, config: &std::path::Path, more: &[&str]) -> Running {
    let mut command = Command::new(PROGRAM);
    command.args(["agent", "--config"]).arg(config).args(more);
    start(lab, command)
}

fn start(lab: &Lab, mut command: Command) -> Running {
    let log = lab.folder.path().join(format!("{}.log", COUNT.fetch_add(1, Ordering::SeqCst)));
    let output = fs::File::create(&log).unwrap();
    let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output).spawn().unwrap();
    Running { process, log }
}

impl Running {
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until the process has logged a text.
    pub fn says(&self, text: &str) {
        eventually(&format!("the log has `{text}`:\n{}", self.log()), || {
            self.log().contains(text).then_some(())
        });
    }

    pub fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Waits for its end, and returns the exit code; `None` if a signal ended it.
    pub fn ended(&mut self) -> Option<i32> {
        let process = &mut self.process;
        eventually("the process ends", || process.try_wait().unwrap()).code()
    }

    /// The port of the registration API.
    pub fn api_port(&self) -> u16 {
        let line = |log: String| {
            log.lines().find(|line| line.contains("serving the registration API")).map(str::to_owned)
        };
        let line = eventually("the registration API is served", || line(self.log()));
        let (_, rest) = line.split_once("address=127.0.0.1:").unwrap();
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            println!("{}", self.log());
        }
    }
}
