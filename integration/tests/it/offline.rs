//! Plans without a cloud: any directory, no lock file, no credentials, nothing written.

use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::Value as Json;
use slipway_integration::executables::{self, root};
use slipway_integration::place::{Ended, Place};

use crate::PROGRAM;

/// Builds the executables that plan AWS offline, beside the program.
pub(crate) fn place() -> Result<Place> {
    executables::build("slipway-aws-model")?;
    Place::new(PROGRAM)
}

pub(crate) fn run(place: &Place, arguments: &[&str], environment: &[(&str, &str)]) -> Result<Ended> {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).current_dir(place.path()).envs(environment.iter().copied());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AWS_") {
            command.env_remove(name);
        }
    }
    let output = command.output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Ended { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) })
}

fn spec(name: &str) -> String {
    root().join("fixtures/kops").join(name).join("spec.yaml").display().to_string()
}

#[test]
fn a_cluster_on_aws_is_planned_from_nothing_but_its_spec() -> Result<()> {
    let place = place()?;
    let spec = spec("minimal-public");
    let plan = ["plan", "-f", &spec, "--offline", "-o", "json"];
    let ended = run(&place, &plan, &[])?;
    ensure!(ended.code == Some(2), "{:?} {}", ended.code, ended.err);
    let json: Json = serde_json::from_str(&ended.out)?;
    let changes = json["resource_changes"].as_array().cloned().unwrap_or_default();
    let kinds: Vec<&str> = changes.iter().filter_map(|change| change["type"].as_str()).collect();
    for kind in ["aws_vpc", "aws_subnet", "aws_security_group_rule", "aws_autoscaling_group", "aws_iam_role"]
    {
        ensure!(kinds.contains(&kind), "no {kind}: {kinds:?}");
    }
    // A fact that only the account knows is unknown, which is no error.
    let template = changes.iter().find(|change| change["type"] == "aws_launch_template");
    let unknown = template.map(|change| change["change"]["after_unknown"]["image_id"].clone());
    ensure!(unknown == Some(Json::Bool(true)), "{unknown:?}");
    ensure!(run(&place, &plan, &[])?.out == ended.out, "planned twice, it differs");
    let left: Vec<_> = std::fs::read_dir(place.path())?.collect();
    ensure!(left.is_empty(), "{left:?}");
    Ok(())
}

#[test]
fn a_configuration_of_terraform_lists_what_it_leaves_out() -> Result<()> {
    let place = place()?;
    let ended = run(&place, &["export", "terraform", "-f", &spec("minimal-public"), "--offline"], &[])?;
    ensure!(ended.code == Some(0), "{:?} {}", ended.code, ended.err);
    let head = ended.out.split("terraform {").next().unwrap_or_default();
    for kind in ["kubernetes_object", "kubernetes_api", "keypair"] {
        ensure!(head.contains(&format!(" {kind}: ")), "no {kind} in the comment: {head}");
        ensure!(ended.err.contains(&format!(" {kind}: ")), "no {kind} on standard error: {}", ended.err);
        ensure!(!ended.out.contains(&format!("resource \"{kind}\"")), "{kind} is a resource");
    }
    ensure!(head.lines().all(|line| line.is_empty() || line.starts_with('#')), "{head}");
    Ok(())
}

#[test]
fn only_what_stands_beside_the_program_runs_unpinned() -> Result<()> {
    let place = place()?;
    let script = "#!/bin/sh\ntouch ran\n";
    place.write("elsewhere/slipway-provider-aws", script)?;
    place.write(
        "elsewhere/provider.toml",
        "name = 'aws'\nversion = '1'\nprotocol = ['v1alpha1']\ndescription = ''\n",
    )?;
    let executable = place.path().join("elsewhere/slipway-provider-aws");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&executable, mode)?;
    let path = place.path().join("elsewhere").display().to_string();
    let spec = spec("minimal-public");
    let searched = [("SLIPWAY_PROVIDER_PATH", path.as_str())];
    let offline = run(&place, &["plan", "-f", &spec, "--offline"], &searched)?;
    ensure!(offline.code == Some(2), "{:?} {}", offline.code, offline.err);
    let online = run(&place, &["plan", "-f", &spec], &searched)?;
    ensure!(online.code == Some(1) && online.err.contains("PROVIDER0005"), "{}", online.err);
    ensure!(online.err.contains("slipway provider lock aws"), "{}", online.err);
    ensure!(!place.path().join("ran").exists(), "an executable ran that nobody has pinned");
    Ok(())
}

