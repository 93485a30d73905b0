//! Service accounts with roles: their trust in the cluster's issuer, and their permissions.

use std::collections::BTreeMap;

use slipway_cluster_input::{ClusterInput, DnsKind};
use slipway_resource::{ProviderError, Value};

use super::build::{Builder, address};
use super::iam::{Part, add_attachment, add_policy, add_role, part, role_name};
use super::{POLICY, addons, refuse};
use crate::policy::{Grants, Text, assumed_by_service_account, given};
use crate::tags;

/// SHA-1 fingerprints of the authorities that have signed for S3, where discovery documents are served from.
const THUMBPRINTS: [&str; 2] =
    ["9e99a48a9960b14926bb7f3b02e22da2b0ab7280", "a9d53002e97e00e043244f3d170d6f4c414104fd"];
/// The audience of the tokens that AWS' own libraries ask for.
const AUDIENCE: &str = "amazonaws.com";
/// Where the cluster's own components run.
const SYSTEM: &str = "kube-system";

/// The provider that makes the account believe the cluster's issuer, and the roles of service accounts.
pub(super) fn service_accounts(builder: &mut Builder<'_>) -> Result<(), ProviderError> {
    if builder.settings.service_account_issuer_discovery.enable_aws_oidc_provider {
        issuer(builder);
    }
    if builder.settings.iam.use_service_account_external_permissions {
        for (name, wanted) in components(builder) {
            let mut grants = Grants::default();
            part(builder, &mut grants, wanted);
            let origin = "provider.config.iam.useServiceAccountExternalPermissions";
            role(builder, SYSTEM, name, Some(grants.document().to_value()), origin);
        }
    }
    for account in builder.settings.iam.service_account_external_permissions.clone() {
        let field = format!("provider.config.iam.serviceAccountExternalPermissions[{}]", account.name);
        if account.name.contains('*') {
            return Err(refuse(
                &field,
                "the name of a service account is not a pattern; only its namespace can be",
                "write one entry for each name",
            ));
        }
        let policy =
            match account.aws.inline_policy.as_deref().filter(|text| !text.is_empty()) {
                Some(text) => Some(given(text).map_err(|error| {
                    refuse(&format!("{field}.aws.inlinePolicy"), &error.to_string(), POLICY)
                })?),
                None => None,
            };
        let (resource, name) =
            role(builder, &account.namespace, &account.name, policy.map(Value::from), &field);
        for arn in &account.aws.policy_arns {
            add_attachment(builder, &resource, &name, arn, &format!("{field}.aws.policyARNs"));
        }
    }
    Ok(())
}

fn issuer(builder: &mut Builder<'_>) {
    let cluster = builder.cluster;
    let mut audiences = vec![AUDIENCE.to_owned()];
    audiences.extend(builder.settings.service_account_issuer_discovery.additional_audiences.clone());
    let provider = builder
        .draft(
            "aws_iam_openid_connect_provider",
            &cluster.name,
            "provider.config.serviceAccountIssuerDiscovery.enableAWSOIDCProvider",
        )
        .set("url", cluster.service_accounts.issuer.as_str(), "serviceAccounts.issuer")
        .set("client_id_list", audiences, "provider.config.serviceAccountIssuerDiscovery.additionalAudiences")
        .fix("thumbprint_list", Value::list(THUMBPRINTS))
        .tags(builder.tags(&cluster.name));
    builder.add(provider);
}

/// The ARNs of the roles of the cluster's own components, by the names of their service accounts; `None` where pods use the
/// role of their machine.
pub(super) fn component_roles(builder: &Builder<'_>) -> Option<BTreeMap<String, String>> {
    if !builder.settings.iam.use_service_account_external_permissions {
        return None;
    }
    let (partition, account) = (builder.catalog.partition(), builder.catalog.account());
    let arn = |name: &str| {
        let role = role_name(&builder.named(&format!("{name}.{SYSTEM}.sa")));
        format!("arn:{partition}:iam::{account}:role/{role}")
    };
    Some(components(builder).into_iter().map(|(name, _)| (name.to_owned(), arn(name))).collect())
}

