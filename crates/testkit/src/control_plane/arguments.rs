//! Arguments of the parts of a control plane of plain processes.

use std::path::Path;

use super::pki::ADVERTISED;
use super::{Etcd, Ports};

/// The arguments of etcd. No data has to survive the machine, so it need not wait for the disk.
pub fn etcd(folder: &Path, ports: Ports) -> Vec<String> {
    let pki = folder.join("pki/etcd");
    let pki = pki.display();
    let (client, peer) =
        (format!("https://127.0.0.1:{}", ports.etcd), format!("https://127.0.0.1:{}", ports.etcd_peer));
    vec![
        "--name=plain".to_owned(),
        format!("--data-dir={}/etcd", folder.display()),
        "--unsafe-no-fsync".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=plain={peer}"),
        format!("--listen-metrics-urls=http://127.0.0.1:{}", ports.etcd_health),
        "--client-cert-auth".to_owned(),
        format!("--trusted-ca-file={pki}/ca.crt"),
        format!("--cert-file={pki}/server.crt"),
        format!("--key-file={pki}/server.key"),
        "--peer-client-cert-auth".to_owned(),
        format!("--peer-trusted-ca-file={pki}/ca.crt"),
        format!("--peer-cert-file={pki}/peer.crt"),
        format!("--peer-key-file={pki}/peer.key"),
    ]
}

/// The arguments of kube-apiserver: those of kubeadm, except for the addresses.
pub fn api(folder: &Path, ports: Ports, etcd: &Etcd) -> Vec<String> {
    let pki = folder.join("pki");
    let pki = pki.display();
    vec![
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={}", ports.api),
        format!("--advertise-address={ADVERTISED}"),
        // It would write an endpoint that is not reachable.
        "--endpoint-reconciler-type=none".to_owned(),
        "--allow-privileged=true".to_owned(),
        "--authorization-mode=Node,RBAC".to_owned(),
        "--enable-admission-plugins=NodeRestriction".to_owned(),
        "--enable-bootstrap-token-auth=true".to_owned(),
        "--service-cluster-ip-range=10.96.0.0/12".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
        format!("--service-account-key-file={pki}/sa.pub"),
        format!("--service-account-signing-key-file={pki}/sa.key"),
        format!("--client-ca-file={pki}/ca.crt"),
        format!("--tls-cert-file={pki}/apiserver.crt"),
        format!("--tls-private-key-file={pki}/apiserver.key"),
        format!("--etcd-servers={}", etcd.url),
        format!("--etcd-cafile={}", etcd.ca.display()),
        format!("--etcd-certfile={}", etcd.certificate.display()),
        format!("--etcd-keyfile={}", etcd.key.display()),
        format!("--kubelet-client-certificate={pki}/apiserver-kubelet-client.crt"),
        format!("--kubelet-client-key={pki}/apiserver-kubelet-client.key"),
        format!("--proxy-client-cert-file={pki}/front-proxy-client.crt"),
        format!("--proxy-client-key-file={pki}/front-proxy-client.key"),
        format!("--requestheader-client-ca-file={pki}/front-proxy-ca.crt"),
        "--requestheader-allowed-names=front-proxy-client".to_owned(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
        "--requestheader-group-headers=X-Remote-Group".to_owned(),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
    ]
}

/// The arguments of kube-controller-manager. Without leader election, since there is no other instance.
pub fn controllers(folder: &Path, ports: Ports) -> Vec<String> {
    let pki = folder.join("pki");
    let pki = pki.display();
    let mut arguments = client(folder, "controller-manager.conf", ports.controllers);
    arguments.extend([
        "--controllers=*,bootstrapsigner,tokencleaner".to_owned(),
        "--use-service-account-credentials=true".to_owned(),
        format!("--service-account-private-key-file={pki}/sa.key"),
        format!("--root-ca-file={pki}/ca.crt"),
        format!("--client-ca-file={pki}/ca.crt"),
        format!("--cluster-signing-cert-file={pki}/ca.crt"),
        format!("--cluster-signing-key-file={pki}/ca.key"),
        format!("--requestheader-client-ca-file={pki}/front-proxy-ca.crt"),
    ]);
    arguments
}

/// The arguments of kube-scheduler.
pub fn scheduler(folder: &Path, ports: Ports) -> Vec<String> {
    client(folder, "scheduler.conf", ports.scheduler)
}

fn client(folder: &Path, kubeconfig: &str, port: u16) -> Vec<String> {
    let kubeconfig = folder.join(kubeconfig);
    let kubeconfig = kubeconfig.display();
    vec![
        format!("--kubeconfig={kubeconfig}"),
        format!("--authentication-kubeconfig={kubeconfig}"),
        format!("--authorization-kubeconfig={kubeconfig}"),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        "--leader-elect=false".to_owned(),
    ]
}
