//! The script that reads the facts of a host, in plain shell: it changes nothing, and needs no agent.

use slipway_bootstrap::preflight::{ETCD_LOG_HEAD, Questions};

use super::images;
use crate::remote::quoted;

/// The start of every script. Slow commands have a time limit where the host supports it.
const BEGIN: &str = r#"PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/opt/bin"
say() { printf '%s=%s\n' "$1" "$2"; }
bounded() { if command -v timeout >/dev/null 2>&1; then timeout 10 "$@"; else "$@"; fi; }
"#;

/// The facts that every host reports.
const BASE: &str = r#"say user "$(id -u)"
say processors "$(nproc 2>/dev/null || grep -c '^processor' /proc/cpuinfo)"
say memory "$(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo)"
say system "$(uname -s)"
say kernel "$(uname -r)"
say hostname "$(uname -n)"
say time "$(date +%s)"
if [ -r /etc/machine-id ]; then say machine-id "$(cat /etc/machine-id)"; fi
release=$(uname -r)
for file in "/boot/config-$release" "/lib/modules/$release/config" "/usr/lib/modules/$release/config"; do
  if [ -r "$file" ]; then say options yes; sed -n 's/^CONFIG_\([A-Z0-9_]*\)=[ym]$/option=\1/p' "$file"; break; fi
done
if [ -r /sys/fs/cgroup/cgroup.controllers ]; then say cgroups "2 $(cat /sys/fs/cgroup/cgroup.controllers)"
else say cgroups "1 $(sed -n '/^#/!s/^\([a-z_]*\).*[[:space:]]1$/\1/p' /proc/cgroups 2>/dev/null | tr '\n' ' ')"; fi
{ read -r _; while read -r device _; do say swap "$device"; done; } < /proc/swaps
for file in /proc/net/tcp /proc/net/tcp6; do
  if [ -r "$file" ]; then
    while read -r _ local _ state _; do if [ "$state" = 0A ]; then say listens "${local##*:}"; fi; done < "$file"
  fi
done
if command -v ip >/dev/null 2>&1; then
  ip -o addr show 2>/dev/null | while read -r _ interface _ address _; do
    say address "$interface $address $(cat "/sys/class/net/${interface%%@*}/mtu" 2>/dev/null)"
  done
fi
if [ -d /run/systemd/system ]; then
  say systemd yes
  for unit in kubelet firewalld; do
    say service "$unit $(systemctl is-enabled $unit 2>/dev/null || true) $(systemctl is-active $unit 2>/dev/null || true)"
  done
else say systemd no; fi
if command -v kubelet >/dev/null 2>&1; then say kubelet "$(bounded kubelet --version 2>/dev/null)"; else say kubelet ''; fi
at() {
  if [ -d "$1" ]; then if [ -n "$(ls -A "$1" 2>/dev/null)" ]; then say path "full $1"; else say path "empty $1"; fi
  elif [ -e "$1" ] || [ -L "$1" ]; then say path "file $1"; else say path "absent $1"; fi
}
etcd() {
  if [ -n "$(ls -A "$1/member" 2>/dev/null)" ]; then
    size=$(du -sk "$1/member" 2>/dev/null); size=${size%%[!0-9]*}
    last=$(ls -t "$1"/member/wal/*.wal "$1"/member/snap/db 2>/dev/null | head -n 1)
    log=
    for file in "$1"/member/wal/*.wal; do if [ -r "$file" ]; then log=$(head -c HEAD "$file" | base64 | tr -d '\n'); break; fi; done
    say etcd "$1 ${size:-0} $(stat -c %Y "$last" 2>/dev/null || echo 0) $log"
  fi
}
free() {
  place=$1
  while [ ! -e "$place" ]; do place=${place%/*}; place=${place:-/}; done
  say free "$(df -Pk "$place" 2>/dev/null | sed -n '2s/^[^ ]* *[0-9]* *[0-9]* *\([0-9]*\) .*/\1/p') $1"
}
runtime() {
  if [ ! -S "$1" ]; then say runtime "error there is no socket at $1"; return; fi
  if command -v crictl >/dev/null 2>&1; then
    if words=$(bounded crictl -r "unix://$1" version 2>&1); then say runtime "ok $(printf '%s' "$words" | sed -n 's/^Runtime[A-Z][a-z]*: *//p' | head -n 2 | tr '\n' ' ')"
    else say runtime "error $(printf '%s' "$words" | tail -n 1)"; fi
  fi
  case "$1" in *containerd*)
    # Several runtimes may be configured; only what all of them do is known.
    case "$(bounded containerd config dump 2>/dev/null | sed -n 's/^ *SystemdCgroup *= *\([a-z]*\).*/\1/p' | sort -u | tr '\n' ' ')" in
      'true ') say driver systemd ;;
      'false ') say driver cgroupfs ;;
    esac
  esac
}
"#;

/// The script for these questions, on a host whose files are below a root.
pub(crate) fn script(questions: &Questions, root: &str) -> String {
    let root = root.trim_end_matches('/');
    let below = |path: &str| quoted(&format!("{root}{path}"));
    let mut script = format!("{BEGIN}{}", BASE.replace("HEAD", &ETCD_LOG_HEAD.to_string()));
    let mut line = |text: String| {
        script.push_str(&text);
        script.push('\n');
    };
    let owner = below("/var/lib/slipway/owner");
    line(format!("if [ -e {owner} ]; then say owner \"$(tr -d '\\n' < {owner})\"; fi"));
    let ledger = format!("{}/*.json", below("/var/lib/slipway/owned"));
    line(format!(
        "for file in {ledger}; do if [ -e \"$file\" ]; then sed -n 's/.*\"identity\":\"\\(\\/[^\"]*\\)\".*/owned=\\1/p' \"$file\"; echo; fi; done"
    ));
    let files = questions.absent_files.iter().map(|file| &file.path);
    for path in files.chain(&questions.empty_directories) {
        line(format!("at {}", below(path)));
    }
    line(format!("at {}", below("/etc/kubernetes/kubelet.conf")));
    for path in &questions.empty_directories {
        line(format!("etcd {}", below(path)));
    }
    for (path, _) in &questions.space_mib {
        line(format!("free {}", below(path)));
    }
    for program in &questions.programs {
        let name = quoted(program);
        line(format!("if command -v {name} >/dev/null 2>&1; then say program {name}; fi"));
    }
    for setting in &questions.kernel_settings {
        let path = quoted(&format!("/proc/sys/{}", setting.path));
        line(format!("if [ -r {path} ]; then say setting \"$(cat {path}) {}\"; fi", setting.path));
    }
    if let Some(name) = &questions.endpoint_name {
        let name = quoted(name);
        line(format!(
            "if command -v getent >/dev/null 2>&1; then if bounded getent hosts {name} >/dev/null 2>&1; then say name {name}; else say no-name {name}; fi; fi"
        ));
    }
    if let Some(socket) = &questions.cri_socket {
        line(format!("runtime {}", quoted(socket.trim_start_matches("unix://"))));
    }
    script.push_str(&images::lines(questions));
    script
}

/// The script that asks for images alone.
pub(crate) fn of_images(questions: &Questions) -> String {
    format!("{BEGIN}{}", images::lines(questions))
}
