//! The key of the cluster in KMS. The keys in the state are encrypted for it, beside the keys of the people, and control planes
//! open them with their instance role.
//!
//! It is the default for a spec of Slipway. A spec of kOps describes clusters that have keys of their own elsewhere. A plan leaves
//! the key out for a cluster that exists without it, unless the spec asks for it.

use slipway_cluster_input::{NodePool, ProgramFile, ProgramName, Role};
use slipway_resource::{Address, Path, Reference, TemplatePart, Value};

use super::build::{Builder, address};
use super::iam::{add_policy, role_name};
use crate::names;
use crate::policy::{Text, decrypts, of_key};
use crate::settings::KeyService;

/// The setting.
const FIELD: &str = "provider.config.keyService";
/// The provider whose key service it is, in the names of its keys.
const PROVIDER: &str = "aws";

/// The further reader of the cluster's keys.
pub(super) struct Reader {
    /// The key's name, as the attribute `sealed_for` of a secret has it.
    pub name: Value,
    /// The field of the spec that asks for it; `None` for the default.
    pub field: Option<&'static str>,
}

/// Adds the key, and what lets the machines of some groups use it.
pub(super) fn reader(builder: &mut Builder<'_>, groups: &[Address]) -> Option<Reader> {
    let field = wanted(builder)?;
    let (catalog, input) = (builder.catalog, builder.cluster);
    let cluster = &input.name;
    let policy = of_key((catalog.partition(), catalog.account()), cluster);
    let name = builder.named("state-key");
    let draft = builder
        .draft("aws_kms_key", &name, FIELD)
        .fix("alias", names::key_alias(cluster))
        .fix("description", format!("Opens the keys of the cluster {cluster} for its control planes."))
        .fix("policy", policy.to_value())
        .tags(builder.tags(&name));
    let key = builder.add(draft);
    let role = role_name(&builder.named(names::instance_role(Role::ControlPlane)));
    let resource = address("aws_iam_role", &role);
    if builder.has(&resource) {
        let name = format!("state-key.{role}");
        let document = decrypts(Text::of(&key, "arn"), cluster).to_value();
        add_policy(builder, &resource, &name, document, FIELD);
        let policy = address("aws_iam_role_policy", &name);
        for group in groups {
            builder.depend(group, std::slice::from_ref(&policy));
        }
    }
    say_what_is_missing(builder);
    let arn = TemplatePart::Reference(Reference { address: key, path: Path::key("arn") });
    Some(Reader { name: Value::Template(vec![TemplatePart::Text(format!("{PROVIDER}:")), arn]), field })
}

/// Whether the cluster has the key: by its setting, which is returned, or by default.
fn wanted(builder: &Builder<'_>) -> Option<Option<&'static str>> {
    let settings = builder.settings;
    match settings.key_service {
        Some(KeyService::Kms) => Some(Some(FIELD)),
        Some(KeyService::None) => None,
        None => {
            let of_kops = builder.cluster.provider.config.get("kops").is_some();
            // Machines do not reach the state in a folder. Offline it is not known where the state is.
            let is_reached = settings.state.as_deref().is_some_and(|url| url.starts_with("s3://"));
            (!of_kops && (is_reached || builder.catalog.is_offline())).then_some(None)
        }
    }
}

/// Remarks on control planes that cannot use the key.
fn say_what_is_missing(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    let files = &cluster.assets.programs.files;
    let has_provider = |pool: &NodePool| {
        let is_it =
            |file: &ProgramFile| file.name == ProgramName::Provider && file.architecture == pool.architecture;
        files.iter().any(is_it)
    };
    for pool in cluster.pools_with(Role::ControlPlane) {
        if !files.is_empty() && !has_provider(pool) {
            let message = format!(
                "control planes of {} open the keys of the cluster with the program slipway-provider-aws: list it as `provider`, \
                 unless their image has it",
                pool.name
            );
            builder.note(FIELD, message);
        }
        if builder.pool_settings(pool).iam.profile.is_some() {
            let message = format!(
                "the role in the instance profile of {} needs kms:Decrypt on the key of the cluster: Slipway adds permissions \
                 only to roles that it creates",
                pool.name
            );
            builder.note(FIELD, message);
        }
    }
}
