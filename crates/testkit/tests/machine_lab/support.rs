//! Common parts of the tests of the laboratory.

use slipway_testkit::lab::{LabInstance, values};
use slipway_testkit::wait::until;
use slipway_testkit::{Lab, MachineOptions};

/// An image that the emulator knows.
pub const IMAGE: &str = "ami-12c6146b";

pub fn lab() -> Lab {
    Lab::start(MachineOptions::default()).unwrap()
}

/// The subnets of the default network.
pub fn subnets(lab: &Lab) -> Vec<String> {
    let answer = lab.call("ec2", "DescribeSubnets", &[]).unwrap();
    values(&answer, "subnetId").into_iter().map(str::to_owned).collect()
}

/// Starts an instance in the first subnet, and gives its id.
pub fn run(lab: &Lab, user_data: &str, more: &[(&str, &str)]) -> String {
    let user_data = base64(user_data.as_bytes());
    let subnets = subnets(lab);
    let mut parameters =
        vec![("ImageId", IMAGE), ("InstanceType", "t3.medium"), ("MinCount", "1"), ("MaxCount", "1")];
    parameters.extend([("UserData", user_data.as_str()), ("SubnetId", subnets[0].as_str())]);
    parameters.extend(more);
    let answer = lab.call("ec2", "RunInstances", &parameters).unwrap();
    values(&answer, "instanceId")[0].to_owned()
}

pub fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// An instance's console in the API.
pub fn console(lab: &Lab, id: &str) -> String {
    use base64::Engine as _;
    let answer = lab.call("ec2", "GetConsoleOutput", &[("InstanceId", id)]).unwrap();
    let output = values(&answer, "output").concat();
    String::from_utf8(base64::engine::general_purpose::STANDARD.decode(output).unwrap()).unwrap()
}

/// Waits until an instance's console has this text.
pub fn until_console(lab: &Lab, id: &str, text: &str) {
    let what = format!("the console of {id} has {text:?}");
    let found = until(&what, || Ok(console(lab, id).contains(text).then_some(())));
    found.unwrap_or_else(|error| panic!("{error:#}:\n{}", console(lab, id)));
}

/// Asks a machine for a part of its metadata with a token of its own.
pub fn metadata(machine: &LabInstance, path: &str) -> String {
    let script = r#"token=$(curl -sSf -m 5 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token)
curl -sSf -m 5 -H "X-aws-ec2-metadata-token: $token" "http://169.254.169.254/latest/$1""#;
    machine.check(["bash", "-euc", script, "bash", path]).unwrap()
}
