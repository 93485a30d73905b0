//! Checks on a host whether the images of its pods are present or can be pulled. The checks change nothing.
//!
//! A missing image is looked up in its registry, as the runtime would pull it. Behind a mirror, a proxy or a
//! registry with credentials, the result is not known before the pull. Only an image that certainly cannot be
//! pulled is a finding.

use std::collections::BTreeSet;

use slipway_bootstrap::preflight::{Questions, Runtime};

use crate::remote::quoted;

/// The runtime's socket, when none is named.
const CONTAINERD: &str = "/var/run/containerd/containerd.sock";

/// `image` tells of one image `here`, `there` (in its registry), `unknown`, or `missing` with the reason.
const FUNCTIONS: &str = r#"has_image() {
  if command -v crictl >/dev/null 2>&1; then
    bounded crictl -r "unix://$socket" -i "unix://$socket" inspecti -q "$1" >/dev/null 2>&1
    case $? in 0) return 0 ;; 124) return 2 ;; *) return 1 ;; esac
  fi
  case "$socket" in *containerd*) ;; *) return 2 ;; esac
  case "$1" in *.*/*|*:*/*) ;; *) return 2 ;; esac
  command -v ctr >/dev/null 2>&1 || return 2
  listed=$(bounded ctr -a "$socket" -n k8s.io images ls 2>/dev/null) || return 2
  case "$1" in
    *@*) printf '%s\n' "$listed" | grep -F -- "${1#*@}" | grep -qF -- "${1%%[:@]*}" ;;
    *) printf '%s\n' "$listed" | cut -d ' ' -f 1 | grep -qFx -- "$1" ;;
  esac || return 1
}
is_redirected() {
  for file in "/etc/containerd/certs.d/$1" /etc/containerd/certs.d/_default; do if [ -e "$file" ]; then return 0; fi; done
  if grep -qsE 'endpoint *= *\[' /etc/containerd/config.toml; then return 0; fi
  if grep -qsE '^ *(location|insecure|mirror|prefix) *=' /etc/containers/registries.conf /etc/containers/registries.conf.d/*; then return 0; fi
  command -v systemctl >/dev/null 2>&1 && systemctl show containerd crio docker -p Environment 2>/dev/null | grep -qi proxy
}
dead=
in_registry() {
  registry=${1%%/*}; rest=${1#*/}
  case "$1" in localhost*|127.*) return 2 ;; *.*/*|*:*/*) ;; *) return 2 ;; esac
  command -v curl >/dev/null 2>&1 || return 2
  if is_redirected "$registry"; then return 2; fi
  silent="the registry $registry does not answer"
  case " $dead " in *" $registry "*) why=$silent; return 1 ;; esac
  case "$rest" in
    *@*) version=${rest#*@}; name=${rest%@*}; name=${name%:*} ;;
    *) version=${rest##*:}; name=${rest%:*} ;;
  esac
  kinds='application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json'
  code=$(curl -sIL -o /dev/null -w '%{http_code}' --connect-timeout 5 --max-time 10 -H "Accept: $kinds" "https://$registry/v2/$name/manifests/$version" 2>/dev/null)
  case "$code" in
    2??) return 0 ;;
    404) why="the registry $registry does not have it"; return 1 ;;
    000|'') dead="$dead $registry"; why=$silent; return 1 ;;
    *) return 2 ;;
  esac
}
image() {
  has_image "$1"
  case $? in 0) say image "here $1"; return ;; 2) say image "unknown $1"; return ;; esac
  in_registry "$1"
  case $? in 0) say image "there $1" ;; 1) say image "missing $1 it is not on the host, and $why" ;; *) say image "unknown $1" ;; esac
}
"#;

/// The lines that ask for the images of some questions, after the functions that every script has; none where there are none.
pub(super) fn lines(questions: &Questions) -> String {
    if questions.images.is_empty() {
        return String::new();
    }
    let socket =
        questions.cri_socket.as_deref().map_or(CONTAINERD, |socket| socket.trim_start_matches("unix://"));
    let mut lines = format!("{FUNCTIONS}socket={}\n", quoted(socket));
    for image in &questions.images {
        lines.push_str(&format!("image {}\n", quoted(image)));
    }
    lines
}

/// The answer of a host about one image: `missing registry.k8s.io/etcd:3.6.5-0 it is not on the host, and …`.
pub(super) fn read(said: &str, runtime: &mut Runtime) {
    let mut words = said.splitn(3, ' ');
    let (Some(how), Some(image)) = (words.next(), words.next()) else { return };
    if how == "missing" {
        let why = words.next().unwrap_or_default();
        runtime.missing_images.insert(image.to_owned(), why.to_owned());
    } else {
        // An image that can be pulled, or about which nothing is known, is no obstacle.
        runtime.images.insert(image.to_owned());
    }
}

/// The questions about images only, for a host that is a node already.
pub(crate) fn alone(questions: &Questions, pods: &BTreeSet<String>) -> Questions {
    let images = questions.images.iter().chain(pods).cloned().collect::<BTreeSet<_>>();
    Questions {
        images: images.into_iter().collect(),
        cri_socket: questions.cri_socket.clone(),
        ..Questions::default()
    }
}
