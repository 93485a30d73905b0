//! A control plane that emulates an earlier release.

use super::*;

fn text(resources: &[Desired], address: &str, name: &str) -> String {
    find(resources, address).attributes.get(name).unwrap().to_plain_text()
}

#[test]
fn the_control_plane_is_new_and_all_that_cannot_go_back_stays_at_the_emulated_release() {
    let files = [kubelet_file("\"1.34.4\"", "a", "amd64"), kubelet_file("\"1.33.13\"", "b", "amd64")];
    let mut cluster = with_kubelets(&files.join(","));
    cluster.emulated_version = Some("1.33.13".parse().unwrap());
    let resources = expand(&cluster, &placement(1), &[]).unwrap().resources;
    for machine in ["cp-0", "cp-2"] {
        for component in ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
            let pod = text(&resources, &format!("static_pod.{machine}/{component}"), "manifest");
            assert!(pod.contains(&format!("/{component}:v1.34.4")), "{pod}");
            assert!(pod.contains("- --emulated-version=1.33\n"), "{pod}");
        }
        assert_eq!(text(&resources, &format!("service.{machine}/kubelet"), "program_version"), "1.33.13");
        assert_eq!(text(&resources, &format!("kubernetes_node.{machine}"), "kubelet_version"), "1.33.13");
    }
    let etcd = text(&resources, "static_pod.cp-0/etcd", "manifest");
    assert!(etcd.contains("/etcd:3.5.24-0") && etcd.contains("--experimental-"), "{etcd}");
    let proxy = "kubernetes_object.DaemonSet/kube-system/kube-proxy";
    assert!(format!("{:?}", find(&resources, proxy)).contains("/kube-proxy:v1.33.13"));
    // A control plane that kubeadm joins is like the others.
    let settings = "kubernetes_object.ConfigMap/kube-system/kubeadm-config";
    let settings = format!("{:?}", find(&resources, settings));
    for part in ["kubernetesVersion: v1.34.4", "emulated-version", "imageTag: 3.5.24-0"] {
        assert!(settings.contains(part), "{part}: {settings}");
    }
}

#[test]
fn a_final_control_plane_has_no_trace_of_it() {
    let mut cluster = cluster("elected: {}");
    let resources = expand(&cluster, &placement(1), &[]).unwrap().resources;
    assert!(!format!("{resources:?}").contains("emulated-version"));
    // Two releases with the same etcd and another CoreDNS: only the latter is held back.
    cluster.kubernetes_version = "1.35.2".parse().unwrap();
    cluster.emulated_version = Some("1.34.4".parse().unwrap());
    let resources = expand(&cluster, &placement(1), &[]).unwrap().resources;
    let settings = "kubernetes_object.ConfigMap/kube-system/kubeadm-config";
    let settings = format!("{:?}", find(&resources, settings));
    assert!(settings.contains("imageTag: v1.12.1") && !settings.contains("imageTag: 3."), "{settings}");
    let dns = "kubernetes_object.Deployment/kube-system/coredns";
    assert!(format!("{:?}", find(&resources, dns)).contains("/coredns:v1.12.1"));
}

#[test]
fn kubelets_of_older_pools_stay_as_they_are() {
    let files = [kubelet_file("\"1.32.9\"", "a", "amd64"), kubelet_file("\"1.33.13\"", "b", "amd64")];
    let mut cluster = with_kubelets(&files.join(","));
    cluster.emulated_version = Some("1.33.13".parse().unwrap());
    cluster.pools[0].kubernetes_version = "1.32.9".parse().unwrap();
    let resources = expand(&cluster, &placement(3), &[]).unwrap().resources;
    assert_eq!(text(&resources, "service.cp-0/kubelet", "program_version"), "1.32.9");
}
