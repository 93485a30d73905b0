//! The program is killed at writes of its own state while it makes a cluster on a host; the next run ends as if nothing had
//! happened.

use slipway_integration::knife::chosen;

use crate::lab::Lab;

#[test]
#[ignore = "needs root and namespaces"]
fn killed_at_writes_of_its_state_the_next_apply_converges() {
    let lab = Lab::new("hosts-single", &["server"]);
    // The endpoint is one that the user keeps: here the machine's own address.
    let given = format!("given: {{ host: {}, port: 6443 }}", lab.address("server"));
    lab.edit("elected: {}", &given);
    let count = lab.file("../count").display().to_string();
    let said = lab.run_with(&[("SLIPWAY_TEST_COUNT", &count)], &["apply", "-f", "spec", "--yes"]);
    said.wanted(0, "slipway apply").unwrap();
    assert_eq!(lab.server(), format!("https://{}:6443", lab.address("server")));
    let writes: usize = std::fs::read_to_string(&count).unwrap().parse().unwrap();
    let wanted = shape(&lab);
    // Two for each write, before it and after it; without a choice, one in the middle of all.
    let kills = chosen().unwrap().unwrap_or(writes..writes + 1);
    println!("{writes} writes, two kills at each");
    for kill in kills.start..kills.end.min(writes * 2) {
        lab.done(&["delete", "hosts-single", "--yes", "--confirm", "hosts-single"]);
        lab.nothing_is_left(&lab.machines[0]);
        let moment = if kill.is_multiple_of(2) { "before" } else { "after" };
        let at = format!("{}:{moment}", kill / 2);
        println!("{kill}: {moment} write {}", kill / 2);
        let said = lab.run_with(&[("SLIPWAY_TEST_KILL", &at)], &["apply", "-f", "spec", "--yes"]);
        // How records are grouped into writes depends on timing: a run may need fewer than the undisturbed one did.
        assert!(matches!(said.code, None | Some(0 | 137)), "killed at {at}: {said:?}");
        lab.apply(&format!("after a kill at {at}"));
        lab.is_as_wanted();
        assert_eq!(shape(&lab), wanted, "killed at {at}");
    }
}

/// The contents of a machine, its cluster and its state, without random names.
fn shape(lab: &Lab) -> Vec<String> {
    let machine = &lab.machines[0];
    let files = machine.check(["find", "/etc/kubernetes", "/var/lib/slipway/owned", "-type", "f"]).unwrap();
    let objects = lab.kubectl(&[
        "get",
        "configmaps,secrets,roles,rolebindings,services,daemonsets,deployments",
        "-A",
        "-o",
        "name",
    ]);
    let (entries, files): (Vec<&str>, Vec<&str>) = files.lines().partition(|line| line.contains("/owned/"));
    let known = lab.done(&["state", "list", "hosts-single"]).lines().count();
    // The parent of an apply set is named by the state's own id; the others are made by controllers, when they come to it.
    let of_others =
        ["/slipway-", "/kube-root-ca.crt", "/kube-apiserver-legacy-service-account-token-tracking"];
    let objects = objects.lines().filter(|line| !of_others.iter().any(|other| line.contains(other)));
    let mut lines: Vec<String> = files.into_iter().chain(objects).map(str::to_owned).collect();
    lines.push(format!("{} entries, {known} lines of state", entries.len()));
    lines.sort();
    lines
}
