//! The user data with which the machines of a launch template boot.
//!
//! Slipway's user data makes a machine a node only if the image has the program. So a template of another
//! tool keeps that tool's user data, whatever the spec says. A change of the spec reaches the machines only
//! if that tool has another way for it: labels of nodes are tags of their instances, which kOps' controller
//! reads. Any other change is refused by name.
//!
//! Settings of control planes that change in place are in the user data for the machine that begins the cluster. A template
//! keeps its user data if only they differ, because a new version replaces machines. For the same reason, a template of an
//! earlier version leaves the data of etcd where it is, if nothing else differs, and keeps a document that new versions refer to.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::Value as Json;
use slipway_bootstrap::boot::document_text;
use slipway_resource::provider::PlanItem;
use slipway_resource::{Digest, ErrorClass, Path, ProviderError, TemplatePart, Value};

use super::etcd::{ETCD_DATA, EtcdData};

/// The attribute.
const USER_DATA: &str = "user_data";
/// The attribute with the Kubernetes version of the user data.
const VERSION: &str = "kubernetes_version";
/// The most paths of the document that a reason names.
const NAMED: usize = 12;
/// The command in Slipway's script, and the text before its document's digest.
const START: &str = "exec slipway node boot ";
const DIGEST: &str = " --digest ";
/// Texts in the script that kOps writes.
const OF_KOPS: [&str; 2] = ["nodeup", "kube_env.yaml"];
/// The error page for changes that cannot reach machines.
const CANNOT_REACH: &str = "PROVIDER0110";
/// The error page for new pools of clusters whose machines another tool boots.
const NEW_POOL: &str = "PROVIDER0111";
/// The largest document that is read.
const LIMIT: u64 = 1024 * 1024;
/// Why a plan is for infrastructure alone.
const NO_NODES: &str = " will not become nodes of the cluster by themselves: ";
/// The machines of a template whose document names no pool.
const MACHINES: &str = "its machines";
const NO_PROGRAMS: &str = "their image must have slipway, containerd and the kubelet, or `assets.programs` must list \
                           slipway, containerd, runc, cniPlugins and kubelet";
const NO_CREDENTIAL: &str =
    "workers need a credential, which they get when `assets.programs` lists the `provider`";
const NO_VOLUME: &str = "control planes need the volumes of their members of etcd, which they attach when `assets.programs` lists the \
                         `provider`";
/// The field of the document that has members of etcd keep their data on volumes, and its path in reasons.
const VOLUMES: &str = "/controlPlane/etcdVolumes";
/// The field of a reference to a document with the digest of the document.
const REFERENCE: &str = "/document/digest";
const VOLUMES_PATH: &str = "controlPlane.etcdVolumes";
/// Programs that an image may lack, and the line of the script that downloads the first of them.
pub(super) const NEEDED: [&str; 4] = ["containerd", "runc", "cniPlugins", "kubelet"];
pub(super) const FETCHES: &str = "until is_program ";
/// Slipway's own program, which the script downloads, and the program whose version is that of the nodes.
const OWN: &str = "slipway";
const KUBELET: &str = "kubelet";
/// The text in the script before the digest of the program `slipway`.
const PROGRAM: &str = "is_program() { echo \"";
const NEEDS_PROGRAM: &str = "new machines read their settings from the cluster: the program slipway that they boot with, which does not change \
                             here, must be of the version that made this plan";
/// The program with which a worker requests its credential from the control planes, and the line of the
/// script.
const PROVIDER: &str = "provider";
const AUTHORITY: &str = "SLIPWAY_AUTHORITY=";

/// Whether another tool wrote the user data of a template.
#[must_use]
pub fn of_another_tool(template: &Value) -> bool {
    template.get(USER_DATA).and_then(text).is_some_and(|text| !text.is_empty() && !is_ours(&text))
}

/// The version of Kubernetes that user data of Slipway gives to a machine.
#[must_use]
pub fn version(user_data: &Value) -> Option<String> {
    let text = text(user_data).filter(|text| is_ours(text))?;
    document(&text)?.pointer("/node/kubernetesVersion")?.as_str().map(str::to_owned)
}

