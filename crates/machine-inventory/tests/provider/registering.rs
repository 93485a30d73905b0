//! The registration API: tokens, keys, and what a host may change.

use serde_json::{Value as Json, json};
use slipway_machine_inventory::keys::PrivateKey;
use slipway_machine_inventory::token::Claims;
use slipway_testkit::http;

use crate::lab::{Lab, condition};
use crate::objects::{
    CLUSTER, ELEMENTAL_CLUSTER, ELEMENTAL_HOST, ELEMENTAL_REGISTRATION, LABELS, SECRETS, Space,
};
use crate::processes::manager;

/// A host as its agent calls the API.
struct Host {
    name: &'static str,
    key: PrivateKey,
    uri: String,
    port: u16,
    registration_token: String,
}

impl Host {
    fn new(name: &'static str, registration: &Json, port: u16) -> Self {
        let access = &registration["spec"]["config"]["elemental"]["registration"];
        Self {
            name,
            key: PrivateKey::read(&PrivateKey::generate().unwrap()).unwrap(),
            uri: access["uri"].as_str().unwrap().to_owned(),
            registration_token: access["token"].as_str().unwrap().to_owned(),
            port,
        }
    }

    fn token(&self) -> String {
        Claims::of_host(self.name, &self.uri, jiff::Timestamp::now()).sign(&self.key)
    }

    fn ask_with(&self, method: &str, rest: &str, token: &str, body: &Json) -> (u16, Json) {
        let path = format!("{}/hosts{rest}", &self.uri[self.uri.find("/elemental").unwrap()..]);
        let (own, registration) = (format!("Bearer {token}"), format!("Bearer {}", self.registration_token));
        let headers =
            [("Authorization", own.as_str()), ("Registration-Authorization", registration.as_str())];
        let answer = http::request(method, self.port, &path, &headers, body.to_string().as_bytes()).unwrap();
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
    }

    fn ask(&self, method: &str, rest: &str, body: &Json) -> (u16, Json) {
        self.ask_with(method, rest, &self.token(), body)
    }

    fn register(&self) -> u16 {
        let key = self.key.public().unwrap().to_pem().unwrap();
        self.ask("POST", "", &json!({"name": self.name, "pubKey": key})).0
    }
}

fn registration(space: &Space<'_>, name: &str, spec: Json) -> Json {
    space.create(ELEMENTAL_REGISTRATION, name, json!({ "spec": spec }));
    space.becomes(ELEMENTAL_REGISTRATION, name, "has its condition", |object| {
        condition(object, "Ready") != "-/-"
    })
}

fn token_of(registration: &Json) -> String {
    registration["spec"]["config"]["elemental"]["registration"]["token"].as_str().unwrap().to_owned()
}