/// A cluster on AWS in kOps' words, with more of its own, and of its nodes.
fn in_the_words_of_kops(more: &str, of_nodes: &str) -> String {
    let group = |name: &str, role: &str, more: &str| {
        format!(
            "---\napiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {{ name: {name}, labels: {{ \
             kops.k8s.io/cluster: a.example.com }} }}\nspec:\n  role: {role}\n  image: ami-1e749f67\n  machineType: \
             m5.large\n  minSize: 1\n  maxSize: 1\n  subnets: [a]\n{more}"
        )
    };
    let cluster = "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: { name: a.example.com }\nspec:\n  \
                   cloudProvider: aws\n  configBase: s3://store/a.example.com\n  etcdClusters:\n  - name: main\n    \
                   etcdMembers: [{ name: a, instanceGroup: masters }]\n  kubernetesApiAccess: [0.0.0.0/0]\n  \
                   kubernetesVersion: v1.35.0\n  networkCIDR: 172.20.0.0/16\n  networking: { cilium: {} }\n  subnets:\n  - \
                   { name: a, type: Public, zone: eu-west-1a, cidr: 172.20.32.0/19 }\n";
    format!("{cluster}{more}{}{}", group("masters", "Master", ""), group("nodes", "Node", of_nodes))
}

/// Of the words that a provider has against a field, the first ones; and where the field is written.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    (
        "  additionalPolicies:\n    node: |\n      [{\"Effect\": \"Allow\"}]\n",
        "",
        "provider.config.additionalPolicies.node: statement 1 of the policy has no Action",
        "node: |",
    ),
    (
        "  iam:\n    useServiceAccountExternalPermissions: true\n    serviceAccountExternalPermissions:\n    - name: fine\n      \
         namespace: default\n      aws: { policyARNs: [\"arn:aws:iam::123456789012:policy/a\"] }\n    - name: \"any*\"\n      \
         namespace: default\n      aws: { policyARNs: [\"arn:aws:iam::123456789012:policy/b\"] }\n  \
         serviceAccountIssuerDiscovery:\n    discoveryStore: s3://issuer/a\n    enableAWSOIDCProvider: true\n",
        "",
        "provider.config.iam.serviceAccountExternalPermissions[any*]: the name of a service account is not a pattern",
        "name: \"any*\"",
    ),
    (
        "",
        "  mixedInstancesPolicy:\n    instanceRequirements:\n      cpu: { min: \"99999999999999999999\" }\n",
        "pools[nodes].providerConfig.mixedInstancesPolicy.instanceRequirements: cpu.min: \"99999999999999999999\" is out of range",
        "instanceRequirements:",
    ),
    (
        "",
        "  additionalUserData:\n  - name: long.sh\n    type: text/x-shellscript\n    content: LONG\n",
        "pools[nodes].userData: the user data has",
        "additionalUserData:",
    ),
];

