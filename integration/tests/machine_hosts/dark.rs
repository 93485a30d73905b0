//! Machines that do not answer: a plan ends soon with what is known, and makes nothing of what is not.

use std::time::{Duration, Instant};

use slipway_testkit::Said;

use crate::lab::Lab;
use crate::self_hosted;

/// How long a plan takes at most when hosts do not answer. The guide promises it.
const PROMISED: Duration = Duration::from_secs(60);

/// Plans, which has to end in time.
fn plan(lab: &Lab, what: &str) -> Said {
    bounded(lab, what, &["plan", "-f", "spec"])
}

fn bounded(lab: &Lab, what: &str, arguments: &[&str]) -> Said {
    let start = Instant::now();
    let said = lab.run(arguments);
    let took = start.elapsed();
    eprintln!("{what}: {:.1} s\n{}\n{}", took.as_secs_f64(), said.out, said.err);
    assert!(took < PROMISED, "{what}: it took {took:?}");
    said
}

/// The lines of a plan that make something.
fn made(plan: &str) -> Vec<&str> {
    plan.lines().filter(|line| line.trim_start().starts_with("+ ")).collect()
}

/// Whether a text names all of these as hosts that cannot be reached.
fn names(text: &str, hosts: &[&str]) -> bool {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    hosts.iter().all(|host| {
        words.split("cannot be reached").any(|part| part.rsplit(' ').nth(2).is_some_and(|name| name == *host))
    })
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_plan_of_hosts_that_do_not_answer_ends_with_what_is_known() {
    const ALL: [&str; 3] = ["cp-0", "worker-0", "worker-1"];
    let mut lab = Lab::new("hosts-ha", &ALL);
    lab.edit("size: { fixed: 3 }", "size: { fixed: 1 }");
    lab.apply("a control plane and two workers");
    lab.is_as_wanted();
    self_hosted::goes_and_comes_back(&mut lab);

    // One of three: the others are planned.
    lab.machine("worker-1").drop_packets().unwrap();
    lab.edit("example.com/tier: general", "example.com/tier: special");
    let said = plan(&lab, "one of three drops packets");
    assert!(said.out.contains("~ kubernetes_node × 2"), "{}", said.out);
    assert!(names(&said.out, &["worker-1"]) && names(&said.err, &["worker-1"]), "{said:?}");
    assert!(!names(&said.out, &["worker-0"]), "{}", said.out);
    assert_eq!(made(&said.out), [""; 0]);

    // All of them, and then without power. Each is named, also while the plan waits.
    for name in ["cp-0", "worker-0"] {
        lab.machine(name).drop_packets().unwrap();
    }
    let dropping = plan(&lab, "all three drop packets");
    for name in ALL {
        lab.machine(name).kill();
    }
    let off = plan(&lab, "all three are off");
    for said in [dropping, off] {
        assert!(
            said.out.contains("Plan: 0 to create, 0 to update, 0 to replace, 0 to delete"),
            "{}",
            said.out
        );
        assert_eq!(made(&said.out), [""; 0]);
        assert!(names(&said.out, &ALL) && names(&said.err, &ALL), "{said:?}");
    }

    for arguments in [&["drift", "-f", "spec"][..], &["delete", "hosts-ha", "--dry-run"]] {
        let said = bounded(&lab, &format!("{arguments:?} while all three are off"), arguments);
        assert!(names(&format!("{}{}", said.out, said.err), &ALL), "{said:?}");
    }

    // Nothing of it was lost.
    for name in ALL {
        lab.machine(name).start().unwrap();
    }
    let administrator = lab.administrator();
    lab.answers(&administrator, &["cp-0"]);
    lab.changes("the label that waited", &["~ kubernetes_node × 2"]);

    // The whole cluster is deleted while its hosts are off. They may run again, so nothing that they need is
    // destroyed.
    for name in ALL {
        lab.machine(name).kill();
    }
    let delete = ["delete", "hosts-ha", "--yes", "--confirm", "hosts-ha"];
    let said =
        bounded(&lab, "a deletion while all three are off", &delete).wanted(1, "slipway delete").unwrap();
    assert!(!said.err.contains("delete keypair") && !said.err.contains("delete host_claim"), "{}", said.err);
    assert!(ALL.iter().all(|host| lab.is_claimed(host)));
    for name in ALL {
        lab.machine(name).start().unwrap();
    }
    lab.answers(&administrator, &["cp-0"]);
    lab.done(&delete);
    for machine in &lab.machines {
        lab.nothing_is_left(machine);
    }
    assert!(!ALL.iter().any(|host| lab.is_claimed(host)));
}
