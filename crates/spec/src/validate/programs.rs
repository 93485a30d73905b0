use std::collections::BTreeSet;

use super::context::{Context, error};
use crate::{
    diagnostic::code::{BAD_FORMAT, CONTRADICTION, DUPLICATE_NAME, INLINE_SECRET},
    model::ProgramName,
    reader::item_path,
};

const PLACE: &str = "assets.programs";

/// Machines can fetch the programs, and know each by its digest.
pub(super) fn check(context: &mut Context<'_>) {
    let programs = &context.cluster.assets.programs;
    match (programs.mirrors.is_empty(), programs.files.is_empty()) {
        (true, true) => return,
        (true, false) => {
            let hint = "add `mirrors: [https://…]`: URLs of folders, tried in this order";
            context.at(
                &format!("{PLACE}.files"),
                error(CONTRADICTION, "no mirror has the files of programs", hint),
            );
        }
        (false, true) => {
            let hint = "list `files` with `name`, `path` and `sha256`, or remove `mirrors`";
            context.at(&format!("{PLACE}.mirrors"), error(CONTRADICTION, "mirrors without a file", hint));
        }
        (false, false) => {}
    }
    for (index, mirror) in programs.mirrors.iter().enumerate() {
        check_mirror(context, &format!("{PLACE}.mirrors[{index}]"), mirror);
    }
    let mut seen = BTreeSet::new();
    let names: Vec<&str> = programs.files.iter().map(|file| file.name.as_str()).collect();
    for (index, file) in programs.files.iter().enumerate() {
        let place = item_path(&format!("{PLACE}.files"), &names, index);
        if !is_path(&file.path) {
            let hint = "write letters, digits and `.-_+/`, without `..` and without a `/` at the beginning";
            let text = format!("the path `{}` is not one below a mirror", file.path);
            context.at(&format!("{place}.path"), error(BAD_FORMAT, text, hint));
        }
        if file.sha256.len() != 64
            || !file.sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        {
            let hint = "write the 64 digits that `sha256sum FILE` prints";
            let text = format!("`{}` is not a SHA-256", file.sha256);
            context.at(&format!("{place}.sha256"), error(BAD_FORMAT, text, hint));
        }
        if file.version.is_some() && matches!(file.name, ProgramName::Slipway | ProgramName::Provider) {
            let hint = "remove it: the digest decides";
            let text = "the programs of Slipway are listed without a version";
            context.at(&format!("{place}.version"), error(CONTRADICTION, text, hint));
        }
        let runtime = context.cluster.container_runtime.version.as_deref();
        if file.name == ProgramName::Containerd
            && let (Some(version), Some(runtime)) = (&file.version, runtime)
            && version.to_string() != runtime.trim_start_matches('v')
        {
            let hint = format!("list containerd {runtime}, or remove one of the two");
            let text = format!("`containerRuntime.version` is {runtime}");
            context.at(&format!("{place}.version"), error(CONTRADICTION, text, hint));
        }
        // Machines choose a kubelet by its version, and only that.
        let of_kubelet = file.version.as_ref().filter(|_| file.name == ProgramName::Kubelet);
        let version = of_kubelet.map(ToString::to_string);
        if !seen.insert((file.name, file.architecture as u8, version)) {
            let hint = "list each program once for each architecture, the kubelet also for each `version`";
            context.at(&format!("{place}.name"), error(DUPLICATE_NAME, "the program is listed before", hint));
        }
    }
}

fn check_mirror(context: &mut Context<'_>, place: &str, mirror: &str) {
    if let Some(rest) = mirror.strip_prefix("s3://") {
        return check_bucket(context, place, mirror, rest);
    }
    let rest = ["https://", "http://"].iter().find_map(|scheme| mirror.strip_prefix(scheme));
    let complaint = match rest {
        Some(rest) if rest.split('/').next().is_some_and(|authority| authority.contains('@')) => error(
            INLINE_SECRET,
            "the mirror's URL holds a user and a password",
            "use a mirror that needs none, and write the URL without them: digests protect what comes from it",
        ),
        Some(rest) if !rest.is_empty() && rest.bytes().all(is_plain) => return,
        _ => error(
            BAD_FORMAT,
            format!("`{mirror}` is not the URL of a folder"),
            "begin it with https://, http:// or, on AWS, s3://, and write letters, digits and `.-_+/:[]`",
        ),
    };
    context.at(place, complaint);
}

/// Machines read a bucket with the credentials of their role.
fn check_bucket(context: &mut Context<'_>, place: &str, mirror: &str, rest: &str) {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_/".contains(&byte);
    let parts: Vec<&str> = rest.trim_end_matches('/').split('/').collect();
    let is_folder = rest.bytes().all(is_plain) && parts.iter().all(|part| !matches!(*part, "" | "." | ".."));
    if context.cluster.provider.name != "aws" {
        let hint = "use a mirror with https://, or http:// in a network that you trust";
        let text = format!("only machines of AWS have credentials for `{mirror}`");
        context.at(place, error(CONTRADICTION, text, hint));
    } else if !is_folder {
        let hint = "write s3://BUCKET/FOLDER with letters, digits and `.-_/`";
        context
            .at(place, error(BAD_FORMAT, format!("`{mirror}` is not the URL of a folder in a bucket"), hint));
    }
}