/// A sentence on the differences of bootstrap documents if one is compressed: a plan cannot show their texts.
fn compressed_change(observed: &Value, wanted: &Value) -> Option<String> {
    let texts = (observed.get(USER_DATA).and_then(text)?, wanted.get(USER_DATA).and_then(text)?);
    let (before, after) = (&texts.0, &texts.1);
    let is_compressed = [before, after].iter().any(|text| text.contains("| gunzip"));
    if !is_compressed || !is_ours(before) || !is_ours(after) {
        return None;
    }
    let changes = changes(before, after);
    let (named, more) = (changes.iter().take(NAMED), changes.len().saturating_sub(NAMED));
    let named = named.map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| format!("in the compressed bootstrap document differ: {named}{more}"))
}

/// The desired attributes of a template, with the user data with which its machines boot; and sentences on
/// it.
///
/// # Errors
/// `invalid` for changes that cannot reach the machines.
pub(super) fn kept(
    mut wanted: Value,
    observed: &Value,
    last_applied: Option<&Value>,
) -> Result<(Value, Vec<String>), ProviderError> {
    let Some(after) = wanted.get(USER_DATA).and_then(text).filter(|text| is_ours(text)) else {
        return Ok((wanted, Vec::new()));
    };
    if !of_another_tool(observed) {
        if let Some(found) = observed.get(USER_DATA)
            && text(found).is_some_and(|before| differ_as_expected(&before, &after))
        {
            let data = EtcdData::of_user_data(found).filter(|_| wanted.get(ETCD_DATA).is_some());
            if let Some(data) = data {
                wanted.set(&Path::key(ETCD_DATA), data.as_str().into());
            }
            wanted.set(&Path::key(USER_DATA), found.clone());
            return Ok((wanted, Vec::new()));
        }
        let before = observed.get(USER_DATA).and_then(text);
        let needs = before.and_then(|before| needs_program(&before, &after));
        let reasons = compressed_change(observed, &wanted).into_iter().chain(needs).collect();
        return Ok((wanted, reasons));
    }
    let found = observed.get(USER_DATA).cloned().unwrap_or_default();
    let of_kops = text(&found).is_some_and(|text| OF_KOPS.iter().all(|mark| text.contains(mark)));
    let before = last_applied.and_then(|applied| applied.get(USER_DATA)).and_then(text);
    let mut changes = match before.filter(|text| is_ours(text)) {
        Some(before) => changes(&before, &after),
        None => Vec::new(),
    };
    // The machines of the other tool have volumes as it makes them.
    changes.retain(|path| path != VOLUMES_PATH);
    wanted.set(&Path::key(USER_DATA), found);
    if wanted.get(VERSION).is_some() {
        wanted.set(&Path::key(VERSION), Value::Null);
    }
    if wanted.get(ETCD_DATA).is_some() {
        wanted.set(&Path::key(ETCD_DATA), EtcdData::Elsewhere.as_str().into());
    }
    let (carried, lost): (Vec<String>, Vec<String>) =
        changes.into_iter().partition(|path| of_kops && path.starts_with("node.labels."));
    if !lost.is_empty() {
        let text = format!(
            "its machines boot by the user data of the tool that made the cluster, which Slipway does not write: {} cannot \
             reach them ({CANNOT_REACH})",
            lost.join(", ")
        );
        let hint = "take the change out of the spec, and make it with the tool that made the cluster";
        return Err(ProviderError::new(ErrorClass::Invalid, text).with_hint(hint));
    }
    let reason =
        "the user data stays that of kOps; its controller sets the labels from the tags of the instances";
    Ok((wanted, if carried.is_empty() { Vec::new() } else { vec![reason.to_owned()] }))
}

