use super::*;

const CONFIGURATION: &str = "data = '/var/lib/slipway/controller'\nlisten = '0.0.0.0:9464'\n";
const FOLDER_SOURCE: &str = "[[source]]\nname = 'local'\nfolder = '/srv/specs'\n";

fn objects(configuration: &str, state: &str) -> Result<Vec<Json>, Error> {
    let manifest = Manifest {
        image: "registry.example.com/slipway:1",
        namespace: "slipway",
        replicas: 2,
        state,
        configuration,
        user_configuration: None,
    };
    manifest.objects()
}

fn of(configuration: &str) -> Vec<Json> {
    objects(configuration, "s3://bucket/state").unwrap()
}

fn kinds(objects: &[Json]) -> Vec<&str> {
    objects.iter().filter_map(|object| object["kind"].as_str()).collect()
}

#[test]
fn a_controller_that_does_not_use_the_api_has_no_rights() {
    let objects = of(&format!("{CONFIGURATION}{FOLDER_SOURCE}"));
    let expected = ["Namespace", "ServiceAccount", "ConfigMap", "PodDisruptionBudget", "Deployment"];
    assert_eq!(kinds(&objects), expected);
    let pod = &objects[4]["spec"]["template"]["spec"];
    assert_eq!(pod["automountServiceAccountToken"], false);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    let container = &pod["containers"][0];
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(container["ports"], json!([{"name": "health", "containerPort": 9464}]));
    assert_eq!(
        container["args"],
        json!(["controller", "run", "--file=/etc/slipway/controller.toml", "--state=s3://bucket/state"])
    );
}

#[test]
fn objects_of_flux_are_read_by_name() {
    let flux = |name: &str, more: &str| {
        format!(
            "[[source]]\nname = '{name}'\n[source.flux]\nkind = 'GitRepository'\nnamespace = 'flux-system'\nname = '{name}'\n{more}\n"
        )
    };
    let text =
        format!("{CONFIGURATION}{}{}{}", flux("b", ""), flux("a", ""), flux("c", "kubeconfig = 'other'"));
    let objects = of(&text);
    assert_eq!(kinds(&objects)[2..4], ["Role", "RoleBinding"]);
    assert_eq!(objects[2]["metadata"]["namespace"], "flux-system");
    assert_eq!(objects[3]["subjects"][0]["namespace"], "slipway");
    let rules = json!([{
        "apiGroups": ["source.toolkit.fluxcd.io"], "resources": ["gitrepositories"], "resourceNames": ["a", "b"],
        "verbs": ["get", "list", "watch"],
    }]);
    assert_eq!(objects[2]["rules"], rules, "with a kubeconfig, the service account is not used");
    let pod = &objects.last().unwrap()["spec"]["template"]["spec"];
    assert_eq!(pod["automountServiceAccountToken"], true);
}

#[test]
fn objects_in_the_cluster_bring_their_kinds_and_rights() {
    let text =
        format!("name = 'platform'\n{CONFIGURATION}kubernetes = {{ namespace = 'fleet' }}\n{FOLDER_SOURCE}");
    let objects = of(&text);
    let kind = "CustomResourceDefinition";
    assert_eq!(kinds(&objects)[2..7], [kind, kind, kind, "Role", "RoleBinding"]);
    let role = &objects[5];
    assert_eq!(role["metadata"]["namespace"], "fleet");
    let rules = role["rules"].as_array().unwrap();
    assert_eq!(rules.last().unwrap()["resourceNames"], json!(["slipway-controller-platform"]));
    let of_status = |rule: &&Json| rule["resources"][0] == "managedclusters/status";
    assert_eq!(rules.iter().find(of_status).unwrap()["verbs"], json!(["patch"]));
    // In another cluster, the service account has no rights.
    let elsewhere = text.replace("namespace = 'fleet'", "kubeconfig = 'other'");
    assert!(!kinds(&of(&elsewhere)).contains(&"Role"));
}