/// Paths and URLs are used in a shell script.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-_+/:[]".contains(&byte)
}

fn is_path(path: &str) -> bool {
    !path.is_empty()
        && path.bytes().all(|byte| is_plain(byte) && !b":[]".contains(&byte))
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use crate::{load_files, source::SourceFile};

    fn said(programs: &str) -> Vec<String> {
        said_on("sim", programs)
    }

    fn said_on(provider: &str, programs: &str) -> Vec<String> {
        let text = format!(
            "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{ name: demo }}\nspec:\n  provider: {{ name: {provider} }}\n  \
             kubernetesVersion: 1.35.2\n  zones: [a]\n  assets:\n    programs: {programs}\n---\napiVersion: \
             slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: control-plane }}\nspec: {{ role: controlPlane, \
             machineType: sim.large, size: {{ fixed: 1 }} }}\n"
        );
        let loaded = load_files(vec![SourceFile::new("a.yaml", &text)], &[]);
        loaded.diagnostics.iter().map(|one| format!("{} {}", one.code.id, one.message)).collect()
    }

    fn file(more: &str) -> String {
        let digest = "0".repeat(64);
        format!(
            "{{ mirrors: [https://m/a], files: [{{ name: kubelet, path: a/b, sha256: \"{digest}\"{more} }}] }}"
        )
    }

    #[test]
    fn buckets_are_mirrors_on_aws_only() {
        let text = "SPEC0062 only machines of AWS have credentials for `s3://b/a`";
        assert_eq!(said(&file("").replace("https://m/a", "s3://b/a")), [text]);
        let on_aws = |mirror: &str| {
            let all = said_on("aws", &file("").replace("https://m/a", mirror));
            all.into_iter().filter(|text| text.contains("s3://")).collect::<Vec<_>>()
        };
        assert_eq!(on_aws("s3://programs.example.com/v1/"), Vec::<String>::new());
        for bad in ["s3://", "s3://b//a", "s3://b/../a", "\"s3://b/$(reboot)\"", "s3://b/a+b"] {
            let found = on_aws(bad);
            assert!(
                found.len() == 1 && found[0].ends_with("is not the URL of a folder in a bucket"),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_wrong_digest_is_shown_where_it_is_written() {
        let digest = "0".repeat(63);
        let text = format!(
            "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{ name: demo }}\nspec:\n  provider: {{ name: sim }}\n  \
             kubernetesVersion: 1.35.2\n  zones: [a]\n  assets:\n    programs:\n      mirrors: [ \"https://m/a\" ]\n      \
             files:\n      - name: kubelet\n        path: a/b\n        sha256: \"{digest}\"\n---\napiVersion: slipway.dev/v1alpha1\nkind: \
             NodePool\nmetadata: {{ name: control-plane }}\nspec: {{ role: controlPlane, machineType: sim.large }}\n"
        );
        let loaded = load_files(vec![SourceFile::new("a.yaml", &text)], &[]);
        let found = loaded.diagnostics.iter().find(|one| one.message.ends_with("is not a SHA-256")).unwrap();
        assert_eq!(found.location.as_ref().unwrap().line, 14);
    }

    #[test]
    fn programs_have_a_mirror_a_path_and_a_digest() {
        assert_eq!(said(&file("")), Vec::<String>::new());
        assert_eq!(said(&file(", version: 1.35.2, architecture: arm64")), Vec::<String>::new());
        for (spec, wanted) in [
            ("{ mirrors: [https://m] }".to_owned(), "SPEC0062 mirrors without a file"),
            (file("").replace("[https://m/a]", "[]"), "SPEC0062 no mirror has the files of programs"),
            (file("").replace("https://m/a", "ftp://m"), "SPEC0007 `ftp://m` is not the URL of a folder"),
            (
                file("").replace("https://m/a", "\"https://m/$(reboot)\""),
                "SPEC0007 `https://m/$(reboot)` is not the URL of a folder",
            ),
            (
                file("").replace("https://m/a", "https://u:p@m"),
                "SPEC0061 the mirror's URL holds a user and a password",
            ),
            (file("").replace("a/b", "../b"), "SPEC0007 the path `../b` is not one below a mirror"),
            (file("").replace("0000", "000"), "SPEC0007 `"),
            (
                file("").replace("kubelet,", "provider, version: 1.35.2,"),
                "SPEC0062 the programs of Slipway are listed without a version",
            ),
        ] {
            let found = said(&spec);
            assert!(found.len() == 1 && found[0].starts_with(wanted), "{spec}: {found:?}");
        }
        let one = file("");
        let entry = one.split_once("files: [").unwrap().1.strip_suffix("] }").unwrap();
        let twice = one.replace(entry, &format!("{entry}, {entry}"));
        assert_eq!(said(&twice), ["SPEC0020 the program is listed before"]);
        let runc = entry.replace("kubelet,", "runc, version: 1.3.0,");
        assert_eq!(said(&one.replace(entry, &runc)), Vec::<String>::new());
        let newer = runc.replace("1.3.0", "1.3.1");
        let both = one.replace(entry, &format!("{runc}, {newer}"));
        assert_eq!(said(&both), ["SPEC0020 the program is listed before"]);
    }
}
