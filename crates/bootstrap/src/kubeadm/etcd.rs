use super::{code, context::Context, rules, v1beta4};
use crate::configuration::{Etcd, ExternalEtcd, Image, LocalEtcd};

/// Where etcd is, checked as kubeadm does.
pub(super) fn read(context: &mut Context<'_>, given: v1beta4::Etcd) -> Etcd {
    match (given.local, given.external) {
        (Some(_), Some(external)) => {
            let message = "etcd cannot be both `local` and `external`";
            context.error("etcd", code::CONTRADICTION, message, "keep one of them");
            self::external(context, external)
        }
        (None, Some(external)) => self::external(context, external),
        (local, None) => self::local(context, local.unwrap_or_default()),
    }
}

fn local(context: &mut Context<'_>, given: v1beta4::LocalEtcd) -> Etcd {
    let default = LocalEtcd::default();
    let data_dir = if given.data_dir.is_empty() { default.data_dir } else { given.data_dir };
    context.absolute("etcd/local/dataDir", &data_dir);
    context.alternative_names("etcd/local/serverCertSANs", &given.server_cert_sans);
    context.alternative_names("etcd/local/peerCertSANs", &given.peer_cert_sans);
    if !given.image_repository.is_empty() {
        context.image_repository("etcd/local/imageRepository", &given.image_repository);
    }
    Etcd::Local(LocalEtcd {
        image: image(given.image_repository, given.image_tag),
        data_dir,
        extra_args: context.arguments("etcd/local/extraArgs", given.extra_args),
        extra_envs: super::cluster::variables(given.extra_envs),
        server_cert_sans: given.server_cert_sans,
        peer_cert_sans: given.peer_cert_sans,
    })
}

fn external(context: &mut Context<'_>, given: v1beta4::ExternalEtcd) -> Etcd {
    let path = "etcd/external";
    let has = |text: &String| !text.is_empty();
    let encrypted = has(&given.ca_file) || has(&given.cert_file) || has(&given.key_file);
    if has(&given.cert_file) != has(&given.key_file) {
        let message = "`certFile` and `keyFile` of etcd belong together";
        context.error(path, code::CONTRADICTION, message, "give both or none");
    } else if has(&given.cert_file) && !has(&given.ca_file) {
        let message = "`certFile` and `keyFile` of etcd need its `caFile`";
        context.error(
            path,
            code::CONTRADICTION,
            message,
            "add `caFile`, the path of the CA that signed etcd's certificates",
        );
    }
    if given.endpoints.is_empty() {
        context.refuse(path, "etcd has no endpoints", "add `endpoints` with the URLs of its members");
    }
    for (index, url) in given.endpoints.iter().enumerate() {
        let place = format!("{path}/endpoints/{index}");
        match rules::scheme(url) {
            None => context.refuse(
                &place,
                format!("`{url}` is not a URL"),
                "write it with its scheme, as in https://10.0.0.9:2379",
            ),
            Some(scheme) if encrypted && scheme != "https" => {
                let message = format!("`{url}` would be reached without TLS, and certificates are given");
                context.refuse(&place, message, "write an https URL, or leave the certificates out");
            }
            Some(_) => {}
        }
    }
    for (name, file) in
        [("caFile", &given.ca_file), ("certFile", &given.cert_file), ("keyFile", &given.key_file)]
    {
        if !file.is_empty() {
            context.absolute(&format!("{path}/{name}"), file);
        }
    }
    Etcd::External(ExternalEtcd {
        endpoints: given.endpoints,
        ca_file: given.ca_file,
        cert_file: given.cert_file,
        key_file: given.key_file,
    })
}

pub(super) fn image(repository: String, tag: String) -> Image {
    let given = |text: String| Some(text).filter(|text| !text.is_empty());
    Image { repository: given(repository), tag: given(tag) }
}
