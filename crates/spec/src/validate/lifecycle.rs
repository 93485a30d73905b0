use super::context::{Context, error, warning};
use crate::{
    diagnostic::code::{CONTRADICTION, DUPLICATE_NAME, UNKNOWN_REFERENCE},
    diagnostic::misspelt,
    model::Manifest,
    value::Amount,
};

/// Moves, removals, imports, ignored changes, add-ons and issuers make sense on their own.
pub(super) fn check(context: &mut Context<'_>) {
    moves(context);
    addons(context);
    issuers(context);
}

fn moves(context: &mut Context<'_>) {
    let cluster = context.cluster;
    for (index, moved) in cluster.moved.iter().enumerate() {
        let path = format!("moved[{index}]");
        for (field, address) in [("from", &moved.from), ("to", &moved.to)] {
            if !is_address(address) {
                let complaint = error(
                    CONTRADICTION,
                    format!("`{address}` is not the address of a resource"),
                    "an address is a type and a name with a dot, as in aws_subnet.private-a",
                );
                context.at(&format!("{path}.{field}"), complaint);
            }
        }
        if moved.from == moved.to {
            let complaint =
                error(CONTRADICTION, format!("`{}` moves to itself", moved.from), "remove the entry");
            context.at(&path, complaint);
        }
        if cluster.moved[..index].iter().any(|earlier| earlier.from == moved.from) {
            let complaint = error(
                DUPLICATE_NAME,
                format!("`{}` moves twice", moved.from),
                "keep the move to the name that it has now",
            );
            context.at(&format!("{path}.from"), complaint);
        }
    }
    for (index, removed) in cluster.removed.iter().enumerate() {
        let path = format!("removed[{index}].from");
        if !is_address(&removed.from) {
            let complaint = error(
                CONTRADICTION,
                format!("`{}` is not the address of a resource", removed.from),
                "an address is a type and a name with a dot, as in aws_subnet.private-a; `*` stands for any part of the name",
            );
            context.at(&path, complaint);
        }
        if let Some(moved) = cluster.moved.iter().find(|moved| moved.from == removed.from) {
            let complaint = error(
                CONTRADICTION,
                format!("`{}` is removed, and `moved` says that it is `{}` now", removed.from, moved.to),
                "remove one of the entries",
            );
            context.at(&path, complaint);
        }
    }
    for (index, import) in cluster.import.iter().enumerate() {
        let path = format!("import[{index}]");
        if !is_address(&import.to) || import.to.contains('*') {
            let complaint = error(
                CONTRADICTION,
                format!("`{}` is not the address of a resource", import.to),
                "an address is a type and a name with a dot, as in aws_subnet.private-a",
            );
            context.at(&format!("{path}.to"), complaint);
        }
        if import.id.trim().is_empty() {
            let complaint = error(
                CONTRADICTION,
                format!("the object for `{}` has no id", import.to),
                "write the id that the provider gave to the object",
            );
            context.at(&format!("{path}.id"), complaint);
        }
        if cluster.import[..index].iter().any(|earlier| earlier.to == import.to) {
            let complaint =
                error(DUPLICATE_NAME, format!("`{}` gets two objects", import.to), "keep one of the entries");
            context.at(&format!("{path}.to"), complaint);
        }
    }
    for (index, ignored) in cluster.ignore_changes.iter().enumerate() {
        let path = format!("ignoreChanges[{index}]");
        if !is_address(&ignored.resource) && ignored.resource != "*" {
            let complaint = error(
                CONTRADICTION,
                format!("`{}` is not the address of a resource", ignored.resource),
                "an address is a type and a name with a dot, as in aws_autoscaling_group.workers; `*` stands for any part",
            );
            context.at(&format!("{path}.resource"), complaint);
        }
        if ignored.resource == "*" && ignored.attribute == "*" {
            let complaint = warning(
                CONTRADICTION,
                "every change of every resource is ignored: no plan will ever change anything that exists",
                "name the resources or the attributes that another tool manages",
            );
            context.at(&path, complaint);
        }
    }
}

fn is_address(text: &str) -> bool {
    text.split_once('.').is_some_and(|(kind, name)| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_*-".contains(&byte);
        !kind.is_empty() && !name.is_empty() && kind.bytes().all(plain) && !name.contains(char::is_whitespace)
    })
}

/// The add-ons that clusters have without asking for them; turning another one off has no effect.
const STANDARD_ADDONS: [&str; 2] = ["coredns", "metrics-server"];

fn addons(context: &mut Context<'_>) {
    for addon in &context.cluster.addons {
        let path = format!("addons[{}]", addon.name);
        if !addon.enabled
            && !STANDARD_ADDONS.contains(&addon.name.as_str())
            && let Some(meant) = misspelt(&addon.name, STANDARD_ADDONS)
        {
            let complaint = warning(
                UNKNOWN_REFERENCE,
                format!("`{}` is turned off, and no add-on has this name", addon.name),
                format!("did you mean `{meant}`?"),
            );
            context.at(&format!("{path}.name"), complaint);
        }
        if let (Some(replicas), Some(Amount::Count(available))) = (addon.replicas, addon.minimum_available)
            && available >= replicas
        {
            let complaint = error(
                CONTRADICTION,
                format!(
                    "{available} of the {replicas} replicas of `{}` must always be up, so no node with one can ever be emptied",
                    addon.name
                ),
                format!("write a `minimumAvailable` below {replicas}"),
            );
            context.at(&format!("{path}.minimumAvailable"), complaint);
        }
        if addon.minimum_available == Some(Amount::Percent(100)) {
            let complaint = error(
                CONTRADICTION,
                format!(
                    "all replicas of `{}` must always be up, so no node with one can ever be emptied",
                    addon.name
                ),
                "write a `minimumAvailable` below 100%",
            );
            context.at(&format!("{path}.minimumAvailable"), complaint);
        }
        if let Some(Manifest::Url { url, sha256 }) = &addon.manifest {
            if !url.starts_with("https://") {
                let complaint = error(
                    CONTRADICTION,
                    format!("the manifest of `{}` is not fetched over https", addon.name),
                    "write a URL that begins with https://",
                );
                context.at(&format!("{path}.manifest.url.url"), complaint);
            }
            if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                let complaint = error(
                    CONTRADICTION,
                    format!("the SHA-256 of the manifest of `{}` is not 64 hexadecimal digits", addon.name),
                    "write what `sha256sum` prints for the file",
                );
                context.at(&format!("{path}.manifest.url.sha256"), complaint);
            }
        }
    }
}

fn issuers(context: &mut Context<'_>) {
    let cluster = context.cluster;
    for (index, issuer) in cluster.authentication.open_id_connect.iter().enumerate() {
        if !issuer.issuer.starts_with("https://") {
            let complaint = error(
                CONTRADICTION,
                format!("the issuer `{}` is not an https URL", issuer.issuer),
                "write the issuer as it is in tokens, beginning with https://",
            );
            context.at(&format!("authentication.openIdConnect[{index}].issuer"), complaint);
        }
    }
    if !cluster.service_accounts.issuer.starts_with("https://") {
        let complaint = error(
            CONTRADICTION,
            format!("the issuer `{}` is not an https URL", cluster.service_accounts.issuer),
            "write a URL that begins with https://, or leave the field out",
        );
        context.at("serviceAccounts.issuer", complaint);
    }
}