pub fn tokens(lab: &Lab) {
    let space = Space::new(lab, "tokens");
    let manager = manager(lab, &space.name, &["--api-url=https://inventory.example.com/"]);
    let port = manager.api_port();
    let rack = registration(
        &space,
        "rack",
        json!({"hostLabels": {"rack": "1"}, "hostAnnotations": {"example.com/a": "b"}}),
    );
    assert_eq!(condition(&rack, "Ready"), "True/Ready");
    let secret = space.get(SECRETS, "rack").unwrap();
    assert_eq!(
        secret["metadata"]["ownerReferences"][0]["name"], "rack",
        "it is deleted with its registration"
    );
    assert_eq!(rack["spec"]["privateKeyRef"]["name"], "rack");

    let host = Host::new("host-1", &rack, port);
    assert_eq!(host.uri, "https://inventory.example.com/elemental/v1/namespaces/tokens/registrations/rack");
    assert_eq!(host.register(), 201);
    assert_eq!(host.register(), 409);
    let object = space.get(ELEMENTAL_HOST, "host-1").unwrap();
    assert_eq!(object["metadata"]["labels"], json!({"rack": "1"}));
    assert_eq!(object["metadata"]["annotations"], json!({"example.com/a": "b"}));

    // A manager of one namespace serves no other one.
    let mut elsewhere = Host::new("host-2", &rack, port);
    elsewhere.uri = elsewhere.uri.replace("namespaces/tokens", "namespaces/default");
    let (code, answer) = elsewhere.ask("PATCH", "/host-2", &json!({}));
    assert_eq!((code, answer), (404, json!({"message": "namespace default is not served here"})));

    // A registration token of another key, of another registration, and one that has expired.
    let mut other = Host::new("host-2", &rack, port);
    let now = jiff::Timestamp::now();
    other.registration_token =
        Claims::of_registration(&other.uri, jiff::SignedDuration::ZERO, now).sign(&other.key);
    assert_eq!(other.register(), 403);
    let expired = registration(
        &space,
        "expired",
        json!({"config": {"elemental": {"registration": {"tokenDuration": "-1h"}}}}),
    );
    assert_eq!(Host::new("host-2", &expired, port).register(), 403);
    other.registration_token = token_of(&expired);
    assert_eq!(other.register(), 403);
    let invalid = registration(
        &space,
        "invalid",
        json!({"config": {"elemental": {"registration": {"tokenDuration": "soon"}}}}),
    );
    assert_eq!(condition(&invalid, "Ready"), "False/InvalidTokenDuration");

    // A token stays until it is blanked; a new key makes old tokens worthless.
    let blank =
        json!({"spec": {"config": {"elemental": {"registration": {"token": "", "tokenDuration": "1h"}}}}});
    space.delete(SECRETS, "rack");
    space.patch(ELEMENTAL_REGISTRATION, "rack", blank);
    let renewed = space.becomes(ELEMENTAL_REGISTRATION, "rack", "has another token", |object| {
        let token = &object["spec"]["config"]["elemental"]["registration"]["token"];
        token != "" && *token != token_of(&rack)
    });
    let mut late = Host::new("host-3", &rack, port);
    assert_eq!(late.register(), 403);
    late.registration_token = token_of(&renewed);
    assert_eq!(late.register(), 201);
    let frozen = json!({"spec": {"config": {"elemental": {"registration": {"token": "frozen"}}}}});
    space.patch(ELEMENTAL_REGISTRATION, "rack", frozen);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(token_of(&space.get(ELEMENTAL_REGISTRATION, "rack").unwrap()), "frozen");
}

pub fn limits(lab: &Lab) {
    let space = Space::new(lab, "limits");
    let manager = manager(lab, &space.name, &["--api-url=https://inventory.example.com"]);
    let port = manager.api_port();
    let rack = registration(&space, "rack", json!({}));
    let (host, other) = (Host::new("host-1", &rack, port), Host::new("host-2", &rack, port));
    assert_eq!((host.register(), other.register()), (201, 201));

    // Nobody but the host itself: forged subject, other key, other audience, no token.
    let report = json!({"installed": true});
    let now = jiff::Timestamp::now();
    assert_eq!(host.ask_with("PATCH", "/host-1", &other.token(), &report).0, 403);
    let forged = Claims::of_host("host-1", &host.uri, now).sign(&other.key);
    assert_eq!(host.ask_with("PATCH", "/host-1", &forged, &report).0, 403);
    let elsewhere = Claims::of_host("host-1", "https://elsewhere.example.com", now).sign(&host.key);
    assert_eq!(host.ask_with("PATCH", "/host-1", &elsewhere, &report).0, 403);
    assert_eq!(host.ask_with("PATCH", "/host-2", &host.token(), &report).0, 403);
    assert_eq!(host.ask_with("PATCH", "/host-1", "", &report).0, 401);
    assert_eq!(host.ask("PATCH", "/host-9", &report).0, 404);

    // Labels, annotations and the specification are not a host's to change.
    for body in [
        json!({"labels": {"role": "control-plane"}}),
        json!({"annotations": {"a": "b"}}),
        json!({"spec": {}}),
    ] {
        assert_eq!(host.ask("PATCH", "/host-1", &body).0, 400, "{body}");
    }
    assert_eq!(
        host.ask("PATCH", "/host-1", &json!({"bootstrapped": true})).0,
        400,
        "it has no bootstrap data"
    );
    assert_eq!(host.ask("PATCH", "/host-1", &json!({"reset": true})).0, 400, "nobody has asked for a reset");
    assert_eq!(host.ask("GET", "/host-1/bootstrap", &json!({})).0, 404);
    let address = json!({"type": "InternalIP", "address": "10.0.0.1", "interface": "eth0"});
    let (code, state) =
        host.ask("PATCH", "/host-1", &json!({"installed": true, "phase": "Running", "addresses": [address]}));
    assert_eq!(
        (code, state),
        (200, json!({"bootstrapReady": false, "bootstrapped": false, "needsReset": false}))
    );
    let object = space.get(ELEMENTAL_HOST, "host-1").unwrap();
    assert_eq!(object["status"]["addresses"], json!([address]));
    assert_eq!(object["metadata"]["labels"], json!({format!("{LABELS}/installed"): "true"}));
    assert_eq!(condition(&object, "InstallationReady"), "True/Installed");

    // Bootstrap data is handed only to the host that the machine names.
    space.cluster(json!({"controlPlaneEndpoint": {"host": "api.example.com", "port": 6443}}));
    space.cluster_is_provisioned();
    space.machine_with_data("m", false, json!({}), "secret of m");
    assert_eq!(space.claims("m"), "host-1");
    assert_eq!(
        host.ask("GET", "/host-1/bootstrap", &json!({})),
        (200, json!({"format": "cloud-config", "config": "secret of m"}))
    );
    let stolen = space.get(ELEMENTAL_HOST, "host-1").unwrap()["spec"].clone();
    space.patch(
        ELEMENTAL_HOST,
        "host-2",
        json!({"spec": {"machineRef": stolen["machineRef"], "bootstrapSecret": stolen["bootstrapSecret"]}}),
    );
    assert_eq!(other.ask("GET", "/host-2/bootstrap", &json!({})).0, 404);
    space.becomes(ELEMENTAL_HOST, "host-2", "gives the claim back", |object| {
        object["spec"]["machineRef"].is_null()
    });
    let failure = json!({"failure": "the bootstrap data has `users`"});
    assert_eq!(host.ask("PATCH", "/host-1", &failure).0, 200);
    space.becomes(crate::objects::ELEMENTAL_MACHINE, "m", "reports the failure", |object| {
        condition(object, "HostReady") == "False/BootstrapFailed"
    });
    assert_eq!(host.ask("GET", "/host-1", &json!({})).0, 405);
    assert_eq!(host.ask("DELETE", "/host-1", &json!({})).0, 202);
}

