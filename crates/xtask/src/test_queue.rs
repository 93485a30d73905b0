//! Tests that run several at a time.
//!
//! Many tests wait for processes that they started. So programs with tests of all packages share one queue, and tests
//! that take long are items of their own.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use slipway_testkit::share::Share;

use crate::output::say;
use crate::test_programs::TestProgram;

/// The longest tests, the longest first, by prefixes of names. They start before all others, so that none of
/// them runs alone at the end.
const LONGEST: [&str; 22] = [
    "machine_hosts grow::",
    "machine_nodes life::",
    "machine_hosts one_machine_",
    "machine_hosts recover::",
    "machine_hosts endpoint::",
    "machine_adopt a_cluster_of_kubeadm_",
    "machine_witness kubeadm::",
    "machine_hosts crash::",
    "machine_hosts backups::",
    "life of aws",
    "suite of conformance",
    "network of aws",
    "services of aws",
    "compute of aws",
    "controller of etcd-storage",
    "kops_fields of model",
    "convert of model",
    "it leaves::",
    "it of bootstrap",
    "it crash::",
    "it whole_plans::",
    "conformance of aws",
];

/// The package whose tests are items of their own, as those on machines are: each starts the built program and waits for
/// it. Tests of other packages share servers inside one process.
const ONE_BY_ONE: &str = "integration";

/// A program with tests, or one test of it.
#[derive(Clone, Debug)]
pub struct Item {
    program: TestProgram,
    /// All tests of the program without a name.
    test: Option<String>,
    /// Tests of the program that do not run, by the beginnings of their names.
    skipped: Vec<String>,
}

/// How an item ended.
#[derive(Debug)]
struct Ended {
    item: Item,
    passed: bool,
    took: Duration,
}

/// The items of programs.
///
/// # Errors
/// When a program does not list its tests.
pub fn items(programs: &[TestProgram]) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for program in programs {
        let machines = program.on_machines();
        if machines || program.integration && program.folder.ends_with(ONE_BY_ONE) {
            let tests = program.tests(machines)?;
            items.extend(tests.into_iter().map(|test| Item::new(program, Some(test))));
        } else {
            items.push(Item::new(program, None));
        }
    }
    Ok(items)
}

/// Leaves out the longest tests on machines that belong to other shares, and names them. They are dealt in their order.
pub fn of_share(mut items: Vec<Item>, share: Share) -> Vec<Item> {
    items.sort_by_key(Item::rank);
    let mut dealt = 0;
    items.retain(|item| {
        if !item.program.on_machines() || item.rank() == LONGEST.len() {
            return true;
        }
        let is_here = share.deals(dealt);
        dealt += 1;
        if !is_here {
            say(&format!("test {item} ... belongs to another share"));
        }
        is_here
    });
    items
}

/// Runs items with these environment variables, so many at a time. All run, also after one that failed.
///
/// # Errors
/// When an item does not start, or fails; with the names of all that failed.
pub fn run(mut items: Vec<Item>, at_once: usize, settings: &[(&str, &str)]) -> Result<()> {
    items.sort_by_key(Item::rank);
    say(&format!("{} items, {at_once} at a time", items.len()));
    let (waiting, ended) = (Mutex::new(VecDeque::from(items)), Mutex::new(Vec::new()));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let worker = || -> Result<()> {
        while let Some(item) = next() {
            let done = item.run(settings)?;
            ended.lock().unwrap_or_else(PoisonError::into_inner).push(done);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(result) => result,
            Err(_) => bail!("a thread that runs tests ended"),
        })
    })?;
    let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    say(&format!(
        "one after the other: {:.1} s",
        ended.iter().map(|one| one.took.as_secs_f64()).sum::<f64>()
    ));
    let failed: Vec<String> =
        ended.iter().filter(|one| !one.passed).map(|one| one.item.to_string()).collect();
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

impl std::fmt::Display for Item {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = &self.program.name;
        match &self.test {
            Some(test) => write!(formatter, "{name} {test}"),
            None if self.program.integration => {
                let package = self.program.folder.file_name().unwrap_or_default().to_string_lossy();
                write!(formatter, "{name} of {package}")
            }
            None => write!(formatter, "{name}"),
        }
    }
}

impl Item {
    fn new(program: &TestProgram, test: Option<String>) -> Self {
        Self { program: program.clone(), test, skipped: Vec::new() }
    }

