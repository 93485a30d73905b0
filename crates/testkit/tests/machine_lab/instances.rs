//! Instances: user data, the console, and what stop, start, reboot and terminate do.

use slipway_testkit::wait::until;

use crate::support::{console, lab, run, until_console};

const PARTS: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"b\"\n\n\
    --b\nContent-Type: text/x-shellscript\n\n#!/bin/sh\necho first >>/var/lib/runs\necho \"on $(hostname) by $AWS_ENDPOINT_URL\"\n\n\
    --b\nContent-Type: text/x-shellscript\n\n#!/bin/bash\necho second >>/var/lib/runs\nexit 3\n\n--b--\n";

#[test]
#[ignore = "needs root and namespaces"]
fn an_instance_is_a_machine_until_it_is_terminated() {
    let lab = lab();
    let id = run(&lab, PARTS, &[]);
    let machine = lab.instance(&id).unwrap();

    // Its address and name are those that the API shows, and its console comes back through the API.
    let described = lab.call("ec2", "DescribeInstances", &[("InstanceId.1", &id)]).unwrap();
    let address = machine.address();
    assert!(described.contains(&format!("<privateIpAddress>{address}</privateIpAddress>")), "{described}");
    let name = format!("ip-{}", address.replace('.', "-"));
    until_console(&lab, &id, "cloud-init: finished");
    let said = console(&lab, &id);
    assert!(said.contains(&format!("on {name} by http://10.150.0.1\n")), "{said}");
    assert!(said.contains("cloud-init: part-002 ended with 3"), "{said}");
    assert_eq!(machine.shell("cat /var/lib/runs").unwrap(), "first\nsecond\n");
    // Services have the same variables as scripts.
    let unit = "cat >/etc/systemd/system/one.service <<'END'\n[Service]\n\
        ExecStart=/bin/sh -c 'echo \"$AWS_ENDPOINT_URL\" >/run/said; exec sleep 1000'\nEND\n";
    machine.shell(unit).unwrap();
    machine.shell("systemctl start one").unwrap();
    until("the service has said it", || {
        Ok(machine.shell("cat /run/said").ok().filter(|text| !text.is_empty()))
    })
    .map(|said| assert_eq!(said, "http://10.150.0.1\n"))
    .unwrap();
    // The API answers there, and devices are the machine's own.
    lab.moto().create_bucket("assets").unwrap();
    lab.moto().put_object("assets", "slipway", b"a program").unwrap();
    let get = "curl -sSf -m 5 -H 'Authorization: AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/s3/aws4_request, \
        SignedHeaders=host, Signature=0' http://10.150.0.1/assets/slipway";
    assert_eq!(machine.shell(get).unwrap(), "a program");
    assert!(!machine.shell("ls /dev").unwrap().contains("loop"));

    // A reboot keeps the disk and runs no script again.
    machine.shell("touch /run/before").unwrap();
    lab.call("ec2", "RebootInstances", &[("InstanceId.1", &id)]).unwrap();
    until("it has started again", || {
        Ok(machine.run(["test", "!", "-e", "/run/before"]).ok().filter(|said| said.code == Some(0)))
    })
    .unwrap();
    until("user data is done", || {
        Ok((console(&lab, &id).matches("cloud-init: finished").count() == 2).then_some(()))
    })
    .unwrap();
    assert_eq!(machine.shell("cat /var/lib/runs").unwrap(), "first\nsecond\n");

    // It is off while it is stopped, and has its disk and its address afterwards.
    lab.call("ec2", "StopInstances", &[("InstanceId.1", &id)]).unwrap();
    lab.until_off(&id).unwrap();
    assert!(machine.run(["true"]).is_err());
    lab.call("ec2", "StartInstances", &[("InstanceId.1", &id)]).unwrap();
    let machine = lab.instance(&id).unwrap();
    assert_eq!(
        (machine.address(), machine.shell("cat /var/lib/runs").unwrap().lines().count()),
        (address, 2)
    );

    // A machine that turns itself off is stopped, and one that is terminated is gone.
    machine.shell("kill -TERM 1").unwrap();
    until("the emulator knows", || {
        let described = lab.call("ec2", "DescribeInstances", &[("InstanceId.1", &id)])?;
        Ok(described.contains("<name>stopped</name>").then_some(()))
    })
    .unwrap();
    lab.call("ec2", "StartInstances", &[("InstanceId.1", &id)]).unwrap();
    lab.instance(&id).unwrap();
    lab.call("ec2", "TerminateInstances", &[("InstanceId.1", &id)]).unwrap();
    lab.until_off(&id).unwrap();
}
