use super::*;

fn address(number: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, number], 6443))
}

fn three() -> Arc<Members> {
    let members = Arc::new(Members::default());
    members.name(&[address(1), address(2), address(3)], None);
    members
}

fn silent() -> Finding {
    Finding::Silent("no answer".to_owned())
}

#[test]
fn connections_are_spread_over_ready_members() {
    let members = three();
    for number in 1..=3 {
        members.found(address(number), &Finding::Ready);
    }
    let mut held = Vec::new();
    for _ in 0..30 {
        let first = members.order()[0];
        held.push(members.hold(first).unwrap());
    }
    for number in 1..=3 {
        assert_eq!(held.iter().filter(|held| held.address == address(number)).count(), 10);
    }
    drop(held);
    assert!(members.table().members.values().all(|member| member.connections == 0));
}

#[test]
fn one_that_fails_is_tried_last_and_not_forgotten() {
    let members = three();
    members.found(address(2), &Finding::Ready);
    members.found(address(3), &Finding::Unready("shutting down".to_owned()));
    assert_eq!(members.order(), [address(2), address(1), address(3)]);
    members.failed(address(2));
    assert_eq!(members.order(), [address(1), address(3), address(2)]);
    assert_eq!(members.found(address(2), &Finding::Ready), Some((Health::Down, Health::Ready)));
    assert_eq!(members.found(address(2), &Finding::Ready), None);
}

#[test]
fn a_control_plane_prefers_its_own_server_while_it_is_ready() {
    let members = three();
    members.name(&[address(1), address(2), address(3)], Some(address(3)));
    for number in 1..=3 {
        members.found(address(number), &Finding::Ready);
    }
    let _held: Vec<Held> = (0..5).map(|_| members.hold(address(3)).unwrap()).collect();
    assert_eq!(members.order()[0], address(3));
    members.found(address(3), &Finding::Unready("starting".to_owned()));
    assert_eq!(members.order()[2], address(3));
}

#[test]
fn connections_to_a_silent_member_end_when_another_one_is_ready() {
    let members = three();
    let held = members.hold(address(1)).unwrap();
    for _ in 0..5 {
        members.found(address(1), &silent());
    }
    assert!(!held.closing.is_cancelled(), "nobody else is ready");
    members.found(address(2), &Finding::Ready);
    members.found(address(1), &silent());
    assert!(held.closing.is_cancelled());
    // Those that it gets later have their own end.
    assert!(!members.hold(address(1)).unwrap().closing.is_cancelled());
}

#[test]
fn clients_leave_a_member_that_shuts_down_when_they_are_quiet() {
    let members = three();
    members.found(address(2), &Finding::Ready);
    let held = members.hold(address(1)).unwrap();
    members.found(address(1), &Finding::Unready("shutting down".to_owned()));
    members.found(address(1), &Finding::Refused("refused".to_owned()));
    assert!(!held.closing.is_cancelled() && held.leaving.is_cancelled());
    let long_ago = Instant::now().checked_sub(DRAIN);
    members.table().members.get_mut(&address(1)).unwrap().failing = long_ago;
    members.found(address(1), &Finding::Refused("refused".to_owned()));
    assert!(held.closing.is_cancelled());
}

#[test]
fn a_removed_member_loses_its_connections() {
    let members = three();
    let held = members.hold(address(1)).unwrap();
    members.name(&[address(2), address(3)], None);
    assert!(held.closing.is_cancelled());
    assert_eq!(members.addresses(), [address(2), address(3)]);
    assert!(members.hold(address(1)).is_none());
    drop(held);
}

#[test]
fn the_list_of_the_cluster_adds_members_and_removes_those_that_stay_away() {
    let members = three();
    let joined = BTreeSet::from([address(1), address(2), address(3), address(4)]);
    assert!(members.list(&joined));
    assert!(!members.list(&joined));
    let held = members.hold(address(4)).unwrap();
    // One that restarts is missing once. Those of the settings stay whatever the cluster lists.
    members.list(&BTreeSet::from([address(1)]));
    assert!(!held.closing.is_cancelled());
    members.list(&joined);
    members.list(&BTreeSet::from([address(1)]));
    assert!(members.list(&BTreeSet::from([address(1)])));
    assert!(held.closing.is_cancelled());
    assert_eq!(members.addresses(), [address(1), address(2), address(3)]);
    assert_eq!(members.listed(), BTreeSet::from([address(1)]));
}

#[test]
fn the_number_of_members_is_bounded() {
    let members = Members::default();
    members.list(&(0..200).map(address).collect());
    assert_eq!(members.addresses().len(), MOST);
}
