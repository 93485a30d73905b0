//! The state in a bucket, as the user meets it: addresses, the configuration file, and failures with a way out.

use std::process::Command;

use anyhow::{Result, ensure};
use slipway_integration::place::{Ended, Place};
use slipway_testkit::proxy::Verdict;
use slipway_testkit::{Moto, Proxy};

use crate::{APPLY, PROGRAM, SMALL};

/// A place for the program, and a bucket behind a proxy.
struct Bucket {
    place: Place,
    moto: Moto,
    proxy: Proxy,
}

impl Bucket {
    fn new() -> Result<Self> {
        let moto = Moto::start()?;
        moto.create_bucket("state-of-prod")?;
        let proxy = Proxy::start(moto.port(), |request| match request.target.split(['/', '?']).nth(1) {
            Some("elsewhere") => Verdict::Answer {
                status: 301,
                headers: vec![("x-amz-bucket-region".to_owned(), "eu-west-1".to_owned())],
                body: Vec::new(),
            },
            _ => Verdict::Pass,
        })?;
        let place = Place::new(PROGRAM)?;
        place.write("spec.yaml", SMALL)?;
        Ok(Self { place, moto, proxy })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.place.command(arguments);
        // The user's own profiles are none of the test's.
        command.env("HOME", self.place.path()).env_remove("AWS_PROFILE").envs(self.moto.environment());
        command.env("AWS_ENDPOINT_URL", self.proxy.endpoint());
        command
    }

    fn expect(&self, code: i32, command: &mut Command) -> Result<Ended> {
        let ended = Ended::of(command.output()?)?;
        ensure!(ended.code == Some(code), "wanted {code}: {ended:?}");
        Ok(ended)
    }

    fn run(&self, code: i32, arguments: &[&str]) -> Result<Ended> {
        self.expect(code, &mut self.command(arguments))
    }
}

#[test]
fn the_life_of_a_cluster_in_a_bucket() -> Result<()> {
    let bucket = Bucket::new()?;
    bucket.place.write("config/slipway/config.toml", "[state]\nurl = \"s3://state-of-prod/clusters\"\n")?;
    let made = bucket.run(0, &["state", "init"])?;
    ensure!(made.out.contains("created the state store s3://state-of-prod/clusters on"), "{}", made.out);
    ensure!(bucket.run(0, &["state", "init"])?.out.contains("exists; Slipway"));

    bucket.proxy.reset();
    bucket.run(2, &["plan", "-f", "spec.yaml"])?;
    let writes = bucket.proxy.requests().iter().filter(|request| request.method != "GET").count();
    ensure!(writes == 0, "a plan writes nothing");

    bucket.run(0, APPLY)?;
    bucket.proxy.reset();
    bucket.run(0, &["plan", "-f", "spec.yaml"])?;
    let reads = bucket.proxy.reset();
    ensure!(reads <= 6, "a plan without changes makes {reads} requests to the store");
    let clusters = bucket.run(0, &["get", "clusters"])?;
    ensure!(clusters.out.contains("line"), "{}", clusters.out);
    ensure!(!bucket.place.path().join(".slipway/state").exists(), "nothing is kept beside the spec");

    // The variable comes before the file, the option before the variable.
    let elsewhere = || {
        let mut command = bucket.command(&["get", "clusters"]);
        command.env("SLIPWAY_STATE", "s3://state-of-prod/elsewhere");
        command
    };
    ensure!(bucket.expect(0, &mut elsewhere())?.out.contains("No clusters in s3://state-of-prod/elsewhere"));
    let option = bucket.expect(0, elsewhere().args(["--state", "s3://state-of-prod/clusters"]))?;
    ensure!(option.out.contains("line"), "{}", option.out);

    bucket.run(0, &["delete", "line", "--yes", "--confirm", "line"])?;
    Ok(())
}