/// A host of a control plane gets the manifest of kube-vip beside its bootstrap data. No address of one host is elected then.
pub fn virtual_address(lab: &Lab) {
    let space = Space::new(lab, "virtual-address");
    let manager = manager(lab, &space.name, &["--api-url=https://inventory.example.com"]);
    let rack = registration(&space, "rack", json!({"hostLabels": {"role": "control-plane"}}));
    let host = Host::new("vip-1", &rack, manager.api_port());
    assert_eq!(host.register(), 201);
    let address = json!({"type": "InternalIP", "address": "10.0.0.1", "interface": "eth0"});
    let report = json!({"installed": true, "phase": "Running", "addresses": [address]});
    assert_eq!(host.ask("PATCH", "/vip-1", &report).0, 200);

    space.cluster(json!({"kubeVip": {"interface": "eth0"}}));
    space.becomes(ELEMENTAL_CLUSTER, CLUSTER, "needs an address", |object| {
        condition(object, "ControlPlaneEndpointReady") == "False/VirtualAddressMissing"
    });
    let endpoint = json!({"host": "10.0.0.100", "port": 6443});
    space.patch(ELEMENTAL_CLUSTER, CLUSTER, json!({"spec": {"controlPlaneEndpoint": endpoint}}));
    space.cluster_is_provisioned();
    let data = "#cloud-config\nruncmd: ['kubeadm init --config /run/kubeadm/kubeadm.yaml']\n";
    space.machine_with_data("m", true, json!({"matchLabels": {"role": "control-plane"}}), data);
    assert_eq!(space.claims("m"), "vip-1");
    let (code, answer) = host.ask("GET", "/vip-1/bootstrap", &json!({}));
    assert_eq!((code, &answer["config"]), (200, &json!(data)));
    let files = answer["files"].as_array().unwrap();
    assert_eq!(files.len(), 1, "{answer}");
    assert_eq!(files[0]["path"], "/etc/kubernetes/manifests/kube-vip.yaml");
    let manifest = files[0]["content"].as_str().unwrap();
    for part in ["value: 10.0.0.100", "value: eth0", "/etc/kubernetes/super-admin.conf"] {
        assert!(manifest.contains(part), "{part}: {manifest}");
    }
}