/// The components with roles of their own, by the names of their service accounts.
fn components(builder: &Builder<'_>) -> Vec<(&'static str, Part)> {
    let cluster = builder.cluster;
    let enabled = |name| addons::is_enabled(cluster, name);
    let mut found = vec![("aws-cloud-controller-manager", Part::CloudController)];
    // Components that Slipway does not install bring their own permissions.
    let managed = |name| enabled(name) && addons::flag(cluster, name, "managed", true);
    if managed("aws-ebs-csi-driver") {
        found.push(("ebs-csi-controller-sa", Part::EbsCsi));
    }
    if cluster.control_plane.dns.kind != DnsKind::None {
        if enabled("external-dns") {
            found.push(("external-dns", Part::Dns));
        } else if !has_no_controller(cluster) {
            found.push(("dns-controller", Part::Dns));
        }
    }
    if enabled("node-termination-handler") {
        found.push(("aws-node-termination-handler", Part::TerminationHandler));
    }
    let zones = addons::setting(cluster, "cert-manager", "hostedZoneIDs");
    if managed("cert-manager")
        && zones.and_then(|zones| zones.as_array()).is_some_and(|zones| !zones.is_empty())
    {
        found.push(("cert-manager", Part::CertManager));
    }
    for (addon, account, wanted) in [
        ("cluster-autoscaler", "cluster-autoscaler", Part::Autoscaler),
        ("aws-load-balancer-controller", "aws-load-balancer-controller", Part::LoadBalancerController),
        ("karpenter", "karpenter", Part::Karpenter),
    ] {
        if enabled(addon) {
            found.push((account, wanted));
        }
    }
    if cluster.network.cni.name == "kube-router" {
        found.push(("kube-router", Part::KubeRouter));
    }
    found
}

/// Whether no controller in the cluster writes DNS records.
fn has_no_controller(cluster: &ClusterInput) -> bool {
    addons::flag(cluster, "external-dns", "disable", false)
        || addons::setting(cluster, "external-dns", "provider").and_then(|provider| provider.as_str())
            == Some("none")
}

/// A role with its policy; returns its address and name.
fn role(
    builder: &mut Builder<'_>,
    namespace: &str,
    account: &str,
    policy: Option<Value>,
    origin: &str,
) -> (slipway_resource::Address, String) {
    // Neither IAM's names nor tags know an asterisk.
    let spelled = namespace.replace('*', "wildcard");
    let name = role_name(&builder.named(&format!("{account}.{spelled}.sa")));
    let issuer = &builder.cluster.service_accounts.issuer;
    let trust = assumed_by_service_account(trusted(builder), issuer, namespace, account);
    let own = tags::with(
        builder.tags(&name),
        [
            ("service-account.kops.k8s.io/name", account),
            ("service-account.kops.k8s.io/namespace", spelled.as_str()),
        ],
    );
    let resource = add_role(builder, &name, origin, &trust, own);
    if let Some(policy) = policy {
        add_policy(builder, &resource, &name, policy, origin);
    }
    (resource, name)
}

/// The ARN of the identity provider for service accounts: the cluster's own, or an existing one.
fn trusted(builder: &Builder<'_>) -> Text {
    if builder.settings.service_account_issuer_discovery.enable_aws_oidc_provider {
        return Text::of(&address("aws_iam_openid_connect_provider", &builder.cluster.name), "arn");
    }
    let (partition, account) = (builder.catalog.partition(), builder.catalog.account());
    let issuer = &builder.cluster.service_accounts.issuer;
    let issuer = issuer.strip_prefix("https://").unwrap_or(issuer);
    format!("arn:{partition}:iam::{account}:oidc-provider/{issuer}").into()
}
