//! Kubernetes' sample of an aggregated API server, `k8s.io/sample-apiserver`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use slipway_testkit::control_plane::{ControlPlane, Etcd};
use slipway_testkit::process::Process;
use slipway_testkit::{kubernetes, port, wait};

use super::example::kubectl;

const GROUP: &str = "wardle.example.com";
const NAME: &str = "my-first-flunder";

/// The key of the object, without the `/registry/` of Kubernetes.
pub fn key() -> String {
    format!("{GROUP}/{GROUP}/flunders/default/{NAME}")
}

/// Its objects are created, changed and watched through the API server that it belongs to.
pub fn works(plane: &ControlPlane, storage: &Etcd) {
    let [port] = port::free().unwrap();
    let server = start(plane, storage, port);
    wait::until("the sample of an aggregated API server listens", || {
        server.running()?;
        Ok(port::listens(port).then_some(()))
    })
    .unwrap();
    let file = plane.folder().join("sample.json");
    let write = |object: &serde_json::Value| fs::write(&file, object.to_string()).unwrap();
    let created =
        ["create", "--filename", &file.display().to_string(), "--validate=false"].map(str::to_owned);
    let created: Vec<_> = created.iter().map(String::as_str).collect();
    write(&json!({"apiVersion": "v1", "kind": "List", "items": [
        // There is no kube-proxy that knows the address of a Service.
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "api", "namespace": "default"},
         "spec": {"type": "ExternalName", "externalName": "localhost"}},
        {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
         "metadata": {"name": format!("v1alpha1.{GROUP}")},
         "spec": {"group": GROUP, "version": "v1alpha1", "groupPriorityMinimum": 1000, "versionPriority": 15,
                  "insecureSkipTLSVerify": true,
                  "service": {"name": "api", "namespace": "default", "port": port}}},
    ]}));
    kubectl(plane, &created);
    let service = format!("apiservice/v1alpha1.{GROUP}");
    kubectl(plane, &["wait", &service, "--for=condition=Available", "--timeout=60s"]);
    write(&json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "Flunder",
                  "metadata": {"name": NAME, "namespace": "default"}}));
    kubectl(plane, &created);
    let flunder = format!("flunders.{GROUP}/{NAME}");
    kubectl(plane, &["label", &flunder, "stored=here"]);
    let stored = "--for=jsonpath={.metadata.labels.stored}=here";
    kubectl(plane, &["wait", &flunder, stored, "--timeout=30s"]);
    server.running().unwrap();
}

/// Starts the program with the proxy of the tenant for its etcd.
fn start(plane: &ControlPlane, storage: &Etcd, port: u16) -> Process {
    let folder = plane.folder();
    let flag = |name: &str, path: &Path| format!("--{name}={}", path.display());
    let mut command = Command::new(kubernetes::install_sample_apiserver().unwrap());
    command.args(["--bind-address=127.0.0.1".to_owned(), format!("--secure-port={port}")]);
    command.arg(flag("cert-dir", &folder.join("sample")));
    for name in ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"] {
        command.arg(flag(name, &plane.kubeconfig()));
    }
    command.arg(format!("--etcd-servers={}", storage.url));
    for (name, path) in [
        ("etcd-cafile", &storage.ca),
        ("etcd-certfile", &storage.certificate),
        ("etcd-keyfile", &storage.key),
    ] {
        command.arg(flag(name, path));
    }
    Process::start(&command, &folder.join("sample-apiserver.log")).unwrap()
}
