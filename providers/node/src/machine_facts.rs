//! The facts of a machine, printed by one command of plain shell, which needs no agent on the machine.

use slipway_bootstrap::expand::Facts;
use slipway_resource::ProviderError;
use slipway_resource::provider::Catalog;

use crate::host::Host;
use crate::program;

/// The key in a catalog's data under which an agent has what its machine tells.
pub const KEY: &str = "told";

/// Where container runtimes listen, in kubeadm's order.
const SOCKETS: [&str; 3] =
    ["/var/run/containerd/containerd.sock", "/var/run/crio/crio.sock", "/var/run/cri-dockerd.sock"];

/// Prints what is looked for, one `name=value` in each line.
#[must_use]
pub fn script() -> String {
    format!(
        r#"printf 'hostname=%s\n' "$(uname -n)"
printf 'machine=%s\n' "$(uname -m)"
if [ "$(id -u)" = 0 ] && [ -d /usr/local/bin ] && [ ! -w /usr/local/bin ]; then echo programs=/opt/bin; fi
if [ -d /run/systemd/system ]; then echo init=systemd
elif [ -d /run/openrc ]; then echo init=openrc
else echo init=none; fi
if command -v systemctl >/dev/null 2>&1 && systemctl is-active --quiet systemd-resolved 2>/dev/null; then echo resolved=yes; fi
for folder in {folders}; do if [ -d "$folder" ]; then echo "ca=$folder"; fi; done
for socket in {sockets}; do if [ -S "$socket" ]; then echo "cri=unix://$socket"; fi; done
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
  eval "value=\${{$name:-}}"; if [ -n "$value" ]; then echo "proxy=$name=$value"; fi
done
for folder in /usr/bin /usr/local/bin /opt/bin $(printf '%s' "$PATH" | tr ':' ' '); do
  if [ -x "$folder/kubelet" ]; then echo "kubelet=$folder/kubelet"; break; fi
done
for folder in /etc/systemd/system /run/systemd/system /usr/local/lib/systemd/system /usr/lib/systemd/system /lib/systemd/system; do
  if [ -e "$folder/kubelet.service" ]; then echo unit=kubelet; fi
  if [ -e "$folder/kubelet.service.d/10-kubeadm.conf" ]; then echo drop-in=kubelet; fi
  if [ -e "$folder/containerd.service" ]; then echo unit=containerd; fi
done
if [ -e /etc/kubernetes/kubelet.conf ]; then
  echo node=yes
  sed -n 's/^containerRuntimeEndpoint: *"*\([^"]*\).*/cri-used=\1/p' /var/lib/kubelet/instance-config.yaml 2>/dev/null
  sed -n 's/.*--container-runtime-endpoint=\([^ "]*\).*/cri-used=\1/p' /var/lib/kubelet/kubeadm-flags.env 2>/dev/null
  sed -n 's/^ *- --initial-cluster=/etcd=/p; s/^ *- --initial-cluster-state=/etcd-state=/p' /etc/kubernetes/manifests/etcd.yaml 2>/dev/null
  sed -n 's/^ *server: *"*\(https:[^" ]*\).*/server=\1/p' /etc/kubernetes/kubelet.conf 2>/dev/null
  if [ -e /etc/slipway/api-balancer.json ]; then
    echo balancer=yes
    sed -n 's/^ *"endpoint": *"\(https:[^" ]*\)".*/server=\1/p' /etc/slipway/api-balancer.json
  fi
  if [ -r /etc/kubernetes/pki/apiserver.crt ]; then printf 'serves=%s\n' "$(base64 < /etc/kubernetes/pki/apiserver.crt | tr -d '\n')"; fi
fi
echo "path=$PATH"
"#,
        folders = Facts::CA_FOLDERS.join(" "),
        sockets = SOCKETS.join(" "),
    )
}

/// The facts of the machine on which this process runs. For a node below another root, there are none.
pub(crate) async fn catalog(host: &Host) -> Result<Catalog, ProviderError> {
    if !host.disk.root().is_machine() {
        return Catalog::empty();
    }
    let output = program::run(host, "sh", &["-c", &script()]).await?;
    Catalog::new(&serde_json::json!({ (KEY): output.out }))
}