#[test]
fn webhooks_have_a_service() {
    let text = format!(
        "{CONFIGURATION}[webhooks]\nlisten = '0.0.0.0:9465'\n{FOLDER_SOURCE}webhook = {{ kind = 'gitea', secret-file = 's' }}\n"
    );
    let objects = of(&text);
    assert_eq!(kinds(&objects)[3], "Service");
    assert_eq!(objects[3]["spec"]["ports"][0]["port"], 9465);
}

#[test]
fn plans_for_flux_have_a_service_and_rights() {
    let plans = "kubernetes.plans = { listen = '0.0.0.0:9466', url = 'http://slipway-controller-plans.slipway.svc.cluster.local' }\n";
    let text = format!("{CONFIGURATION}{plans}{FOLDER_SOURCE}");
    let objects = of(&text);
    let service = objects.iter().find(|object| object["kind"] == "Service").unwrap();
    assert_eq!(service["metadata"]["name"], "slipway-controller-plans");
    assert_eq!(service["spec"]["ports"][0], json!({"name": "http", "port": 80, "targetPort": "plans"}));
    let role = objects.iter().find(|object| object["kind"] == "Role").unwrap();
    let rules = role["rules"].as_array().unwrap();
    let of_flux = |rule: &&Json| rule["resources"][0] == "externalartifacts";
    assert_eq!(rules.iter().find(of_flux).unwrap()["verbs"], json!(["get", "create", "patch", "delete"]));
    let pod = &objects.last().unwrap()["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["ports"][1], json!({"name": "plans", "containerPort": 9466}));
    // The pods are reached from outside.
    let error = self::objects(&text.replace("0.0.0.0:9466", "127.0.0.1:9466"), "s3://bucket/state");
    assert!(error.unwrap_err().to_string().contains("cannot reach 127.0.0.1:9466"));
    let path = text.replace(".cluster.local'", ".cluster.local/plans'");
    assert!(self::objects(&path, "s3://bucket/state").unwrap_err().to_string().contains("plans.url"));
}

#[test]
fn pods_begin_again_when_the_configuration_changes() {
    let digest = |text: &str| {
        let objects = of(text);
        objects.last().unwrap()["spec"]["template"]["metadata"]["annotations"]["slipway.dev/configuration"]
            .clone()
    };
    let text = format!("{CONFIGURATION}{FOLDER_SOURCE}");
    assert_eq!(digest(&text), digest(&text));
    assert_ne!(digest(&text), digest(&format!("{text}interval = '2m'\n")));
}

#[test]
fn what_does_not_work_in_a_pod_is_refused_with_a_way_out() {
    let text = format!("{CONFIGURATION}{FOLDER_SOURCE}");
    let with = |from: &str, to: &str| text.replace(from, to);
    let hook = "webhook = { kind = 'gitea', secret-file = 's' }\n";
    let bucket = "s3://bucket/state";
    for (text, state, part) in [
        (text.clone(), ".slipway/state", ".slipway/state is a folder"),
        (text.clone(), "file:///state", "is a folder"),
        (with("/var/lib/slipway/controller", "data"), bucket, "/etc/slipway/data is read-only"),
        (with("/var/lib/slipway/controller", "/tmp"), bucket, "/tmp has other files"),
        (with("/var/lib/slipway/controller", "/etc"), bucket, "/etc has other files"),
        (with("/var/lib/slipway/controller", "~/data"), bucket, "data: ~/data is in a home folder"),
        (
            text.clone() + "trust = { file-roots = ['/srv', '~/files'] }\n",
            bucket,
            "file-roots: ~/files is in",
        ),
        (with("0.0.0.0:9464", "127.0.0.1:9464"), bucket, "ask for health at 127.0.0.1:9464"),
        (with("0.0.0.0:9464", "0.0.0.0:0"), bucket, "ask for health"),
        (
            with("[[source]]", "[webhooks]\nlisten = '127.0.0.1:9465'\n[[source]]") + hook,
            bucket,
            "cannot reach 127.0.0.1:9465",
        ),
    ] {
        let error = objects(&text, state).expect_err(&text);
        assert!(error.to_string().contains(part), "no `{part}` in `{error}`");
        assert_eq!(error.code(), "RECON0002");
        assert!(error.hint().is_some());
    }
}
