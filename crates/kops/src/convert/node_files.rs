use std::fmt::Write as _;

use slipway_spec::{
    diagnostic::code,
    model::{FileAsset, Hook, HookTiming, NodeFiles, Role},
};

use super::{Context, pool};
use crate::{field::Field, outcome::Outcome, values};

/// Where kOps puts files without a path.
const ASSETS: &str = "/srv/kubernetes/assets";

/// The files and units of a cluster.
pub(super) struct Files {
    /// Those of every node.
    pub(super) everywhere: NodeFiles,
    files: Vec<(Vec<Role>, FileAsset)>,
    hooks: Vec<(Vec<Role>, Hook)>,
}

impl Files {
    /// The files and units of a pool: the cluster's for its role, then its own in place of those with the same name.
    pub(super) fn of(&self, role: Role, own: NodeFiles) -> NodeFiles {
        // In a Slipway spec those of every node come first.
        let mut all = self.everywhere.clone();
        let files = self.files.iter().filter(|(roles, _)| roles.contains(&role));
        all.files.extend(files.map(|(_, file)| file.clone()));
        let hooks = self.hooks.iter().filter(|(roles, _)| roles.contains(&role));
        all.hooks.extend(hooks.map(|(_, hook)| hook.clone()));
        replace(&mut all.files, own.files, |file| file.name.as_str());
        replace(&mut all.hooks, own.hooks, |hook| hook.name.as_str());
        all
    }

    /// The content of the file at a path of a node.
    pub(super) fn content(field: &Field<'_>, path: &str, outcome: &mut Outcome) -> Option<String> {
        let asset = field.items().into_iter().find(|item| place(item).as_deref() == Some(path))?;
        content(&asset, outcome)
    }
}

/// Puts items in the places of those with the same name, and the others at the end, as a Slipway spec does. A cluster of kOps may
/// have several with a name, for different roles; the item replaces all of them.
fn replace<T>(all: &mut Vec<T>, own: Vec<T>, name: impl Fn(&T) -> &str) {
    for item in own {
        let first = all.iter().position(|other| name(other) == name(&item));
        all.retain(|other| name(other) != name(&item));
        all.insert(first.unwrap_or(all.len()), item);
    }
}

/// The files and units of a cluster; those for some roles only go to the pools with these.
pub(super) fn cluster(context: &Context<'_>, outcome: &mut Outcome) -> Files {
    let (assets, units) = (context.spec.at("fileAssets"), context.spec.at("hooks"));
    outcome.wrote("nodeFiles.files", &assets);
    outcome.wrote("nodeFiles.hooks", &units);
    let files: Vec<_> =
        assets.items().iter().filter_map(|item| Some((roles(item, outcome), file(item, outcome)?))).collect();
    let hooks: Vec<_> = units
        .items()
        .iter()
        .enumerate()
        .map(|(index, item)| (roles(item, outcome), hook(item, &format!("kops-hook-{index}"))))
        .collect();
    let everywhere = NodeFiles {
        files: files.iter().filter(|(roles, _)| roles.is_empty()).map(|(_, file)| file.clone()).collect(),
        hooks: hooks.iter().filter(|(roles, _)| roles.is_empty()).map(|(_, hook)| hook.clone()).collect(),
    };
    Files { everywhere, files, hooks }
}

/// The files and units of an instance group. Roles mean nothing there: it has one.
pub(super) fn own(spec: &Field<'_>, role: Role, outcome: &mut Outcome) -> NodeFiles {
    let mine = |roles: &[Role]| roles.is_empty() || roles.contains(&role);
    let mut files = NodeFiles::default();
    for item in spec.at("fileAssets").items() {
        if let Some(file) = file(&item, outcome)
            && mine(&roles(&item, outcome))
        {
            files.files.push(file);
        }
    }
    for (index, item) in spec.at("hooks").items().iter().enumerate() {
        if mine(&roles(item, outcome)) {
            files.hooks.push(hook(item, &format!("kops-hook-{}-ig", index)));
        }
    }
    files
}

fn roles(field: &Field<'_>, outcome: &mut Outcome) -> Vec<Role> {
    field.at("roles").items().iter().filter_map(|item| pool::role(item, outcome)).collect()
}

fn place(field: &Field<'_>) -> Option<String> {
    field.at("path").filled().or_else(|| Some(format!("{ASSETS}/{}", field.at("name").filled()?)))
}

fn content(field: &Field<'_>, outcome: &mut Outcome) -> Option<String> {
    let content = field.at("content");
    let text = content.text().unwrap_or_default();
    if field.at("isBase64").boolean() != Some(true) {
        return Some(text);
    }
    let decoded = values::base64(&text).and_then(|bytes| String::from_utf8(bytes).ok());
    if decoded.is_none() {
        let malformed =
            content.error(code::BAD_FORMAT, format!("{} is not text in base64", content.path())).hint(
                "write the text itself and leave isBase64 out; binary files come from a package or an image",
            );
        outcome.say(malformed);
    }
    decoded
}

fn file(field: &Field<'_>, outcome: &mut Outcome) -> Option<FileAsset> {
    let content = content(field, outcome)?;
    let Some(path) = place(field) else {
        outcome.say(
            field
                .error(code::MISSING_FIELD, "a file asset has neither a name nor a path")
                .hint("write name and path"),
        );
        return None;
    };
    Some(FileAsset {
        name: field.at("name").filled().unwrap_or_else(|| path.clone()),
        path,
        content,
        mode: field.at("mode").filled().unwrap_or_else(|| "0440".to_owned()),
    })
}

/// A hook as a unit file: the given one, or the one that kOps would make.
fn hook(field: &Field<'_>, fallback: &str) -> Hook {
    let before = field.at("before").texts();
    let name = field.at("name").filled().unwrap_or_else(|| fallback.to_owned());
    let name = if name.contains('.') { name } else { format!("{name}.service") };
    let manifest = field.at("manifest").text().unwrap_or_default();
    let content = if field.at("useRawManifest").boolean() == Some(true) {
        manifest
    } else {
        unit(field, &name, &before, &manifest)
    };
    let early = before.iter().any(|unit| unit.trim_end_matches(".service") == "kubelet");
    Hook {
        name,
        content,
        timing: if early { HookTiming::BeforeKubelet } else { HookTiming::AfterKubelet },
        enabled: field.at("disabled").boolean() != Some(true),
    }
}

fn unit(field: &Field<'_>, name: &str, before: &[String], manifest: &str) -> String {
    let mut text = format!("[Unit]\nDescription=Kops Hook {name}\n");
    for unit in before {
        let _ = writeln!(text, "Before={unit}");
    }
    for unit in field.at("requires").texts() {
        let _ = writeln!(text, "Requires={unit}");
    }
    text.push_str("\n[Service]\n");
    let container = field.at("execContainer");
    match container.at("image").filled() {
        Some(image) => {
            let mut run = "ctr --namespace=k8s.io run --rm --net-host --privileged".to_owned();
            for (name, value) in container.at("environment").text_map() {
                let _ = write!(run, " --env='{name}={value}'");
            }
            let command = container.at("command").texts().join(" ");
            let id = name.trim_end_matches(".service");
            let _ = writeln!(text, "ExecStartPre=ctr --namespace=k8s.io images pull {image}");
            let _ = writeln!(text, "ExecStart={run} {image} {id} {command}");
            text.push_str("Type=oneshot\n");
        }
        None => {
            text.push_str(manifest.trim_end());
            text.push('\n');
        }
    }
    text.push_str("\n[Install]\nWantedBy=multi-user.target\n");
    text
}