#[test]
fn failures_have_a_way_out() -> Result<()> {
    let bucket = Bucket::new()?;
    for (url, texts) in [
        ("s3://nowhere/x", ["error[STATE0021]: there is no bucket `nowhere`", "hint: make `nowhere`"]),
        (
            "s3://elsewhere/x",
            [
                "error[STATE0022]: the bucket `elsewhere` is in the region eu-west-1",
                "hint: set AWS_REGION=eu-west-1",
            ],
        ),
        ("s3://state-of-prod/a//b", ["error[STATE0010]", "a part between slashes is empty"]),
        ("az://container/x", ["error[STATE0025]", "AZURE_STORAGE_ACCOUNT_NAME"]),
    ] {
        let ended = bucket.run(1, &["get", "clusters", "--state", url])?;
        for text in texts {
            ensure!(ended.err.contains(text), "{url}: {text} is not in\n{}", ended.err);
        }
    }
    let mut unknown = bucket.command(&["get", "clusters", "--state", "s3://state-of-prod/x"]);
    let ended =
        bucket.expect(1, unknown.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY"))?;
    ensure!(ended.err.contains("error[STATE0023]"), "{}", ended.err);
    ensure!(ended.err.contains("hint: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), "{}", ended.err);
    let mut open = bucket.command(&["get", "clusters", "--state", "s3://state-of-prod/x"]);
    let ended = bucket.expect(1, open.env("AWS_ENDPOINT_URL", "http://192.0.2.1:9000"))?;
    ensure!(ended.err.contains("error[STATE0025]") && ended.err.contains("allow-http"), "{}", ended.err);
    bucket.place.write("config/slipway/config.toml", "[state]\nbucket = \"x\"\n")?;
    let ended = bucket.run(1, &["get", "clusters"])?;
    ensure!(
        ended.err.contains("error[CLI0003]") && ended.err.contains("unknown field `bucket`"),
        "{}",
        ended.err
    );
    Ok(())
}

#[test]
fn what_a_store_says_is_shown_within_bounds_and_moves_no_terminal() -> Result<()> {
    for status in [400, 500] {
        let proxy = Proxy::start(0, move |_| {
            let mut body =
                b"<Error><Code>Bad\x1b]0;x\x07</Code><Message>\x1b[2J\x1b[1;1Hnothing to see</Message>"
                    .to_vec();
            body.resize(20 << 20, b'x');
            Verdict::Answer { status, headers: Vec::new(), body }
        })?;
        let place = Place::new(PROGRAM)?;
        place.write("spec.yaml", SMALL)?;
        let mut command = place.command(&["plan", "-f", "spec.yaml", "--state", "s3://state/here"]);
        command.envs([
            ("AWS_ACCESS_KEY_ID", "a"),
            ("AWS_SECRET_ACCESS_KEY", "b"),
            ("AWS_REGION", "us-east-1"),
        ]);
        let ended = Ended::of(command.env("AWS_ENDPOINT_URL", proxy.endpoint()).output()?)?;
        ensure!(ended.code == Some(1) && ended.err.contains("nothing to see"), "{}", ended.err);
        ensure!(ended.err.len() < 10_000, "{} bytes", ended.err.len());
        ensure!(!ended.err.contains(['\u{1b}', '\u{7}']), "{:?}", ended.err);
    }
    Ok(())
}

#[test]
fn an_address_with_a_slip_is_no_folder() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    for (address, meant) in [
        ("s3:/bucket/state", "s3://bucket/state"),
        ("s3:bucket", "s3://bucket"),
        ("S3:/bucket", "s3://bucket"),
        ("gs:/bucket", "gs://bucket"),
        ("az:container", "az://container"),
        ("file:/var/x", "file:///var/x"),
        ("file:x", "file:///x"),
    ] {
        for verb in
            [&["plan", "-f", "spec.yaml"][..], &["apply", "-f", "spec.yaml", "--yes"], &["state", "init"]]
        {
            let refused = place.expect(1, &[verb, &["--state", address]].concat())?;
            ensure!(
                refused.err.contains("STATE0010") && refused.err.contains(meant),
                "{address}: {}",
                refused.err
            );
        }
    }
    let left: Vec<_> = std::fs::read_dir(place.path())?.filter_map(|entry| entry.ok()).collect();
    ensure!(left.iter().all(|entry| entry.file_name() == "spec.yaml"), "{left:?}");
    Ok(())
}
