use slipway_spec::load_files;
use slipway_spec::source::SourceFile;
use slipway_trust::Policy;

use super::*;

fn version(text: &str) -> KubernetesVersion {
    text.parse().unwrap()
}

fn release(version_of: &str, emulated: Option<&str>) -> Release {
    Release { version: version(version_of), emulated: emulated.map(version) }
}

/// A cluster on hosts, with these lines in its spec.
fn cluster(release: &Release, lines: &str) -> Cluster {
    cluster_with(release, lines, "")
}

/// The same with these lines in `controlPlane`.
fn cluster_with(release: &Release, lines: &str, control_plane: &str) -> Cluster {
    let text = format!(
        "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{ name: demo }}\nspec:\n  provider: {{ name: hosts }}\n  \
         kubernetesVersion: {}\n{lines}  controlPlane:\n    endpoint: {{ elected: {{}} }}\n{control_plane}---\n\
         apiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: control-plane }}\nspec:\n  role: controlPlane\n  \
         size: {{ fixed: 1 }}\n  hosts: {{ inventory: rack }}\n",
        release.version
    );
    let mut loaded = load_files(vec![SourceFile::new("cluster.yaml", text)], &[]);
    assert!(!loaded.clusters.is_empty(), "{:?}", loaded.diagnostics);
    let mut cluster = loaded.clusters.remove(0);
    cluster.emulated_version.clone_from(&release.emulated);
    cluster
}

fn checked(from: &Release, to: &Release) -> Result<Option<Turn>, Option<&'static str>> {
    let spec = ClusterSpec::recorded(&Policy::default(), cluster(to, ""));
    check(&cluster(from, ""), &spec).map_err(|error| error.code())
}

#[test]
fn an_upgrade_goes_through_its_stages_or_back() {
    let before = release("1.33.13", None);
    let emulating = release("1.34.4", Some("1.33.13"));
    let after = release("1.34.4", None);
    assert_eq!(checked(&before, &emulating), Ok(Some(Turn::Begins)));
    assert_eq!(checked(&emulating, &before), Ok(Some(Turn::Back)));
    assert_eq!(checked(&emulating, &after), Ok(Some(Turn::Finalises)));
    // Patch releases of the new version, an upgrade in one step, and nothing.
    assert_eq!(checked(&emulating, &release("1.34.5", Some("1.33.13"))), Ok(None));
    assert_eq!(checked(&before, &after), Ok(None));
    assert_eq!(checked(&emulating, &emulating), Ok(None));
}

#[test]
fn nothing_else_follows_while_an_upgrade_is_not_final() {
    let emulating = release("1.34.4", Some("1.33.13"));
    for to in [
        release("1.35.2", None),
        release("1.35.2", Some("1.34.4")),
        release("1.33.12", None),
        release("1.34.4", Some("1.33.12")),
    ] {
        assert_eq!(checked(&emulating, &to), Err(Some("CLI0074")), "{to:?}");
    }
    // A control plane that is final does not emulate again, and nothing emulates two versions back.
    for (from, to) in [("1.34.4", "1.34.4"), ("1.33.13", "1.35.2"), ("1.32.9", "1.34.4")] {
        let to = release(to, Some("1.33.13"));
        assert_eq!(checked(&release(from, None), &to), Err(Some("CLI0075")), "{from}");
    }
}

/// The release of a spec from files with this version, after another one was applied.
fn planned(version_of: &str, lines: &str, applied: &Cluster) -> (Release, Option<String>) {
    let written = cluster_with(&release(version_of, None), "", lines);
    let planned = with_stage(ClusterSpec::recorded(&Policy::default(), written), applied).cluster;
    let waits = planned.turned_back_from.as_ref().map(ToString::to_string);
    assert_eq!(planned.pools[0].kubernetes_version, planned.kubernetes_version);
    (Release::of(&planned), waits)
}

#[test]
fn files_keep_the_stage_until_they_have_the_version_before() {
    let applied = cluster(&release("1.34.4", Some("1.33.13")), "");
    let kept = |written: &str| planned(written, "", &applied).0.emulated.map(|version| version.to_string());
    assert_eq!(kept("1.34.4").as_deref(), Some("1.33.13"));
    assert_eq!(kept("1.34.5").as_deref(), Some("1.33.13"));
    assert_eq!(kept("1.33.13"), None);
    assert_eq!(kept("1.35.2"), None);
}

#[test]
fn another_minor_version_begins_with_the_first_stage_if_the_spec_has_a_soak() {
    let applied = cluster(&release("1.33.13", None), "");
    let soak = "    soak: 24h\n";
    assert_eq!(planned("1.34.4", soak, &applied).0, release("1.34.4", Some("1.33.13")));
    assert_eq!(planned("1.34.4", "", &applied).0, release("1.34.4", None));
    assert_eq!(planned("1.33.14", soak, &applied).0, release("1.33.14", None));
    // A final control plane does not begin again.
    let last = cluster(&release("1.34.4", None), "");
    assert_eq!(planned("1.34.4", soak, &last).0, release("1.34.4", None));
}

#[test]
fn a_version_from_which_a_gate_has_turned_back_waits() {
    let emulating = cluster(&release("1.34.4", Some("1.33.13")), "");
    let spec = ClusterSpec::recorded(&Policy::default(), emulating);
    let applied = turned_back(&spec, &version("1.33.13")).cluster;
    assert_eq!(Release::of(&applied), release("1.33.13", None));
    let soak = "    soak: 24h\n";
    let waiting = (release("1.33.13", None), Some("1.34.4".to_owned()));
    assert_eq!(planned("1.34.4", soak, &applied), waiting);
    assert_eq!(planned("1.34.5", soak, &applied), (release("1.34.5", Some("1.33.13")), None));
    assert_eq!(planned("1.33.13", soak, &applied), (release("1.33.13", None), None));
}

#[test]
fn only_control_planes_on_hosts_without_the_flag_emulate_another_minor_version() {
    let plain = cluster(&release("1.33.13", None), "");
    let (from, to) = (version("1.33.13"), version("1.34.4"));
    assert_eq!(why_not(&plain, true, &from, &to), None);
    assert!(why_not(&plain, false, &from, &to).unwrap().contains("made by the provider hosts"));
    assert!(why_not(&plain, true, &from, &version("1.33.14")).unwrap().contains("patch release"));
    let flag = "  components:\n    scheduler: { extraArgs: { emulated-version: \"1.33\" } }\n";
    let why = why_not(&cluster(&release("1.33.13", None), flag), true, &from, &to).unwrap();
    assert!(why.contains("`components.scheduler.extraArgs`"), "{why}");
}

#[test]
fn the_plan_says_where_the_last_way_back_is() {
    let before = release("1.33.13", None);
    let emulating = release("1.34.4", Some("1.33.13"));
    let begins = message(Turn::Begins, &before, &emulating, "");
    assert!(
        begins.contains("from 1.33.13 to 1.34.4 and emulate 1.33,") && begins.contains("--back"),
        "{begins}"
    );
    let finalises = message(Turn::Finalises, &emulating, &release("1.34.4", None), "etcd follows");
    for part in [
        "the last point of return",
        "`slipway upgrade --back` goes back to 1.33.13",
        "no way back",
        "etcd follows",
    ] {
        assert!(finalises.contains(part), "{part}: {finalises}");
    }
    assert!(message(Turn::Back, &emulating, &before, "").contains("from 1.34.4 to 1.33.13"));
}