#[test]
fn what_a_provider_has_against_a_field_is_shown_where_it_is_written() -> Result<()> {
    let place = place()?;
    for (more, of_nodes, message, written) in REFUSED {
        // Nothing that compresses, since what does not fit is compressed first.
        let long: String = (0u64..3000).map(|number| format!("{:x}", number.wrapping_pow(7))).collect();
        let text = in_the_words_of_kops(more, of_nodes).replace("LONG", &long);
        place.write("spec.yaml", &text)?;
        let lines = (1..).zip(text.lines());
        let (line, column) = lines
            .filter_map(|(number, line)| Some((number, line.find(written)? + 1)))
            .last()
            .ok_or_else(|| anyhow::anyhow!("{written} is not written"))?;
        let plan = ["plan", "-f", "spec.yaml", "--offline"];
        let ended = run(&place, &plan, &[])?;
        let said = [format!("error[PROVIDER0000]: {message}"), format!("--> spec.yaml:{line}:{column}\n")];
        ensure!(ended.code == Some(1) && ended.out.is_empty(), "{message}: {} {}", ended.out, ended.err);
        for said in said.iter().map(String::as_str).chain([" = hint: ", "the specs have 1 problem"]) {
            ensure!(ended.err.contains(said), "no {said} in\n{}", ended.err);
        }
        let ended = run(&place, &[&plan[..], &["-o", "json"]].concat(), &[])?;
        ensure!(ended.code == Some(1), "{} {}", ended.out, ended.err);
        let problem = serde_json::from_str::<Json>(&ended.out)?["diagnostics"][0].clone();
        ensure!(problem["code"] == "PROVIDER0000" && problem["severity"] == "error", "{problem}");
        ensure!(problem["message"].as_str().is_some_and(|text| text.starts_with(message)), "{problem}");
        let location = &problem["location"];
        ensure!(location["file"] == "spec.yaml", "{problem}");
        ensure!(location["line"] == line && location["column"] == column, "{written}: {problem}");
        ensure!(problem["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{problem}");
    }
    Ok(())
}

#[test]
fn a_setting_that_no_provider_has_is_shown_where_it_is_written() -> Result<()> {
    let place = place()?;
    let text = std::fs::read_to_string(root().join("providers/aws/model/tests/expand/specs/internal.yaml"))?;
    let wrong = |right: &str| -> Result<Ended> {
        ensure!(text.contains(right), "the spec has no {right}");
        let wrong = right.replace("securityGroupOverride", "securityGroupOverid");
        place.write("spec.yaml", &text.replacen(right, &wrong, 1))?;
        run(&place, &["plan", "-f", "spec.yaml", "--offline"], &[])
    };
    let of_a_pool = wrong("securityGroupOverride: sg-others")?.err;
    let of_the_cluster = wrong("securityGroupOverride: sg-balancer")?.err;
    for (said, err) in [
        ("providerConfig.securityGroupOverid: is not known\n", &of_a_pool),
        ("--> spec.yaml:41:", &of_a_pool),
        ("did you mean `securityGroupOverride`?", &of_a_pool),
        ("error[CLI0007]: provider.config.", &of_the_cluster),
        ("--> spec.yaml:10:", &of_the_cluster),
        (" = hint: did you mean `securityGroupOverride`?", &of_the_cluster),
    ] {
        ensure!(err.contains(said), "no {said} in\n{err}");
    }
    // JSON output has the same diagnostics.
    let told = run(&place, &["plan", "-f", "spec.yaml", "--offline", "-o", "json"], &[])?;
    let problem = serde_json::from_str::<Json>(&told.out)?["diagnostics"][0].clone();
    ensure!(problem["code"] == "CLI0007" && problem["location"]["line"] == 10, "{problem}");
    Ok(())
}

#[test]
fn the_api_of_a_cluster_that_was_not_made_here_is_checked_where_it_is_written() -> Result<()> {
    let place = place()?;
    let text = std::fs::read_to_string(root().join("providers/aws/model/tests/expand/specs/internal.yaml"))?;
    let with = |api: &str, trust: &[&str]| -> Result<Ended> {
        let text =
            text.replacen("    config:\n", &format!("    config:\n      clusterApi: {{ {api} }}\n"), 1);
        place.write("spec.yaml", &text)?;
        run(&place, &[&["plan", "-f", "spec.yaml", "--offline"], trust].concat(), &[])
    };
    let good = with("endpoint: 'https://api.a.example.com', caFile: ca.crt, tokenFile: token", &[])?;
    ensure!(good.code == Some(2), "{:?} {}", good.code, good.err);
    let elsewhere = with("endpoint: 'https://api.a.example.com', tokenFile: /etc/hostname", &[])?.err;
    let in_clear = "endpoint: 'http://api.a.example.com', tokenFile: token";
    let refused = with(in_clear, &[])?.err;
    ensure!(refused.contains("error[TRUST0006]: "), "{refused}");
    let unencrypted = with(in_clear, &["--trust", "endpoint=http://api.a.example.com"])?.err;
    for (said, err) in [
        ("error[TRUST0001]: ", &elsewhere),
        ("/etc/hostname", &elsewhere),
        (
            "error[CLI0007]: provider.config.clusterApi.tokenFile: a token is sent over https only",
            &unencrypted,
        ),
        ("--> spec.yaml:10:", &elsewhere),
        ("--> spec.yaml:10:", &unencrypted),
    ] {
        ensure!(err.contains(said), "no {said} in\n{err}");
    }
    Ok(())
}

/// Plans a cluster on AWS with one more setting of the provider, which is in line 10 of the spec.
fn plan_with_setting(place: &Place, setting: &str, arguments: &[&str]) -> Result<Ended> {
    let text = std::fs::read_to_string(root().join("providers/aws/model/tests/expand/specs/internal.yaml"))?;
    let config = "    config:\n";
    ensure!(text.contains(config), "the spec has no settings of its provider");
    place.write("spec.yaml", &text.replacen(config, &format!("{config}      {setting}\n"), 1))?;
    run(place, &[&["plan", "-f", "spec.yaml", "--offline"], arguments].concat(), &[])
}

fn is_refused_at_its_line(ended: &Ended, code: &str, value: &str) -> Result<()> {
    ensure!(ended.code == Some(1) && ended.out.is_empty(), "{ended:?}");
    for said in [format!("error[{code}]: ").as_str(), value, "--> spec.yaml:10:", " = hint: "] {
        ensure!(ended.err.contains(said), "no {said} in\n{}", ended.err);
    }
    Ok(())
}

#[test]
fn an_untrusted_spec_does_not_select_credentials_of_aws() -> Result<()> {
    let place = place()?;
    for (setting, value) in [
        ("profile: production", "profile: production"),
        ("assumeRole: 'arn:aws:iam::123456789012:role/a'", "assumeRole: arn:aws:iam::123456789012:role/a"),
    ] {
        let own = plan_with_setting(&place, setting, &[])?;
        ensure!(own.code == Some(2), "{setting}: {own:?}");
        // The caller trusts the provider, and not the selection of credentials.
        for arguments in [&["--untrusted"][..], &["--untrusted", "--trust", "provider=aws"]] {
            is_refused_at_its_line(&plan_with_setting(&place, setting, arguments)?, "TRUST0012", value)?;
        }
    }
    Ok(())
}

#[test]
fn an_endpoint_of_aws_is_one_that_the_caller_allows() -> Result<()> {
    let place = place()?;
    let url = "http://192.0.2.1";
    let setting = format!("endpoint: '{url}'");
    for arguments in [&["--untrusted"][..], &["--untrusted", "--trust", "provider=aws"], &[]] {
        is_refused_at_its_line(&plan_with_setting(&place, &setting, arguments)?, "TRUST0006", url)?;
    }
    let allowed = format!("endpoint={url}");
    for arguments in [&["--trust", &allowed][..], &["--untrusted", "--trust", &allowed]] {
        let ended = plan_with_setting(&place, &setting, arguments)?;
        ensure!(ended.code == Some(2), "{arguments:?}: {ended:?}");
    }
    // An emulator on the machine of the caller needs no setting, and another person's spec does not reach it.
    let local = "endpoint: 'http://127.0.0.1:5000'";
    let own = plan_with_setting(&place, local, &[])?;
    ensure!(own.code == Some(2), "{own:?}");
    is_refused_at_its_line(&plan_with_setting(&place, local, &["--untrusted"])?, "TRUST0006", "127.0.0.1")?;
    Ok(())
}

#[test]
fn every_example_is_planned_offline() -> Result<()> {
    let place = place()?;
    for entry in std::fs::read_dir(root().join("specs"))? {
        let folder = entry?.path();
        if folder.ends_with("schema") {
            continue;
        }
        let spec = folder.display().to_string();
        let ended = run(&place, &["plan", "-f", &spec, "--offline"], &[])?;
        ensure!(ended.code == Some(2), "{spec}: {:?} {}", ended.code, ended.err);
    }
    // An address that the spec says exists is used, and not made.
    let spec = root().join("specs/ha-private").display().to_string();
    let plan = run(&place, &["plan", "-f", &spec, "--offline", "-o", "json"], &[])?.out;
    let plan: Json = serde_json::from_str(&plan)?;
    let changes = plan["resource_changes"].as_array().cloned().unwrap_or_default();
    let address = changes.iter().find(|change| change["address"] == "sim_address.sim-1c");
    let actions = address.map(|change| change["change"]["actions"].clone());
    ensure!(actions.as_ref().is_none_or(|actions| *actions == serde_json::json!(["no-op"])), "{actions:?}");
    Ok(())
}
