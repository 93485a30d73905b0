//! Input without bounds on the built program: each is refused with a code and costs little.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::Place;

use crate::{APPLY, PLAN, PROGRAM, SMALL};

const CHECK: &[&str] = &["spec", "check", "-f", "spec.yaml"];

/// The memory limit of the program here, in KiB; the kernel enforces it.
const MEMORY: &str = "262144";

/// How a call ended that had little memory: its code, and all that it said.
fn bounded(place: &Place, arguments: &[&str]) -> Result<(Option<i32>, String)> {
    let program = place.command(arguments);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -d \"$0\" && exec \"$@\"", MEMORY]).arg(program.get_program());
    shell.args(program.get_args()).current_dir(place.path()).stdin(std::process::Stdio::null());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let output = shell.output()?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.code(), String::from_utf8(said).context("what the program says is text")?))
}

fn refused(place: &Place, arguments: &[&str], words: &[&str]) -> Result<String> {
    let (code, said) = bounded(place, arguments)?;
    let start: String = said.chars().take(4_000).collect();
    ensure!(code == Some(1), "{arguments:?}: {code:?}: {start}");
    for word in words {
        ensure!(said.contains(word), "{arguments:?} does not say {word}: {start}");
    }
    Ok(said)
}

fn pipe(place: &Place, name: &str) -> Result<()> {
    let made = Command::new("mkfifo").arg(place.path().join(name)).status()?;
    ensure!(made.success(), "mkfifo {name}");
    Ok(())
}

#[test]
fn aliases_do_not_cost_what_they_repeat() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    // 2 MiB that expand to 20 GiB, in ten thousand values.
    let bomb = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(2 << 20), "*a,".repeat(9_999));
    place.write("spec.yaml", &bomb)?;
    let said = refused(&place, CHECK, &["SPEC0013", "spec.yaml:2:"])?;
    ensure!(said.len() < 10_000, "{} bytes", said.len());
    Ok(())
}

#[test]
fn pipes_and_devices_are_not_opened() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    for name in ["spec.yaml", "folder.yaml", "plan", "config.toml"] {
        pipe(&place, name)?;
    }
    fs::create_dir(place.path().join("specs"))?;
    symlink("/dev/zero", place.path().join("specs/a.yaml"))?;
    fs::rename(place.path().join("folder.yaml"), place.path().join("specs/b.yaml"))?;
    refused(&place, CHECK, &["LIMIT0001", "a named pipe", "hint:"])?;
    refused(&place, &["spec", "check", "-f", "specs"], &["specs/a.yaml", "a device", "specs/b.yaml"])?;
    refused(&place, &["apply", "plan", "--yes"], &["LIMIT0001", "the plan plan"])?;
    refused(&place, &["show", "/dev/zero"], &["LIMIT0001", "a device"])?;
    refused(&place, &["--config", "config.toml", "get", "clusters"], &["LIMIT0001"])?;
    Ok(())
}

#[test]
fn a_secret_is_in_a_regular_file_of_a_bounded_size() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    pipe(&place, "key")?;
    place.write("spec.yaml", &crate::secrets::vault("{ file: key }"))?;
    refused(&place, PLAN, &["file:key", "[LIMIT0001]", "hint: name a regular file"])?;
    refused(&place, APPLY, &["file:key", "LIMIT0001"])?;
    fs::remove_file(place.path().join("key"))?;
    // A file with a hole: none of it is on the disk.
    fs::File::create(place.path().join("key"))?.set_len(256 << 20)?;
    refused(&place, PLAN, &["file:key", "[LIMIT0002]", "hint: check that the path"])?;
    ensure!(!place.state().exists(), "nothing was applied");
    Ok(())
}

#[test]
fn a_pipe_of_the_shell_is_a_spec() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    let program = place.command(&["spec", "check", "-f", "/dev/stdin"]);
    let output = Command::new("sh")
        .args(["-c", "cat spec.yaml | \"$@\"", "sh"])
        .arg(program.get_program())
        .args(program.get_args())
        .current_dir(place.path())
        .output()?;
    ensure!(output.status.success(), "{output:?}");
    Ok(())
}

#[test]
fn links_in_circles_are_followed_once() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("specs/spec.yaml", SMALL)?;
    for name in ["a", "b", "c"] {
        symlink(".", place.path().join("specs").join(name))?;
    }
    let said = place.expect(0, &["spec", "check", "-f", "specs"])?;
    ensure!(said.out.contains("no problems"), "{}", said.out);
    Ok(())
}

