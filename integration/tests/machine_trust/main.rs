//! Plans of hostile repositories, and other commands on them, under a recorder of system calls and in a network without any interface.
//!
//! Each folder of `fixtures/hostile` is a repository that a user might plan. Its `case.txt` has the expected
//! error code, or `plans`, and the caller's arguments. The recorded files, programs and connections are
//! compared with the policy.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr, reason = "what fails in a test ends it")]

mod case;
mod names;
mod record;

use case::{Case, PLANTED};
use record::Record;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_slipway-under-test");

#[test]
#[ignore = "needs root and namespaces"]
fn an_untrusted_plan_opens_what_the_policy_allows_and_nothing_else() {
    slipway_testkit::packages::install().unwrap();
    let cases = Case::all();
    assert!(cases.len() >= 30, "{} cases", cases.len());
    let wrong: Vec<String> = cases.iter().filter_map(|case| judged(case, true).err()).collect();
    eprintln!("{} hostile repositories", cases.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Checks the recorder: without `--untrusted` and with everything allowed, the same repository runs its
/// command.
#[test]
#[ignore = "needs root and namespaces"]
fn the_recorder_sees_a_command_that_is_allowed() {
    slipway_testkit::packages::install().unwrap();
    let mut case = Case::all().into_iter().find(|case| case.name == "kubeconfig-exec").unwrap();
    case.arguments = vec!["--trust".to_owned(), "kubeconfig=kc.conf".to_owned()];
    case.untrusted = false;
    let place = case.prepare();
    let ended = case.run(&place, PROGRAM, true);
    let record = Record::read(&place.path().join("record"));
    let problems = record.problems(place.path());
    assert!(problems.iter().any(|problem| problem.contains("executed")), "{problems:?}\n{}", ended.1);
    assert!(place.path().join("ran").exists(), "{}", ended.1);
}

/// Without the flag, a plan enters the hosts that the spec names by SSH, and uses the caller's own kubeconfig. It starts
/// nothing else, connects to nobody else, writes nothing, and shows no secret.
#[test]
#[ignore = "needs root and namespaces"]
fn a_plan_without_the_flag_starts_nothing_of_the_repository() {
    slipway_testkit::packages::install().unwrap();
    let cases = Case::all().into_iter().map(Case::careless);
    let wrong: Vec<String> = cases.filter_map(|case| judged_careless(&case).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The commands beside `plan` and `apply` that read a spec. None of them changes anything before somebody confirms it.
const OTHERS: [&[&str]; 7] =
    [&["spec", "check"], &["spec", "show"], &["drift"], &["validate"], &["upgrade"], &["roll"], &["delete"]];

#[test]
#[ignore = "needs root and namespaces"]
fn other_commands_start_nothing_of_the_repository() {
    slipway_testkit::packages::install().unwrap();
    let mut wrong = Vec::new();
    for case in Case::all() {
        // These specs name hosts. A deletion enters them as a plan does, and tries it several times.
        let has_hosts = ["hosts", "manifest"].iter().any(|start| case.name.starts_with(start));
        let commands = OTHERS.into_iter().filter(|command| !(has_hosts && command.contains(&"delete")));
        wrong.extend(commands.filter_map(|command| judged_careless(&case.clone().with(command)).err()));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Checks a command of a case for a caller who trusts the repository.
fn judged_careless(case: &Case) -> Result<(), String> {
    let place = case.prepare();
    let before = case::contents(place.path());
    let (code, said) = case.run(&place, PROGRAM, true);
    let record = Record::read(&place.path().join("record"));
    let mut wrong = Vec::new();
    if record.is_empty() {
        wrong.push("nothing was recorded".to_owned());
    }
    let is_plan = case.command.contains(&"plan");
    if !matches!(code, 1 | 2) && (is_plan || code != 0) {
        wrong.push(format!("it ended with {code}"));
    }
    if let Some(planted) = PLANTED.iter().find(|planted| said.contains(**planted)) {
        wrong.push(format!("it shows {planted}"));
    }
    let of_hosts = case.name.starts_with("hosts");
    let of_caller = case.name == "kubeconfig-of-the-caller";
    let programs = record.programs().into_iter();
    wrong.extend(
        programs
            .filter(|name| !(of_hosts && name == "ssh" || of_caller && name == "touch"))
            .map(|name| format!("executed {name}")),
    );
    if !of_hosts {
        wrong.extend(record.connections().iter().map(|line| format!("connected: {line}")));
    }
    let after = case::contents(place.path());
    let written = after.iter().filter(|(path, text)| before.get(*path) != Some(text));
    wrong.extend(
        written
            // The command of the caller's own kubeconfig, and the calls of the simulated cloud in a folder of the repository.
            .filter(|(path, _)| {
                let is_call = case.command.contains(&"delete") && path.ends_with("calls.jsonl");
                !(path.ends_with("record") || of_caller && path.ends_with("ran") || is_call)
            })
            .map(|(path, _)| format!("wrote {}", path.display())),
    );
    let name = format!("{} {}", case.command.join(" "), case.name);
    if wrong.is_empty() { Ok(()) } else { Err(format!("{name}: {}\n{said}", wrong.join("; "))) }
}

/// Checks the plan of a case.
fn judged(case: &Case, recorded: bool) -> Result<(), String> {
    let place = case.prepare();
    let before = case::contents(place.path());
    let (code, said) = case.run(&place, PROGRAM, recorded);
    let mut wrong = Vec::new();
    match case.expected.as_str() {
        "plans" if code != 2 => wrong.push(format!("it ended with {code}")),
        "plans" => {}
        expected if code != 1 || !said.contains(expected) => {
            wrong.push(format!("it ended with {code} and not with {expected}"));
        }
        expected if !said.contains("hint:") => wrong.push(format!("{expected} has no hint")),
        _ => {}
    }
    if let Some(planted) = PLANTED.iter().find(|planted| said.contains(**planted)) {
        wrong.push(format!("it shows {planted}"));
    }
    if place.path().join("ran").exists() {
        wrong.push("a command was run".to_owned());
    }
    if recorded {
        wrong.extend(Record::read(&place.path().join("record")).problems(place.path()));
    }
    let after = case::contents(place.path());
    let written = after.iter().filter(|(path, text)| before.get(*path) != Some(text));
    wrong.extend(
        written
            .filter(|(path, _)| !path.ends_with("record"))
            .map(|(path, _)| format!("wrote {}", path.display())),
    );
    if wrong.is_empty() { Ok(()) } else { Err(format!("{}: {}\n{said}", case.name, wrong.join("; "))) }
}
