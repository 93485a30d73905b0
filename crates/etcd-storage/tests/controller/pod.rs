//! A pod of a Deployment without a kubelet: its volumes are folders, and its container is a process.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use slipway_cluster_api::Credentials;
use slipway_controller::k8s_openapi::api::apps::v1::Deployment;
use slipway_controller::k8s_openapi::api::core::v1::{ConfigMap, PodSpec, Secret};
use slipway_controller::kube::Client as Kube;
use slipway_controller::kube::api::Api;
use slipway_resource::SecretText;
use slipway_testkit::port;
use slipway_testkit::process::Process;
use slipway_testkit::scratch::Scratch;
use tokio::task::JoinHandle;

use super::client::Client;
use super::lab::{Lab, NAMESPACE, PROGRAM};
use super::until::until;

/// How often the files of volumes are brought up to date.
const SYNC: Duration = Duration::from_millis(400);

/// A proxy that runs as its Deployment says.
pub struct Pod {
    pub port: u16,
    process: Process,
    sync: JoinHandle<()>,
    _folder: Scratch,
}

impl Pod {
    /// Starts a proxy of an `EtcdStorage` when its volumes are there.
    pub async fn start(lab: &Lab, storage: &str) -> Self {
        let client = lab.client().await;
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
        let deployment = until("the Deployment exists", async || {
            deployments.get_opt(&format!("etcd-{storage}")).await.unwrap()
        })
        .await;
        let spec = deployment.spec.template.spec.unwrap();
        let folder = Scratch::new("etcd-storage-pod").unwrap();
        until("all volumes exist", async || mount(&client, &spec, folder.path()).await).await;
        let [port] = port::free().unwrap();
        let container = &spec.containers[0];
        assert_eq!(container.command.as_deref(), Some(["slipway-etcd-storage".to_owned()].as_slice()));
        let mut command = Command::new(PROGRAM);
        for argument in container.args.as_ref().unwrap() {
            let argument = argument.replace("0.0.0.0:2379", &format!("127.0.0.1:{port}"));
            let (flag, value) = argument.split_once('=').unwrap_or((&argument, ""));
            let path = container.volume_mounts.iter().flatten().find_map(|mount| {
                let file = value.strip_prefix(&mount.mount_path)?;
                Some(format!("{}/{}{file}", folder.path().display(), mount.name))
            });
            match path {
                Some(path) => command.arg(format!("{flag}={path}")),
                None => command.arg(argument),
            };
        }
        let process = Process::start(&command, &folder.path().join("log")).unwrap();
        until("the proxy listens", async || {
            process.running().unwrap();
            port::listens(port).then_some(())
        })
        .await;
        let place = folder.path().to_owned();
        let sync = tokio::spawn(async move {
            loop {
                tokio::time::sleep(SYNC).await;
                mount(&client, &spec, &place).await;
            }
        });
        Self { port, process, sync, _folder: folder }
    }

    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    pub fn check(&self) {
        self.process.running().unwrap();
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        self.sync.abort();
        if std::thread::panicking() {
            println!("{}", self.process.log());
        }
    }
}

/// Writes the files of all volumes; `None` if an object is missing.
async fn mount(client: &Kube, spec: &PodSpec, folder: &Path) -> Option<()> {
    for volume in spec.volumes.as_ref().unwrap() {
        let files: BTreeMap<String, Vec<u8>> = if let Some(map) = &volume.config_map {
            let api: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
            let map = api.get_opt(&map.name).await.ok()??;
            map.data?.into_iter().map(|(key, value)| (key, value.into_bytes())).collect()
        } else {
            let api: Api<Secret> = Api::namespaced(client.clone(), NAMESPACE);
            let secret = api.get_opt(volume.secret.as_ref()?.secret_name.as_ref()?).await.ok()??;
            secret.data?.into_iter().map(|(key, value)| (key, value.0)).collect()
        };
        let place = folder.join(&volume.name);
        fs::create_dir_all(&place).unwrap();
        for (name, content) in files {
            if fs::read(place.join(&name)).is_ok_and(|old| old == content) {
                continue;
            }
            fs::write(place.join(".draft"), content).unwrap();
            fs::rename(place.join(".draft"), place.join(name)).unwrap();
        }
    }
    Some(())
}

/// What an API server reads from its ConfigMap and its Secret.
#[derive(Clone)]
pub struct Given {
    pub authorities: String,
    pub certificate: String,
    pub key: String,
}

impl Given {
    /// What there is; `None` if something is missing.
    pub async fn read(client: &Kube, namespace: &str) -> Option<Self> {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let authorities = maps.get("etcd-serving-ca").await.ok()?.data?.remove("serving-ca.crt")?;
        let data = secrets.get("etcd-client-cert").await.ok()?.data?;
        let text = |key: &str| {
            Some(String::from_utf8(data.get(key)?.0.clone()).unwrap()).filter(|text| !text.is_empty())
        };
        Some(Self { authorities, certificate: text("tls.crt")?, key: text("tls.key")? })
    }

    /// A client of etcd with it.
    pub fn client(&self, url: &str) -> Client {
        let key = SecretText::new(self.key.clone());
        let credentials = Credentials::Certificate { certificate: self.certificate.clone(), key };
        Client::with(url, &self.authorities, &credentials)
    }
}