#[test]
fn files_have_a_largest_size() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let padded = |bytes: usize| format!("{SMALL}#{}\n", "x".repeat(bytes - SMALL.len() - 2));
    place.write("spec.yaml", &padded(4 << 20))?;
    place.expect(0, CHECK)?;
    place.write("spec.yaml", &padded((4 << 20) + 1))?;
    refused(&place, CHECK, &["LIMIT0002", "4 MiB"])?;
    // Files with holes: none of it is on the disk.
    for (name, bytes, arguments) in [
        ("plan", (256 << 20) + 1, &["show", "plan"][..]),
        ("config.toml", (1 << 20) + 1, &["--config", "config.toml", "get", "clusters"]),
    ] {
        fs::File::create(place.path().join(name))?.set_len(bytes)?;
        refused(&place, arguments, &["LIMIT0002"])?;
    }
    Ok(())
}

#[test]
fn a_pool_is_as_large_as_slipway_handles() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let sized = |size: &str| {
        let pool = "apiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata:\n  name: many\nspec:\n  machineType: sim.large\n";
        format!("{SMALL}---\n{pool}  size: {size}\n")
    };
    place.write("spec.yaml", &sized("{ fixed: 9999 }"))?;
    place.expect(0, CHECK)?;
    for (size, code) in [
        ("{ fixed: 10000 }", "SPEC0080"),
        ("{ fixed: 10001 }", "SPEC0008"),
        ("{ fixed: 2147483647 }", "SPEC0008"),
        ("{ fixed: 4000000000 }", "SPEC0008"),
        ("{ bounds: { min: 1, max: 4000000000 } }", "SPEC0008"),
    ] {
        place.write("spec.yaml", &sized(size))?;
        refused(&place, CHECK, &[code, "hint:"])?;
        refused(&place, PLAN, &[code])?;
    }
    Ok(())
}

/// Each of these lists made plans slow before it had a limit.
#[test]
fn lists_have_no_more_items_than_clouds_take() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let ranges = |number: usize| -> String {
        (0..number).map(|number| format!("11.{}.{}.0/24,", number / 256, number % 256)).collect()
    };
    let labels = |number: usize| -> String { (0..number).map(|number| format!("l{number}: a,")).collect() };
    let zones = |number: usize| -> String { (0..number).map(|number| format!("z{number},")).collect() };
    let taints = |number: usize| -> String {
        (0..number).map(|number| format!("{{ key: t{number}, effect: NoSchedule }},")).collect()
    };
    let addons =
        |number: usize| -> String { (0..number).map(|number| format!("{{ name: a{number} }},")).collect() };
    let gates =
        |number: usize| -> String { (0..number).map(|number| format!("Gate{number}: true,")).collect() };
    let subnets = |number: usize| -> String {
        let subnet = |number: usize| {
            format!(
                "{{ name: s{number}, zone: sim-1a, kind: private, cidr: 10.0.{}.{}/28 }},",
                number / 16,
                number % 16 * 16
            )
        };
        (0..number).map(subnet).collect()
    };
    let pools = |number: usize| -> String {
        let pool = |number: usize| {
            format!(
                "---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: n{number} }}\nspec: {{ machineType: \
                 sim.medium }}\n"
            )
        };
        (0..number).map(pool).collect()
    };
    let more = |text: &str| SMALL.replace("  zones: [sim-1a]\n", &format!("  zones: [sim-1a]\n  {text}\n"));
    place.write("spec.yaml", &more(&format!("controlPlane: {{ access: [{}] }}", ranges(1_000))))?;
    place.expect(0, CHECK)?;
    for (spec, line, words) in [
        (
            more(&format!("controlPlane: {{ access: [{}] }}", ranges(1_001))),
            9,
            "has 1001 sources that may reach",
        ),
        (more(&format!("ssh: {{ access: [{}] }}", ranges(20_000))), 9, "has 20000 sources that may log in"),
        (more(&format!("cloudLabels: {{ {} }}", labels(65))), 9, "has 65 cloud labels"),
        (SMALL.replace("[sim-1a]", &format!("[{}]", zones(50_000))), 8, "has 50000 zones"),
        (
            SMALL.replace("sim.medium }", &format!("sim.medium, cloudLabels: {{ {} }} }}", labels(65))),
            13,
            "has 65 cloud labels in one pool",
        ),
        (more(&format!("network: {{ additionalCidrs: [{}] }}", ranges(20_000))), 9, "has 20000 ranges"),
        (
            SMALL.replace("sim.medium }", &format!("sim.medium, taints: [{}] }}", taints(14_000))),
            13,
            "has 14000 taints",
        ),
        (
            more(&format!("addons: [{}]", addons(20_000))),
            9,
            "`addons` of the cluster `line` has 20002 entries",
        ),
        (
            more(&format!("kubelet: {{ featureGates: {{ {} }} }}", gates(1_001))),
            9,
            "`kubelet.featureGates` of the cluster `line` has 1001 entries",
        ),
        (
            [
                more(&format!(
                    "network: {{ cidr: 10.0.0.0/16, topology: private, subnets: [{}] }}",
                    subnets(200)
                )),
                pools(150),
            ]
            .concat(),
            9,
            "have 30200 subnets together",
        ),
    ] {
        place.write("spec.yaml", &spec)?;
        for arguments in [CHECK, PLAN] {
            refused(&place, arguments, &["SPEC0080", words, &format!("spec.yaml:{line}:"), "hint:"])?;
        }
    }
    Ok(())
}

