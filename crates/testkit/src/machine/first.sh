# What a machine has from its first start on. Read by its first process.

echo "$MACHINE_NAME" >/etc/hostname
printf '127.0.0.1 localhost\n::1 localhost ip6-localhost\n%s' "$MACHINE_HOSTS" >/etc/hosts
rm -f /etc/resolv.conf /.dockerenv
# Without a server of names, nobody answers there, and says so at once.
echo "nameserver ${MACHINE_NAME_SERVER:-$MACHINE_GATEWAY}" >/etc/resolv.conf
if [ -n "${MACHINE_DOMAIN:-}" ]; then echo "search $MACHINE_DOMAIN" >>/etc/resolv.conf; fi
tr -d - </proc/sys/kernel/random/uuid >/etc/machine-id

mkdir -p /var/cache /var/lib /var/log /var/spool /var/tmp
chmod 1777 /var/tmp
ln -sfn /run /var/run
ln -sfn /run/lock /var/lock
chmod 700 /root

# Whatever the host has of these is the host's.
rm -rf /etc/kubernetes /etc/cni /opt/cni /etc/containerd /etc/systemd/system /etc/rc.local
mkdir -p /etc/kubernetes /etc/cni/net.d /opt/cni/bin /etc/containerd /etc/systemd/system /usr/local/bin
ln -s /usr/lib/cni/* /opt/cni/bin/
ln -sf /usr/local/lib/kubernetes/kube* /usr/local/lib/etcd/etcdctl /usr/local/bin/
# A control plane's programs run in containers.
rm -f /usr/local/bin/kube-*
if [ -d /usr/local/lib/slipway ]; then ln -sf /usr/local/lib/slipway/slipway /usr/local/bin/slipway; fi

cat >/etc/containerd/config.toml <<END
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$MACHINE_PAUSE"
  disable_apparmor = true
  # Not every container that tests run in may lower the score by which the kernel chooses whom to kill.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
END

rm -f /etc/ssh/ssh_host_* /usr/bin/systemd-run /usr/bin/systemctl /usr/bin/journalctl
if [ "$MACHINE_SSH" = yes ]; then
  # A machine that is installed anew keeps its host key.
  if [ -e /usr/local/lib/machine/ssh_host_ed25519_key ]; then
    cp /usr/local/lib/machine/ssh_host_ed25519_key* /etc/ssh/
    chmod 600 /etc/ssh/ssh_host_ed25519_key
  else
    ssh-keygen -q -t ed25519 -N '' -C "$MACHINE_NAME" -f /etc/ssh/ssh_host_ed25519_key
  fi
  mkdir -p -m 700 /root/.ssh
  cp /usr/local/lib/machine/authorized_keys /root/.ssh/authorized_keys
  chmod 600 /root/.ssh/authorized_keys
  # A locked account may not log in at all; this one has no password that fits.
  usermod --password '*' root
  cat >/etc/ssh/sshd_config <<END
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
SetEnv PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
Subsystem sftp internal-sftp
END
fi

if [ "$MACHINE_INIT" = systemd ]; then
  cp /usr/local/lib/machine/systemctl /usr/local/lib/machine/journalctl /usr/bin/
  chmod 755 /usr/bin/systemctl /usr/bin/journalctl
  # The kubelet's unit, as its packages have it: kubeadm writes what it names.
  cat >/usr/lib/systemd/system/kubelet.service <<'END'
[Unit]
Description=The node agent of Kubernetes

[Service]
ExecStart=/usr/local/bin/kubelet
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
END
  mkdir -p /usr/lib/systemd/system/kubelet.service.d
  cat >/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf <<'END'
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/local/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
END
  rm -f /etc/default/kubelet
  systemctl enable --quiet containerd
  if [ "$MACHINE_SSH" = yes ]; then systemctl enable --quiet ssh; fi
fi
if [ -d /usr/local/lib/machine/files ]; then
  (cd /usr/local/lib/machine/files && find . -type f -exec install -D -m 600 {} /{} \;)
fi
if [ "${MACHINE_CLOUD:-no}" = yes ]; then
  cloud=/usr/local/lib/machine/cloud
  cp $cloud/environment /etc/environment
  mkdir -p /etc/systemd/system.conf.d
  cp $cloud/systemd.conf /etc/systemd/system.conf.d/cloud.conf
  cat >/usr/lib/systemd/system/cloud-final.service <<END
[Unit]
Description=Scripts of the user data

[Service]
ExecStart=$cloud/cloud-init

[Install]
WantedBy=multi-user.target
END
  systemctl enable --quiet cloud-final
fi
touch /etc/machine-was-made
