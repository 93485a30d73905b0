//! Load balancers follow the health of their targets, and names lead to them.

use slipway_testkit::lab::values;
use slipway_testkit::wait::until;
use slipway_testkit::{Lab, Said, http};

use crate::support::{lab, run, subnets};

/// A web server on a port that the balancer does not have.
const SERVER: &str = "#!/bin/sh\nmkdir -p /srv/www\nhostname >/srv/www/index.html\n\
    setsid busybox httpd -f -p 6443 -h /srv/www >/dev/null 2>&1 &\necho $! >/run/server\n";

fn ask(lab: &Lab, url: &str) -> Said {
    let mut command = lab.network().command(["curl", "-sS", "-m", "5", url]);
    Said::by(&mut command).unwrap()
}

fn records(zone: &str, lab: &Lab, balancer: &str) {
    let scope = "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/route53/aws4_request, SignedHeaders=host, Signature=0";
    let headers = [("Authorization", scope), ("Content-Type", "text/xml")];
    let body = format!(
        "<CreateHostedZoneRequest xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\"><Name>{zone}</Name>\
         <CallerReference>a</CallerReference></CreateHostedZoneRequest>"
    );
    let answer =
        http::request("POST", lab.moto().port(), "/2013-04-01/hostedzone", &headers, body.as_bytes());
    let answer = String::from_utf8(answer.unwrap().body).unwrap();
    let id = values(&answer, "Id")[0].to_owned();
    let body = format!(
        "<ChangeResourceRecordSetsRequest xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\"><ChangeBatch><Changes>\
         <Change><Action>UPSERT</Action><ResourceRecordSet><Name>api.{zone}</Name><Type>A</Type><AliasTarget>\
         <HostedZoneId>Z2P70J7EXAMPLE</HostedZoneId><DNSName>{balancer}</DNSName>\
         <EvaluateTargetHealth>false</EvaluateTargetHealth></AliasTarget></ResourceRecordSet></Change>\
         </Changes></ChangeBatch></ChangeResourceRecordSetsRequest>"
    );
    let path = format!("/2013-04-01{id}/rrset");
    let answer = http::request("POST", lab.moto().port(), &path, &headers, body.as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_balancer_follows_the_health_of_its_targets() {
    let lab = lab();
    let ids = [run(&lab, SERVER, &[]), run(&lab, SERVER, &[])];
    let subnets = subnets(&lab);
    let vpc = lab.call("ec2", "DescribeVpcs", &[]).unwrap();
    let balancer = [("Name", "api"), ("Type", "network"), ("Subnets.member.1", subnets[0].as_str())];
    let balancer = lab.call("elasticloadbalancing", "CreateLoadBalancer", &balancer).unwrap();
    let name = values(&balancer, "DNSName")[0].to_owned();
    let group = [("Name", "tcp"), ("Protocol", "TCP"), ("Port", "6443"), ("VpcId", values(&vpc, "vpcId")[0])];
    let group = lab.call("elasticloadbalancing", "CreateTargetGroup", &group).unwrap();
    let group = values(&group, "TargetGroupArn")[0].to_owned();
    let listener = [
        ("LoadBalancerArn", values(&balancer, "LoadBalancerArn")[0]),
        ("Protocol", "TCP"),
        ("Port", "443"),
        ("DefaultActions.member.1.Type", "forward"),
        ("DefaultActions.member.1.TargetGroupArn", group.as_str()),
    ];
    lab.call("elasticloadbalancing", "CreateListener", &listener).unwrap();
    let targets = [
        ("TargetGroupArn", group.as_str()),
        ("Targets.member.1.Id", ids[0].as_str()),
        ("Targets.member.2.Id", ids[1].as_str()),
    ];
    lab.call("elasticloadbalancing", "RegisterTargets", &targets).unwrap();
    let health = || {
        let asked = [("TargetGroupArn", group.as_str())];
        lab.call("elasticloadbalancing", "DescribeTargetHealth", &asked).unwrap()
    };
    let until_health = |wanted: [&str; 2]| {
        let what = format!("targets are {wanted:?}");
        let found = until(&what, || Ok((values(&health(), "State") == wanted).then_some(())));
        found.unwrap_or_else(|error| panic!("{error:#}:\n{}", health()));
    };
    until_health(["healthy", "healthy"]);

    // Names lead there, in the network and on machines, and connections go to both.
    records("example.com", &lab, &name);
    let machines = ids.each_ref().map(|id| lab.instance(id).unwrap());
    let url = "http://api.example.com:443/";
    until("the name is known", || Ok((ask(&lab, url).code == Some(0)).then_some(()))).unwrap();
    let names: Vec<String> = machines.iter().map(|machine| machine.shell("hostname").unwrap()).collect();
    for name in &names {
        until("each one is asked", || Ok((ask(&lab, url).out == *name).then_some(()))).unwrap();
    }
    assert!(names.contains(&machines[0].shell(&format!("curl -sS -m 5 {url}")).unwrap()));
    assert!(names.contains(&machines[1].shell(&format!("curl -sS -m 5 http://{name}:443/")).unwrap()));
    machines[0].shell(&format!("getent hosts {}.ec2.internal", names[1].trim())).unwrap();
    let unknown = ask(&lab, "http://other.example.com/");
    assert_eq!(unknown.code, Some(6), "{}", unknown.err);

    // One that accepts no connections is not asked, nor is one that is off.
    machines[0].shell("kill $(cat /run/server)").unwrap();
    until_health(["unhealthy", "healthy"]);
    for _ in 0..4 {
        assert_eq!(ask(&lab, url).out, names[1]);
    }
    machines[0].shell("busybox httpd -p 6443 -h /srv/www").unwrap();
    until_health(["healthy", "healthy"]);
    lab.call("ec2", "StopInstances", &[("InstanceId.1", &ids[1])]).unwrap();
    until_health(["healthy", "unused"]);
    until("the other one answers", || Ok((ask(&lab, url).out == names[0]).then_some(()))).unwrap();
}