#[test]
fn thousands_of_problems_are_counted() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let wrong = "---\napiVersion: slipway.dev/v1alpha1\nkind: Nonsense\n";
    place.write("spec.yaml", &wrong.repeat(4_000))?;
    let said = refused(&place, CHECK, &["LIMIT0004", "3800 more problems"])?;
    ensure!(said.len() < 100_000, "{} bytes", said.len());
    // One problem that quotes a whole file.
    place.write("spec.yaml", &format!("apiVersion: {}\nkind: Cluster\n", "x".repeat(3 << 20)))?;
    let said = refused(&place, CHECK, &["MiB more"])?;
    ensure!(said.len() < 20_000, "{} bytes", said.len());
    Ok(())
}

#[test]
fn a_spec_does_not_drive_the_terminal() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let name = r#""\e[2J\e]0;title\a\x9b8m\u202Eevil""#;
    place.write("spec.yaml", &SMALL.replace("name: line", &format!("name: {name}")))?;
    for color in ["always", "never"] {
        for command in [CHECK, PLAN] {
            let said = refused(&place, &[&["--color", color], command].concat(), &[r"\u001b[2J"])?;
            for theirs in ["\u{1b}[2J", "\u{1b}]", "\u{7}", "\u{9b}", "\u{202e}"] {
                ensure!(!said.contains(theirs), "{command:?} prints {theirs:?}");
            }
        }
    }
    place.write("spec.yaml", "a: \u{1b}[2J\n")?;
    refused(&place, CHECK, &["U+001B", "spec.yaml:1:4"])?;
    place.write("spec.yaml", "a: !!python/object:os.system [x]\n")?;
    refused(&place, CHECK, &["`!!python/object:os.system`"])?;
    Ok(())
}

#[test]
fn names_and_times_are_called_by_what_is_wrong_with_them() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &SMALL.replace("name: line", "name: ../../x"))?;
    let said = refused(&place, CHECK, &["SPEC0021", "cannot have"])?;
    ensure!(!said.contains("is empty"), "{said}");
    place.write("spec.yaml", SMALL)?;
    for long in ["9999999999999999h", "99999999999999999999s", "36601d"] {
        let (code, said) = bounded(&place, &[APPLY, &["--wait", long]].concat())?;
        ensure!(code == Some(1) && said.contains("too long") || said.contains("not a duration"), "{said}");
    }
    ensure!(!place.state().exists(), "nothing was applied");
    Ok(())
}

#[test]
fn a_load_fits_into_memory() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    for (objects, words) in [
        (r#"{"objects":{"count":100001}}"#, "100001 is more than 100000"),
        (r#"{"objects":{"count":1,"tail":{"length":4000000000,"sleepMs":1}}}"#, "4000000000 is more"),
        (r#"{"objects":{"count":100000,"payloadBytes":4000000}}"#, "256 MiB"),
    ] {
        refused(&place, &[PLAN, &["--provider", "sim", "--provider-config", objects]].concat(), &[words])?;
    }
    Ok(())
}