/// Whether two versions of Slipway's user data differ in what makes no new version of a template: the settings with which a control
/// plane begins the cluster, that a version before had no volumes for members of etcd, or no references to documents.
fn differ_as_expected(before: &str, after: &str) -> bool {
    let on_volumes = |text: &str| document(text).is_some_and(|document| has_volumes(&document));
    let (had, has) = (on_volumes(before), on_volumes(after));
    if had && !has {
        return false;
    }
    if refers_to(after, before) {
        return true;
    }
    // The document without these fields, and the script without the document, the way in which it is written, and its digest:
    // a document that grows is compressed.
    let rest = |text: &str, has_first: bool| {
        let mut document = document(text)?;
        if let Some(own) = document.pointer_mut("/controlPlane").and_then(Json::as_object_mut) {
            own.remove("etcdVolumes");
        }
        if has_first {
            document.pointer_mut("/settings")?.as_object_mut()?.remove("first")?;
        }
        Some((document, around(text)?))
    };
    let is_same =
        |has_first| rest(before, has_first).is_some_and(|before| rest(after, has_first) == Some(before));
    before != after && (is_same(true) || had != has && is_same(false))
}

/// The script without the document, the way in which it is written, and its digest; and the parts beside it.
fn around(text: &str) -> Option<[String; 3]> {
    let (head, behind) = text.split_once("<<'DOCUMENT'")?;
    let (head, _) = head.rsplit_once('\n')?;
    let (_, tail) = behind.split_once("\nDOCUMENT\n")?;
    let (command, digest) = tail.split_once(DIGEST)?;
    let (_, end) = digest.split_once('\n')?;
    Some([head, command, end].map(str::to_owned))
}

/// Whether user data has a reference to the very document that user data of an earlier version has, and nothing else differs.
fn refers_to(after: &str, before: &str) -> bool {
    let (Some(reference), Some(whole)) = (document(after), document(before)) else { return false };
    let digest = Digest::of_bytes(document_text(&whole).as_bytes());
    reference.pointer(REFERENCE).and_then(Json::as_str) == Some(digest.as_str())
        && around(before).is_some_and(|before| around(after) == Some(before))
}

/// A sentence on machines that refer to their document from now on, and get the same program as before: a program of an earlier
/// version does not read references.
fn needs_program(before: &str, after: &str) -> Option<String> {
    let refers = |text: &str| document(text).is_some_and(|document| document.pointer(REFERENCE).is_some());
    let program = |text: &str| {
        let (_, digest) = text.split_once(PROGRAM)?;
        digest.split_once(' ').map(|(digest, _)| digest.to_owned())
    };
    let is_new = is_ours(before) && !refers(before) && refers(after);
    (is_new && program(before) == program(after)).then(|| NEEDS_PROGRAM.to_owned())
}

/// Refuses a new template of a cluster whose machines boot by the user data of another tool: Slipway does not write that user
/// data, so the machines would not become nodes.
///
/// # Errors
/// `invalid`, with the address of the first new template.
pub fn refuse_new_pools(items: &[PlanItem]) -> Result<(), ProviderError> {
    let new = items.iter().filter(|item| item.address.kind() == super::TEMPLATE && item.observed.is_none());
    for item in new {
        let user_data = item.desired.as_ref().and_then(|template| template.get(USER_DATA)).and_then(text);
        let Some(user_data) = user_data.filter(|text| is_ours(text)) else { continue };
        let text = format!(
            "the machines of this cluster boot by the user data of the tool that made it, which Slipway does not write: {} \
             would not become nodes ({NEW_POOL})",
            machines_of(&document(&user_data).unwrap_or_default())
        );
        let hint = "take the pool out of the spec, and make it with the tool that made the cluster";
        return Err(ProviderError::new(ErrorClass::Invalid, text)
            .with_hint(hint)
            .with_address(&item.address));
    }
    Ok(())
}

/// The machines that a bootstrap document is for, in the words of messages.
fn machines_of(document: &Json) -> String {
    let pool = document["node"]["pool"].as_str();
    pool.map_or_else(|| MACHINES.to_owned(), |pool| format!("the machines of pool {pool}"))
}