    /// The item without the tests of a list, each a program or `PROGRAM TEST` with the beginning of a test's name. None if
    /// nothing is left of it.
    pub fn without(mut self, left_out: &[&str]) -> Option<Self> {
        let name = self.to_string();
        if left_out.iter().any(|entry| name == *entry || self.test.is_some() && name.starts_with(entry)) {
            return None;
        }
        let tests = left_out.iter().filter_map(|entry| entry.strip_prefix(&name)?.strip_prefix(' '));
        // `it` and `it of bootstrap` are two programs.
        self.skipped = tests.filter(|test| !test.starts_with("of ")).map(str::to_owned).collect();
        Some(self)
    }

    /// When it begins: the lower, the earlier.
    fn rank(&self) -> usize {
        let name = self.to_string();
        LONGEST.iter().position(|begin| name.starts_with(begin)).unwrap_or(LONGEST.len())
    }

    fn run(self, settings: &[(&str, &str)]) -> Result<Ended> {
        let begin = Instant::now();
        let mut command = self.program.command();
        command.envs(settings.iter().copied());
        if let Some(test) = &self.test {
            command.args(["--exact", test, "--include-ignored", "--nocapture"]);
        }
        for skipped in &self.skipped {
            command.args(["--skip", skipped]);
        }
        let output = command.output().with_context(|| self.program.program.display().to_string())?;
        let (passed, took) = (output.status.success(), begin.elapsed());
        let verdict = if passed { "ok" } else { "FAILED" };
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        let counts = match &self.test {
            None => said[0].lines().rfind(|line| line.starts_with("test result: ")).and_then(counts),
            Some(_) => None,
        };
        let counts = counts.map(|counts| format!(" ({counts})")).unwrap_or_default();
        let line = format!("test {self} ... {verdict} in {:.1} s{counts}", took.as_secs_f64());
        if passed {
            say(&line);
        } else {
            say(&format!("{line}\n{}", said.concat()));
        }
        Ok(Ended { item: self, passed, took })
    }
}

/// `12 passed`, of the last line of a program with tests.
fn counts(result: &str) -> Option<&str> {
    result.split(['.', ';']).map(str::trim).find(|part| part.ends_with(" passed"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn item(name: &str, test: Option<&str>) -> Item {
        let program = TestProgram {
            folder: PathBuf::from("/w/store"),
            name: name.to_owned(),
            integration: true,
            program: PathBuf::from("/t/one-1"),
        };
        Item::new(&program, test.map(str::to_owned))
    }

    #[test]
    fn the_longest_begin_first() {
        let rank = |name: &str| item("machine_hosts", Some(name)).rank();
        assert!(rank("grow::a") < rank("endpoint::a") && rank("endpoint::a") < rank("a_host"));
        assert_eq!(rank("a_host"), rank("people::a"));
        assert!(item("it", Some("crash::a")).rank() < item("it", Some("plans::a")).rank());
    }

    #[test]
    fn the_longest_on_machines_are_dealt() {
        let items =
            ["crash::a", "grow::a", "endpoint::a", "people::a"].map(|test| item("machine_hosts", Some(test)));
        let named = |number| {
            let here = of_share(items.to_vec(), Share::of(number, 3)).into_iter();
            here.map(|item| item.test.unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(named(0), ["grow::a", "people::a"]);
        assert_eq!(named(1), ["endpoint::a", "people::a"]);
        assert_eq!(named(2), ["crash::a", "people::a"]);
    }

    #[test]
    fn items_are_named_by_program_and_test() {
        assert_eq!(item("it", Some("plans::a")).to_string(), "it plans::a");
        assert_eq!(item("it", None).to_string(), "it of store");
    }

    #[test]
    fn what_is_left_out_is_a_program_or_tests_of_it() {
        let left_out = ["it plans::", "it of store slow::", "age of store"];
        assert!(item("it", Some("plans::a")).without(&left_out).is_none());
        assert!(item("it", Some("state::a")).without(&left_out).is_some());
        assert!(item("age", None).without(&left_out).is_none());
        assert_eq!(item("it", None).without(&left_out).unwrap().skipped, ["slow::"]);
    }

    #[test]
    fn counts_are_those_of_the_last_line() {
        let line = "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; finished in 0.10s";
        assert_eq!(counts(line), Some("12 passed"));
        assert_eq!(counts("test result: ok"), None);
    }
}
