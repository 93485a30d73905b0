//! Volumes: devices of a machine while they are attached. A killed laboratory leaves nothing behind.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use slipway_testkit::lab::values;
use slipway_testkit::wait::until;
use slipway_testkit::{Lab, cache};

use crate::support::{lab, run};

/// Set for a process of `a_killed_laboratory_leaves_no_device`.
const CHILD: &str = "SLIPWAY_TEST_LABORATORY";

fn create(lab: &Lab) -> String {
    let wanted = [("Size", "1"), ("AvailabilityZone", "us-east-1a")];
    let answer = lab.call("ec2", "CreateVolume", &wanted).unwrap();
    values(&answer, "volumeId")[0].to_owned()
}

fn attach(lab: &Lab, volume: &str, instance: &str) {
    let parameters = [("VolumeId", volume), ("InstanceId", instance), ("Device", "/dev/xvdu")];
    lab.call("ec2", "AttachVolume", &parameters).unwrap();
}

/// Waits until the API reports this status of a volume or its attachment.
fn until_status(lab: &Lab, volume: &str, status: &str) {
    until(&format!("{volume} is {status}"), || {
        let answer = lab.call("ec2", "DescribeVolumes", &[("VolumeId.1", volume)])?;
        Ok(values(&answer, "status").contains(&status).then_some(()))
    })
    .unwrap();
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_volume_keeps_its_content_on_another_instance() {
    let lab = lab();
    let first = run(&lab, "", &[]);
    let second = run(&lab, "", &[]);
    let volume = create(&lab);
    attach(&lab, &volume, &first);
    let machine = lab.instance(&first).unwrap();
    until_status(&lab, &volume, "attached");
    let by_id = format!("/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_{}", volume.replace('-', ""));
    assert_eq!(machine.shell(&format!("readlink -f /dev/xvdu {by_id}")).unwrap(), "/dev/nvme1n1\n".repeat(2));
    machine.shell("mkfs.ext4 -q /dev/xvdu && mount /dev/xvdu /mnt && echo kept >/mnt/file").unwrap();

    // While the device is open, the volume is not detached, and no other machine gets it.
    lab.call("ec2", "DetachVolume", &[("VolumeId", &volume)]).unwrap();
    until("the device is gone", || {
        Ok(machine.run(["test", "-e", "/dev/xvdu"])?.code.filter(|code| *code == 1))
    })
    .unwrap();
    until_status(&lab, &volume, "detaching");
    let parameters = [("VolumeId", volume.as_str()), ("InstanceId", &second), ("Device", "/dev/xvdu")];
    let refused = lab.call("ec2", "AttachVolume", &parameters).unwrap_err().to_string();
    assert!(refused.contains("VolumeInUse"), "{refused}");
    machine.shell("umount /mnt").unwrap();
    until_status(&lab, &volume, "available");

    // The device exists again after a power cut, and is free when its instance is terminated, even if it was
    // in use.
    attach(&lab, &volume, &first);
    until_status(&lab, &volume, "attached");
    machine.cut_power().unwrap();
    until("the device is there", || {
        Ok(machine.run(["test", "-b", "/dev/xvdu"])?.code.filter(|code| *code == 0))
    })
    .unwrap();
    machine.shell("mount /dev/xvdu /mnt && echo more >>/mnt/file && sync").unwrap();
    lab.call("ec2", "TerminateInstances", &[("InstanceId.1", &first)]).unwrap();
    until_status(&lab, &volume, "available");
    lab.until_off(&first).unwrap();

    attach(&lab, &volume, &second);
    let machine = lab.instance(&second).unwrap();
    until_status(&lab, &volume, "attached");
    machine.shell("mount /dev/xvdu /mnt").unwrap();
    assert_eq!(machine.shell("cat /mnt/file").unwrap(), "kept\nmore\n");
}

/// The files of loop devices of the host.
fn behind_devices() -> Vec<String> {
    let devices = fs::read_dir("/sys/block").unwrap().flatten();
    devices.filter_map(|device| fs::read_to_string(device.path().join("loop/backing_file")).ok()).collect()
}

#[test]
#[ignore = "a process of a_killed_laboratory_leaves_no_device, which never ends by itself"]
fn child() {
    if std::env::var_os(CHILD).is_some() {
        let lab = lab();
        let (instance, volume) = (run(&lab, "", &[]), create(&lab));
        attach(&lab, &volume, &instance);
        until_status(&lab, &volume, "attached");
        let machine = lab.instance(&instance).unwrap();
        machine.shell("mkfs.ext4 -q /dev/xvdu && mount /dev/xvdu /mnt").unwrap();
        let id = lab.network().folder().file_name().unwrap().to_str().unwrap().to_owned();
        eprintln!("network {id}");
        std::thread::sleep(std::time::Duration::from_secs(1000));
    }
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_killed_laboratory_leaves_no_device() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "volumes::child", "--ignored", "--nocapture"]).env(CHILD, "1");
    let mut child = child.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let id = lines.filter_map(|line| Some(line.strip_prefix("network ")?.to_owned())).next().unwrap();
    let folder = cache::folder().unwrap().join("machines").join(&id);
    let devices = || behind_devices().into_iter().filter(|file| file.contains(&id)).count();
    assert_eq!((devices(), folder.is_dir()), (1, true));
    child.kill().unwrap();
    child.wait().unwrap();
    until("all is gone", || Ok((devices() == 0 && !folder.exists()).then_some(()))).unwrap();
}
