//! Permissions for callers that may not use the policy simulator: dry runs of EC2's creating calls. AWS
//! answers them with "it would have succeeded" or with a refusal, and creates nothing. An object that depends
//! on another new one cannot be tried before that one exists.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use aws_sdk_ec2::primitives::Blob;
use aws_sdk_ec2::types::{NewDhcpConfiguration, RequestLaunchTemplateData, VolumeType};
use futures_util::future::join_all;
use slipway_aws_model::types::Kind;
use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{ErrorClass, ProviderError, Value};

use super::permission::{NOT_GRANTED, refused};
use super::unanswered;
use crate::cloud::Cloud;
use crate::kind::attribute::{number32, text};
use crate::owner::{specification, wanted};
use crate::rate::Class;

/// A call under way.
type Trial<'a> = Pin<Box<dyn Future<Output = Result<(), ProviderError>> + Send + 'a>>;

/// The trial of a request; each of them is of a type of its own.
macro_rules! trial {
    ($cloud:ident, $action:literal, $request:expr) => {{
        let request = $request.dry_run(true);
        let sent =
            async move { $cloud.read(Class::Ec2Write, $action, || request.clone().send()).await.map(drop) };
        Some(($action, Box::pin(sent) as Trial<'a>))
    }};
}

/// Actions that the caller may not do: one call for each type, with the first new object of the type.
pub(super) async fn missing(
    cloud: &Cloud,
    items: &[PreflightItem],
) -> Result<Vec<PreflightFinding>, ProviderError> {
    let mut first: BTreeMap<Kind, &Value> = BTreeMap::new();
    for item in items.iter().filter(|item| matches!(item.action.as_str(), "create" | "replace")) {
        if let Some(kind) = Kind::of(item.address.kind()) {
            first.entry(kind).or_insert(&item.desired);
        }
    }
    let trials = first.into_iter().filter_map(|(kind, desired)| trial(cloud, kind, desired));
    let answers = join_all(trials.map(|(action, trial)| async move { (action, trial.await) })).await;
    let mut found = Vec::new();
    for (action, answer) in answers {
        match answer {
            Err(error) if matches!(error.class, ErrorClass::Permission { .. }) => {
                found.push(refused(&format!("ec2:{action}"), NOT_GRANTED));
            }
            Err(error) => unanswered(action, error)?,
            Ok(()) => {}
        }
    }
    Ok(found)
}

/// The trial of a type that needs nothing else to be there.
fn trial<'a>(cloud: &'a Cloud, kind: Kind, desired: &'a Value) -> Option<(&'static str, Trial<'a>)> {
    let ec2 = cloud.ec2();
    let owned = |name: &str| text(desired, name).map(str::to_owned);
    let tags = |resource: &str| specification(resource, &wanted(desired));
    match kind {
        Kind::Vpc => trial!(
            cloud,
            "CreateVpc",
            ec2.create_vpc().set_cidr_block(owned("cidr_block")).tag_specifications(tags("vpc"))
        ),
        Kind::InternetGateway => trial!(
            cloud,
            "CreateInternetGateway",
            ec2.create_internet_gateway().tag_specifications(tags("internet-gateway"))
        ),
        Kind::Eip => {
            trial!(cloud, "AllocateAddress", ec2.allocate_address().tag_specifications(tags("elastic-ip")))
        }
        Kind::VpcDhcpOptions => {
            let domain = NewDhcpConfiguration::builder()
                .key("domain-name")
                .values(text(desired, "domain_name").unwrap_or_default())
                .build();
            trial!(
                cloud,
                "CreateDhcpOptions",
                ec2.create_dhcp_options()
                    .dhcp_configurations(domain)
                    .tag_specifications(tags("dhcp-options"))
            )
        }
        Kind::EbsVolume => trial!(
            cloud,
            "CreateVolume",
            ec2.create_volume()
                .set_availability_zone(owned("availability_zone"))
                .set_size(number32(desired, "size"))
                .set_volume_type(text(desired, "type").map(VolumeType::from))
                .set_encrypted(desired.get("encrypted").and_then(Value::as_bool))
                .tag_specifications(tags("volume"))
        ),
        Kind::KeyPair => trial!(
            cloud,
            "ImportKeyPair",
            ec2.import_key_pair()
                .set_key_name(owned("key_name"))
                .public_key_material(Blob::new(text(desired, "public_key").unwrap_or_default()))
                .tag_specifications(tags("key-pair"))
        ),
        Kind::LaunchTemplate => {
            let machine = text(desired, "instance_type").map(Into::into);
            let data = RequestLaunchTemplateData::builder().set_instance_type(machine).build();
            trial!(
                cloud,
                "CreateLaunchTemplate",
                ec2.create_launch_template()
                    .set_launch_template_name(owned("name"))
                    .launch_template_data(data)
                    .tag_specifications(tags("launch-template"))
            )
        }
        // They need an object that may not exist yet.
        Kind::EgressOnlyInternetGateway
        | Kind::Instance
        | Kind::NatGateway
        | Kind::Route
        | Kind::RouteTable
        | Kind::RouteTableAssociation
        | Kind::SecurityGroup
        | Kind::SecurityGroupRule
        | Kind::Subnet
        | Kind::VpcDhcpOptionsAssociation
        | Kind::VpcIpv4CidrBlockAssociation => None,
        // Their services have no dry runs.
        Kind::AutoscalingGroup
        | Kind::AutoscalingLifecycleHook
        | Kind::CloudwatchEventRule
        | Kind::CloudwatchEventTarget
        | Kind::IamInstanceProfile
        | Kind::IamOpenidConnectProvider
        | Kind::IamRole
        | Kind::IamRolePolicy
        | Kind::IamRolePolicyAttachment
        | Kind::KmsKey
        | Kind::Lb
        | Kind::LbListener
        | Kind::LbTargetGroup
        | Kind::Route53Record
        | Kind::Route53Zone
        | Kind::Route53ZoneAssociation
        | Kind::S3Object
        | Kind::SqsQueue => None,
    }
}
