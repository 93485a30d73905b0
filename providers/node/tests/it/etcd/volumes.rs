//! Members of etcd whose data is on a volume that moves to the next machine.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn one_on_a_volume_is_the_same_member_on_the_next_machine() {
    let (one, _one) = first().await;
    let endpoints = vec![one.url()];
    let two = Host::new("two", Some(&one)).await;
    std::fs::create_dir_all(two.bench.path(DATA)).unwrap();
    let create = |host: &Host| {
        let (bench, wanted) = (Arc::clone(&host.bench), host.on_volume(&endpoints, true));
        async move { bench.create("etcd_member.etcd", wanted).await.unwrap() }
    };
    let joined = create(&two).await;
    let process = two.start(&output(&joined, "initial_cluster"), "existing");
    two.bench.create("etcd_voter.etcd", two.voter(&endpoints)).await.unwrap();
    let three = Host::new("three", Some(&one)).await;
    let third = three.announce(&endpoints).await.unwrap().unwrap();
    let _three = three.start(&output(&third, "initial_cluster"), "existing");
    three.bench.create("etcd_voter.etcd", three.voter(&endpoints)).await.unwrap();

    two.knows_voters(3).await;
    drop(process);
    let next = two.next(&one, false).await;
    let continued = create(&next).await;
    assert_eq!(output(&continued, "member_id"), output(&joined, "member_id"));
    let process = next.start(&output(&continued, "initial_cluster"), "existing");
    next.bench.create("etcd_voter.etcd", next.voter(&endpoints)).await.unwrap();
    let found = next.bench.attributes("etcd_member.etcd", "two").await;
    assert_eq!(found.get("peer_urls"), Some(&Value::list([next.peer_url()])));
    let wanted = next.on_volume(&endpoints, true);
    assert_eq!(next.bench.changes("etcd_member.etcd", "two", &wanted).await, [""; 0]);
    // The machine was killed after etcd had learned the address, and before it was recorded.
    std::fs::remove_dir_all(next.bench.path("/var/lib/slipway")).unwrap();
    let again = create(&next).await;
    assert_eq!(output(&again, "member_id"), output(&joined, "member_id"));

    // While another machine serves the member, a machine with an empty volume of its name takes nothing from it.
    let empty = two.next(&one, true).await;
    let waiting = {
        let (bench, wanted) = (Arc::clone(&empty.bench), empty.on_volume(&endpoints, true));
        tokio::spawn(async move { bench.create("etcd_member.etcd", wanted).await })
    };
    empty.told("which another machine serves").await;
    assert!(!waiting.is_finished());
    drop(process);
    let replaced = waiting.await.unwrap().unwrap();
    empty.told("whose volume was lost").await;
    assert_ne!(output(&replaced, "member_id"), output(&joined, "member_id"));

    // This machine is lost before its member has started; the next one with the same volume removes what was announced.
    let last = empty.next(&one, false).await;
    let announced = create(&last).await;
    last.told("which never started on this volume").await;
    let process = last.start(&output(&announced, "initial_cluster"), "existing");
    last.bench.create("etcd_voter.etcd", last.voter(&endpoints)).await.unwrap();

    // A member that was removed meanwhile joins as a new one, and its data is kept.
    drop(process);
    one.bench.apply(one.bench.request("etcd_member.etcd", expel("one", "two"))).await.unwrap();
    let back = last.next(&one, false).await;
    let joined = create(&back).await;
    back.told("the data is kept in").await;
    assert_ne!(output(&joined, "member_id"), output(&announced, "member_id"));
    let kept = std::fs::read_dir(back.bench.path(DATA)).unwrap().flatten();
    assert!(kept.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("slipway-old-")));
    let _back = back.start(&output(&joined, "initial_cluster"), "existing");
    back.bench.create("etcd_voter.etcd", back.voter(&endpoints)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_only_member_moves_with_its_volume() {
    let (one, process) = first().await;
    let before = one.bench.attributes("etcd_member.etcd", "one").await;
    one.knows_voters(1).await;
    drop(process);
    let next = one.next(&one, false).await;
    let own = vec![next.url()];
    let wanted = next.on_volume(&own, false);
    let _next = next.start(&format!("one={}", next.peer_url()), "new");
    next.bench.create("etcd_member.etcd", wanted.clone()).await.unwrap();
    let after = next.bench.attributes("etcd_member.etcd", "one").await;
    assert_eq!(after.get("member_id"), before.get("member_id"));
    assert_eq!(after.get("peer_urls"), Some(&Value::list([next.peer_url()])));
    assert_eq!(next.bench.changes("etcd_member.etcd", "one", &wanted).await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_on_a_volume_replaces_a_member_that_was_lost_with_its_disk() {
    let (one, _one) = first().await;
    let endpoints = vec![one.url()];
    let mut others = Vec::new();
    for name in ["two", "three"] {
        let host = Host::new(name, Some(&one)).await;
        let joined = host.announce(&endpoints).await.unwrap().unwrap();
        let process = host.start(&output(&joined, "initial_cluster"), "existing");
        host.bench.create("etcd_voter.etcd", host.voter(&endpoints)).await.unwrap();
        others.push((host, process));
    }
    // The machine of the third one is gone. The second one answers, and stays.
    let (_, process) = others.pop().unwrap();
    drop(process);
    let a = Host::new("a", Some(&one)).await;
    std::fs::create_dir_all(a.bench.path(DATA)).unwrap();
    let mut wanted = a.on_volume(&endpoints, true);
    wanted.set(&slipway_resource::Path::key("members_on_volumes"), Value::list(["a", "b", "c"]));
    let joined = a.bench.create("etcd_member.etcd", wanted).await.unwrap();
    a.told("three").await;
    let members = output(&joined, "initial_cluster");
    let names: Vec<&str> = members.split(',').filter_map(|one| Some(one.split_once('=')?.0)).collect();
    assert_eq!(names.len(), 3, "{members}");
    assert!(["one", "two", "a"].iter().all(|name| names.contains(name)), "{members}");
    let _a = a.start(&members, "existing");
    a.bench.create("etcd_voter.etcd", a.voter(&endpoints)).await.unwrap();
}
