//! A cluster that is deleted: nothing of it is left, and what others put among its files stays.

use crate::lab::Lab;

#[test]
#[ignore = "needs root and namespaces"]
fn files_of_others_among_those_of_the_cluster_stay() {
    let lab = Lab::new("hosts-single", &["server"]);
    lab.apply("a ready node");
    let machine = &lab.machines[0];
    let files = ["/var/lib/etcd/notes.txt", "/var/lib/etcd/backup/monday.db"];
    machine.check(["mkdir", "-p", "/var/lib/etcd/backup"]).unwrap();
    for file in files {
        machine.write(file, "640", "of somebody else").unwrap();
    }
    let deleted = lab.done(&["delete", "hosts-single", "--yes", "--confirm", "hosts-single"]);
    eprintln!("{deleted}");
    for file in files {
        assert_eq!(machine.read(file).unwrap(), b"of somebody else", "{file}");
    }
    let left = machine.check(["sh", "-c", "ls -A /var/lib/etcd"]).unwrap();
    assert_eq!(left.split_whitespace().collect::<Vec<_>>(), ["backup", "notes.txt"]);
    machine.check(["rm", "-r", "/var/lib/etcd"]).unwrap();
    lab.nothing_is_left(machine);
}