/// The limitations of machines from a template, as a sentence.
pub(super) fn limits(wanted: &Value) -> Option<String> {
    let text = wanted.get(USER_DATA).and_then(text).filter(|text| is_ours(text))?;
    let document = document(&text).unwrap_or_default();
    let files = document["programs"]["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    let no_programs = no_programs(&text, &document);
    let is_control_plane = document["node"]["role"] == "controlPlane";
    let has_provider = files.iter().any(|file| file["name"] == PROVIDER);
    let has_credential = is_control_plane || text.contains(AUTHORITY) && has_provider;
    let has_volume = !has_volumes(&document) || has_provider;
    let lacks = [
        no_programs,
        (!has_credential).then(|| NO_CREDENTIAL.to_owned()),
        (!has_volume).then(|| NO_VOLUME.to_owned()),
    ];
    let lacks: Vec<String> = lacks.into_iter().flatten().collect();
    (!lacks.is_empty()).then(|| format!("{}{NO_NODES}{}", machines_of(&document), lacks.join(", and ")))
}

/// The programs that are not listed for machines, as a sentence; `None` where all are. A file for another architecture, or a kubelet
/// of another version, is none for them.
fn no_programs(text: &str, document: &Json) -> Option<String> {
    if has_programs(text, document) {
        return None;
    }
    let files = document["programs"]["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    let own = (!text.contains(FETCHES)).then_some(OWN);
    let others = NEEDED.into_iter().filter(|name| files.iter().all(|file| file["name"] != *name));
    let missing: Vec<&str> = own.into_iter().chain(others).collect();
    if missing.len() > NEEDED.len() {
        return Some(NO_PROGRAMS.to_owned());
    }
    let versioned = |name: &str| match document["node"]["kubernetesVersion"].as_str() {
        Some(version) if name == KUBELET => format!("{name} {version}"),
        _ => name.to_owned(),
    };
    let missing: Vec<String> = missing.into_iter().map(versioned).collect();
    let architecture = document["node"]["architecture"].as_str();
    let architecture = architecture.map_or_else(String::new, |name| format!(" for {name}"));
    Some(format!("`assets.programs` must also list {}{architecture}", missing.join(", ")))
}

/// Whether members of etcd keep their data on volumes.
pub(super) fn has_volumes(document: &Json) -> bool {
    document.pointer(VOLUMES) == Some(&Json::Bool(true))
}

/// Whether the machines get all programs with which they become nodes.
pub(super) fn has_programs(text: &str, document: &Json) -> bool {
    let files = document["programs"]["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_listed = |name: &&str| files.iter().any(|file| file["name"] == **name);
    text.contains(FETCHES) && NEEDED.iter().all(is_listed)
}

pub(super) fn is_ours(text: &str) -> bool {
    text.contains(START)
}

/// User data as text; references that are not known yet are left out.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(given) => Some(match STANDARD.decode(given) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => given.clone(),
        }),
        Value::Template(parts) => {
            let texts = parts.iter().filter_map(|part| match part {
                TemplatePart::Text(text) => Some(text.as_str()),
                TemplatePart::Reference(_) => None,
            });
            Some(texts.collect())
        }
        _ => None,
    }
}

/// The differences between two versions of Slipway's user data: paths in the document, and the parts beside
/// its script.
fn changes(before: &str, after: &str) -> Vec<String> {
    let mut changes = Vec::new();
    match (document(before), document(after)) {
        (Some(before), Some(after)) => differing(&before, &after, "", &mut changes),
        (before, after) if before != after => changes.push("the document of its nodes".to_owned()),
        _ => {}
    }
    if beside(before) != beside(after) {
        changes.push("the pool's own user data".to_owned());
    }
    changes
}

/// The document in Slipway's user data.
pub(super) fn document(script: &str) -> Option<Json> {
    let (head, rest) = script.split_once("<<'DOCUMENT'")?;
    let (way, rest) = rest.split_once('\n')?;
    let (body, _) = rest.split_once("\nDOCUMENT\n")?;
    if !head.ends_with("base64 -d ") || !way.contains("gunzip") {
        return serde_json::from_str(body).ok();
    }
    let packed = STANDARD.decode(body.replace('\n', "")).ok()?;
    let mut text = String::new();
    GzDecoder::new(packed.as_slice()).take(LIMIT).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// The parts before and after the script.
fn beside(text: &str) -> (&str, &str) {
    let before = text.find("#!/bin/sh").and_then(|start| text.get(..start)).unwrap_or_default();
    let command = text.split_once(START).map_or("", |(_, rest)| rest);
    let behind = command.split_once(DIGEST).and_then(|(_, rest)| rest.split_once('\n'));
    (before, behind.map_or("", |(_, rest)| rest))
}

fn differing(before: &Json, after: &Json, path: &str, found: &mut Vec<String>) {
    match (before, after) {
        (Json::Object(left), Json::Object(right)) => {
            let mut names: Vec<&String> = left.keys().chain(right.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let place = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match (left.get(name), right.get(name)) {
                    (Some(left), Some(right)) => differing(left, right, &place, found),
                    // Maps that exist on one side only are named by their contents.
                    (one, other) => match one.or(other) {
                        Some(Json::Object(_)) => {
                            let none = Json::Object(serde_json::Map::new());
                            differing(one.unwrap_or(&none), other.unwrap_or(&none), &place, found);
                        }
                        _ => found.push(place),
                    },
                }
            }
        }
        _ if before == after => {}
        _ => found.push(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODEUP: &str = "#!/bin/bash\ncat > conf/kube_env.yaml\n./nodeup --conf=kube_env.yaml\n";

    fn ours(document: &str) -> String {
        format!(
            "#!/bin/sh\n# Makes this machine a node.\ncat > /etc/slipway/bootstrap.json <<'DOCUMENT'\n{document}\nDOCUMENT\n\
             SLIPWAY_ENDPOINT=\"api\"\nexec slipway node boot --document /etc/slipway/bootstrap.json --digest sha256:0\n"
        )
    }

    /// The same with the document in compressed form.
    fn packed(document: &str) -> String {
        use std::io::Write as _;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(document.as_bytes()).unwrap();
        let body = STANDARD.encode(encoder.finish().unwrap());
        let script = ours(&body).replace("cat > /etc", "base64 -d <<'DOCUMENT' | gunzip > /etc");
        script.replacen(" <<'DOCUMENT'\n", "\n", 1)
    }

    fn template(user_data: &str) -> Value {
        Value::map([("name", "nodes"), ("user_data", STANDARD.encode(user_data).as_str())])
    }

    fn labels(labels: &str) -> Value {
        template(&ours(&format!(r#"{{"node":{{"pool":"nodes"{labels}}}}}"#)))
    }

    #[test]
    fn machines_of_another_tool_keep_its_user_data_and_get_labels_by_tags() {
        let (before, after) = (labels(""), labels(r#","labels":{"tier":"gold"}"#));
        let (wanted, reasons) = kept(after.clone(), &template(NODEUP), Some(&before)).unwrap();
        assert_eq!(wanted, template(NODEUP));
        assert_eq!(reasons.len(), 1, "{reasons:?}");
        let (wanted, reasons) = kept(after.clone(), &template(NODEUP), Some(&after)).unwrap();
        assert_eq!((wanted, reasons.len()), (template(NODEUP), 0));
        // It is not known what a tool other than kOps does with labels.
        let error = kept(after, &template("#!/bin/bash\n./join\n"), Some(&before)).unwrap_err();
        assert!(error.message.contains("node.labels.tier"), "{}", error.message);
    }

    #[test]
    fn what_cannot_reach_machines_of_another_tool_is_refused_by_name() {
        let (before, after) = (labels(""), labels(r#","taints":[{"key":"a"}],"kubelet":{"maxPods":20}"#));
        let error = kept(after, &template(NODEUP), Some(&before)).unwrap_err();
        assert!(error.message.contains("node.kubelet.maxPods, node.taints"), "{}", error.message);
        assert!(error.message.contains("PROVIDER0110"), "{}", error.message);
        let more = template(&format!("{}\n--part\necho hello\n", ours(r#"{"node":{"pool":"nodes"}}"#)));
        let error = kept(more, &template(NODEUP), Some(&before)).unwrap_err();
        assert!(error.message.contains("own user data"), "{}", error.message);
    }

    #[test]
    fn what_is_slipways_own_is_changed() {
        let (before, after) = (labels(""), labels(r#","taints":[{"key":"a"}]"#));
        assert_eq!(kept(after.clone(), &before, Some(&before)).unwrap().0, after);
        assert!(limits(&after).is_some() && limits(&template(NODEUP)).is_none());
    }

    #[test]
    fn a_template_keeps_the_settings_with_which_its_cluster_began() {
        let with = |first: &str, more: &str| {
            let settings = format!(r#""settings":{{"configMap":"a"{first}}}"#);
            let script = ours(&format!(r#"{{"node":{{"pool":"nodes"{more}}},{settings}}}"#));
            template(&script.replace("sha256:0", &format!("sha256:{}", first.len())))
        };
        let (old, new) = (r#","first":"old""#, r#","first":"newer""#);
        let before = with(old, "");
        let (wanted, reasons) = kept(with(new, ""), &before, Some(&before)).unwrap();
        assert_eq!((&wanted, reasons.len()), (&before, 0));
        // Any other difference makes a version, which has the settings of now.
        for other in [with(new, r#","taints":[]"#), with("", "")] {
            assert_eq!(kept(other.clone(), &before, Some(&before)).unwrap().0, other);
        }
        let text = text(with(new, "").get(USER_DATA).unwrap()).unwrap();
        let other = template(&text.replace("SLIPWAY_ENDPOINT=\"api\"", "SLIPWAY_ENDPOINT=\"other\""));
        assert_eq!(kept(other.clone(), &before, Some(&before)).unwrap().0, other);
        // Nor does a document make one that has become so large that it is compressed.
        let document = r#"{"node":{"pool":"nodes"},"settings":{"configMap":"a","first":"long"}}"#;
        assert_eq!(kept(template(&packed(document)), &before, Some(&before)).unwrap().0, before);
    }

    #[test]
    fn a_template_of_an_earlier_version_leaves_the_data_of_etcd_on_its_disks() {
        let with = |volumes: &str, more: &str| {
            let own = format!(r#""controlPlane":{{"etcd":[{{"name":"main"}}]{volumes}}}"#);
            template(&ours(&format!(r#"{{"node":{{"pool":"a"{more}}},{own}}}"#)))
        };
        let (volumes, more) = (r#","etcdVolumes":true"#, r#","taints":[]"#);
        let normalised = |template: &Value| crate::normalise::normalised("aws_launch_template", template);
        let (old, new) = (normalised(&with("", "")), normalised(&with(volumes, "")));
        assert_eq!(new.get(ETCD_DATA), Some(&"elsewhere".into()));
        assert_eq!(kept(new, &old, Some(&old)).unwrap().0, old);
        let before = with("", "");
        let (wanted, reasons) = kept(with(volumes, ""), &before, Some(&before)).unwrap();
        assert_eq!((&wanted, reasons.len()), (&before, 0));
        // With another difference it is a new version, and none loses its volumes.
        let other = with(volumes, more);
        assert_eq!(kept(other.clone(), &before, Some(&before)).unwrap().0, other);
        assert_eq!(kept(before.clone(), &with(volumes, ""), None).unwrap().0, before);
        // The machines of another tool are none of this.
        let (wanted, reasons) = kept(with(volumes, ""), &template(NODEUP), Some(&before)).unwrap();
        assert_eq!((wanted, reasons.len()), (template(NODEUP), 0));
    }

    #[test]
    fn a_template_keeps_the_document_that_new_user_data_refers_to() {
        let whole = r#"{"node":{"labels":{"tier":"gold"},"pool":"nodes"}}"#;
        let digest = Digest::of_bytes(document_text(&serde_json::from_str(whole).unwrap()).as_bytes());
        let reference = |digest: &str| {
            ours(&format!(r#"{{"document":{{"digest":"{digest}"}},"node":{{"pool":"nodes"}}}}"#))
        };
        let new = reference(digest.as_str());
        for before in [template(&ours(whole)), template(&packed(whole))] {
            let (wanted, reasons) = kept(template(&new), &before, Some(&before)).unwrap();
            assert_eq!((&wanted, reasons.len()), (&before, 0));
            // With another document or another script it is a new version.
            let others = [reference("sha256:0"), new.replace("\"api\"", "\"another\"")];
            for other in others.map(|text| template(&text)) {
                let (wanted, reasons) = kept(other.clone(), &before, Some(&before)).unwrap();
                assert_eq!(wanted, other);
                assert!(reasons.contains(&NEEDS_PROGRAM.to_owned()), "{reasons:?}");
            }
            // With another program, the version of the program is the user's choice.
            let fetches = format!("{PROGRAM}1  $1\" | sha256sum -c; }}\nexec slipway");
            let other = template(&new.replace("exec slipway", &fetches));
            let (wanted, reasons) = kept(other.clone(), &before, Some(&before)).unwrap();
            assert_eq!(wanted, other);
            assert!(!reasons.contains(&NEEDS_PROGRAM.to_owned()), "{reasons:?}");
            // A reference does not become a document again.
            assert_eq!(kept(before.clone(), &template(&new), None).unwrap().0, before);
        }
    }

    #[test]
    fn machines_become_nodes_when_they_get_programs_and_keys() {
        let files = NEEDED.map(|name| format!(r#"{{"name":"{name}"}}"#)).join(",");
        let script = |role: &str, files: &str, fetches: &str| {
            let document = format!(r#"{{"node":{{"role":"{role}"}},"programs":{{"files":[{files}]}}}}"#);
            limits(&template(&ours(&document).replace("exec ", &format!("{fetches}exec "))))
                .unwrap_or_default()
        };
        let fetches = format!("{FETCHES}x; do :; done\n");
        assert_eq!(script("controlPlane", &files, &fetches), "");
        assert_eq!(script("worker", &files, &fetches), format!("{MACHINES}{NO_NODES}{NO_CREDENTIAL}"));
        let lists = |missing: &str| format!("{MACHINES}{NO_NODES}`assets.programs` must also list {missing}");
        assert_eq!(script("controlPlane", &files, ""), lists("slipway"));
        let one = r#"{"name":"kubelet"}"#;
        assert_eq!(script("controlPlane", one, &fetches), lists("containerd, runc, cniPlugins"));
        let node = r#"{"role":"controlPlane","architecture":"arm64","kubernetesVersion":"1.35.2"}"#;
        let others = files.replace(r#",{"name":"kubelet"}"#, "");
        let document = format!(r#"{{"node":{node},"programs":{{"files":[{others}]}}}}"#);
        let of_another = template(&ours(&document).replace("exec ", &format!("{fetches}exec ")));
        assert_eq!(limits(&of_another).unwrap_or_default(), lists("kubelet 1.35.2 for arm64"));
        let proves = format!(r#"{files},{{"name":"provider"}}"#);
        let asks = format!("SLIPWAY_AUTHORITY=\"\"\n{fetches}");
        assert_eq!(script("worker", &proves, &asks), "");
        assert_eq!(script("worker", &files, &asks), format!("{MACHINES}{NO_NODES}{NO_CREDENTIAL}"));
        assert_eq!(script("worker", &proves, &fetches), format!("{MACHINES}{NO_NODES}{NO_CREDENTIAL}"));
        // Of a control plane with members of etcd.
        let members = |files: &str| {
            let etcd = r#"{"etcd":[{"name":"main"}],"etcdVolumes":true}"#;
            let document = format!(
                r#"{{"node":{{"role":"controlPlane"}},"controlPlane":{etcd},"programs":{{"files":[{files}]}}}}"#
            );
            limits(&template(&ours(&document).replace("exec ", &format!("{fetches}exec "))))
                .unwrap_or_default()
        };
        assert_eq!(members(&files), format!("{MACHINES}{NO_NODES}{NO_VOLUME}"));
        assert_eq!(members(&proves), "");
        let both = script("worker", "", "");
        assert!(both.contains(NO_PROGRAMS) && both.ends_with(NO_CREDENTIAL), "{both}");
        let named = limits(&labels("")).unwrap_or_default();
        assert!(named.starts_with(&format!("the machines of pool nodes{NO_NODES}")), "{named}");
    }

    #[test]
    fn the_version_is_an_attribute_and_what_is_compressed_is_named() {
        let with = |version: &str| {
            let document = format!(r#"{{"node":{{"pool":"nodes","kubernetesVersion":"{version}"}}}}"#);
            crate::normalise::normalised("aws_launch_template", &template(&ours(&document)))
        };
        assert_eq!(with("1.36.1").get(VERSION), Some(&"1.36.1".into()));
        let of_kops = crate::normalise::normalised("aws_launch_template", &template(NODEUP));
        assert_eq!(of_kops.get(VERSION), None);
        assert!(kept(with("1.35.2"), &with("1.36.1"), None).unwrap().1.is_empty());
        let packed =
            |version: &str| template(&packed(&format!(r#"{{"node":{{"kubernetesVersion":"{version}"}}}}"#)));
        let (_, reasons) = kept(packed("1.35.2"), &packed("1.36.1"), None).unwrap();
        assert_eq!(reasons, ["in the compressed bootstrap document differ: node.kubernetesVersion"]);
        assert_eq!(version(packed("1.36.1").get(USER_DATA).unwrap()).as_deref(), Some("1.36.1"));
    }

    #[test]
    fn a_new_pool_is_refused_beside_machines_of_another_tool() {
        let item = |address: &str, desired: Option<Value>, observed: Option<Value>| PlanItem {
            address: address.parse().unwrap(),
            desired,
            observed,
            last_applied: None,
        };
        let (ours, theirs) = (labels(""), template(NODEUP));
        let others = [
            item("aws_launch_template.nodes", Some(ours.clone()), Some(theirs)),
            item("aws_launch_template.gone", None, None),
            // It boots without user data.
            item("aws_launch_template.bastions", Some(Value::map([("name", "bastions")])), None),
            item("aws_vpc.a", Some(ours.clone()), None),
        ];
        assert!(refuse_new_pools(&others).is_ok());
        let new = item("aws_launch_template.more", Some(ours), None);
        let error = refuse_new_pools(&[&others[..], &[new]].concat()).unwrap_err();
        let wanted = "the machines of pool nodes would not become nodes (PROVIDER0111)";
        assert!(error.message.ends_with(wanted), "{}", error.message);
        assert_eq!(
            error.address.map(|address| address.to_string()).as_deref(),
            Some("aws_launch_template.more")
        );
    }

    #[test]
    fn control_planes_of_another_tool_have_etcd_elsewhere() {
        let document = r#"{"node":{"pool":"a"},"controlPlane":{"etcd":[{"name":"main"}]}}"#;
        let normalised = |template: Value| crate::normalise::normalised("aws_launch_template", &template);
        let (ours, theirs) = (normalised(template(&ours(document))), normalised(template(NODEUP)));
        assert_eq!(ours.get(ETCD_DATA), Some(&"boot-disk-of-image".into()));
        assert_eq!(theirs.get(ETCD_DATA), Some(&"elsewhere".into()));
        assert_eq!(kept(ours.clone(), &theirs, Some(&ours)).unwrap().0, theirs);
        // Templates that exist say it without user data too: groups refer to it.
        let found = Value::map([("name", "a".into()), ("latest_version", Value::Integer(1))]);
        assert_eq!(normalised(found).get(ETCD_DATA), Some(&"elsewhere".into()));
        assert_eq!(normalised(Value::map([("name", "a")])).get(ETCD_DATA), None);
    }

    #[test]
    fn who_wrote_user_data_is_told() {
        assert!(of_another_tool(&template(NODEUP)) && !of_another_tool(&labels("")));
        assert!(!of_another_tool(&Value::map([("name", "bastions")])));
    }
}
