//! DHCP options, and which of them a VPC uses.

use async_trait::async_trait;
use aws_sdk_ec2::types::{AttributeValue, DhcpConfiguration, DhcpOptions as Sdk, NewDhcpConfiguration};
use slipway_resource::{Address, ErrorClass, Identity, ProviderError, Value};

use super::attribute::{need, number, text, texts};
use super::family::{DhcpOptions as Family, Vpcs};
use super::{Blockers, Found, Kind, create_tags};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::look::{Look, filter};
use crate::owner::{Owner, Tags, identity, of_ec2, specification, visible};
use crate::rate::Class;

/// `aws_vpc_dhcp_options`.
pub(super) struct Options;

/// `aws_vpc_dhcp_options_association`.
pub(super) struct Association;

/// Attributes with lists, and their names in DHCP.
const LISTS: [(&str, &str); 3] = [
    ("domain_name_servers", "domain-name-servers"),
    ("netbios_name_servers", "netbios-name-servers"),
    ("ntp_servers", "ntp-servers"),
];
const DOMAIN: (&str, &str) = ("domain_name", "domain-name");
const NODE_TYPE: (&str, &str) = ("netbios_node_type", "netbios-node-type");
const LEASE: (&str, &str) = ("ipv6_address_preferred_lease_time", "ipv6-address-preferred-lease-time");

/// Emulators of AWS may ignore the tags of the creating call. Without tags, the options are not found again,
/// so one failure must not end the attempts.
async fn tag_late(act: &Act<'_>, id: &str, tags: &Tags) -> Result<(), ProviderError> {
    for _ in 1..ATTEMPTS {
        match create_tags(act.cloud, id, tags).await {
            Ok(()) => return Ok(()),
            Err(error) => tracing::debug!(%error, "tagged again"),
        }
    }
    create_tags(act.cloud, id, tags).await
}

#[async_trait]
impl Kind for Options {
    fn name(&self) -> &'static str {
        "aws_vpc_dhcp_options"
    }

    fn tagged_as(&self) -> Option<&'static str> {
        Some("dhcp-options")
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let found = cloud.get::<Family>(id.as_str()).await?;
        Ok(found
            .map(|options| Found::ready(id.as_str(), attributes(cloud, &options), &of_ec2(options.tags()))))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let request = act
            .cloud
            .ec2()
            .create_dhcp_options()
            .set_dhcp_configurations(Some(configurations(desired)))
            .tag_specifications(specification("dhcp-options", &act.tags(desired)));
        let answer = act.cloud.write(Class::Ec2Write, "CreateDhcpOptions", || request.clone().send()).await?;
        let made = answer.dhcp_options().ok_or_else(|| incomplete("CreateDhcpOptions", "options"))?;
        let id = made.dhcp_options_id().ok_or_else(|| incomplete("CreateDhcpOptions", "id"))?;
        if made.tags().is_empty() {
            act.announce(&identity(id));
            tag_late(act, id, &act.tags(desired)).await.map_err(|mut error| {
                // The options are there: the same create must not be sent again.
                error.class = ErrorClass::OutcomeUnknown;
                error.identity = Some(identity(id));
                error
            })?;
        }
        Ok(identity(id))
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.ec2().delete_dhcp_options().dhcp_options_id(id.as_str());
        act.cloud.write(Class::Ec2Write, "DeleteDhcpOptions", || request.clone().send()).await.map(drop)
    }

    async fn blockers(&self, cloud: &Cloud, id: &Identity) -> Result<Blockers, ProviderError> {
        let request = cloud.ec2().describe_vpcs().filters(filter("dhcp-options-id", [id.as_str()]));
        let page = cloud.read(Class::Ec2Read, "DescribeVpcs", || request.clone().send()).await?;
        let lasting = page.vpcs().iter().filter_map(|vpc| vpc.vpc_id()).map(str::to_owned).collect();
        Ok(Blockers { lasting, passing: Vec::new() })
    }
}

fn configurations(desired: &Value) -> Vec<NewDhcpConfiguration> {
    let one = |key: &str, values: Vec<String>| {
        (!values.is_empty())
            .then(|| NewDhcpConfiguration::builder().key(key).set_values(Some(values)).build())
    };
    let mut all: Vec<_> = LISTS.iter().filter_map(|(name, key)| one(key, texts(desired, name))).collect();
    for (name, key) in [DOMAIN, NODE_TYPE] {
        all.extend(one(key, text(desired, name).map(str::to_owned).into_iter().collect()));
    }
    all.extend(one(
        LEASE.1,
        number(desired, LEASE.0).map(|seconds| seconds.to_string()).into_iter().collect(),
    ));
    all
}

fn attributes(cloud: &Cloud, options: &Sdk) -> Value {
    let values = |key: &str| -> Vec<String> {
        let configurations = options.dhcp_configurations().iter();
        configurations
            .filter(|configuration| configuration.key() == Some(key))
            .flat_map(DhcpConfiguration::values)
            .filter_map(AttributeValue::value)
            .map(str::to_owned)
            .collect()
    };
    let first = |key: &str| values(key).into_iter().next();
    let list = |key: &str| Some(values(key)).filter(|values| !values.is_empty());
    let id = options.dhcp_options_id().unwrap_or_default();
    let mut entries = vec![
        ("id", Value::from(id)),
        ("arn", cloud.ec2_arn(options.owner_id(), "dhcp-options", id).into()),
        (DOMAIN.0, first(DOMAIN.1).into()),
        (NODE_TYPE.0, first(NODE_TYPE.1).into()),
        (LEASE.0, first(LEASE.1).and_then(|text| text.parse::<i64>().ok()).into()),
        ("owner_id", options.owner_id().into()),
        ("tags", visible(&of_ec2(options.tags()))),
    ];
    entries.extend(LISTS.iter().map(|(name, key)| (*name, Value::from(list(key)))));
    Value::map(entries)
}

/// The identity of the DHCP options of a VPC to which no options were assigned.
const DEFAULT: &str = "default";
/// How often new options are tagged where the creating call has left that out.
const ATTEMPTS: u32 = 6;

#[async_trait]
impl Kind for Association {
    fn name(&self) -> &'static str {
        "aws_vpc_dhcp_options_association"
    }

    fn is_idempotent(&self) -> bool {
        true
    }

    /// Ours is one of our own options with our own VPC.
    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        let (vpcs, options) = (look.tagged("vpc").await?, look.tagged("dhcp-options").await?);
        let mut found = Vec::new();
        for vpc in look.cloud.get_all::<Vpcs>(vpcs.iter().map(String::as_str)).await? {
            let (Some(id), Some(used)) = (vpc.vpc_id(), vpc.dhcp_options_id()) else { continue };
            let owner = Owner::of(&of_ec2(vpc.tags()));
            if let Some(owner) = owner.filter(|_| options.iter().any(|own| own == used)) {
                let address = owner.address.as_ref().map(|vpc| Address::new(self.name(), vpc.name()));
                let owner = address.map(|address| owner.at(address));
                found.push(Found { owner, ..association(id, used) });
            }
        }
        Ok(found)
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let found = cloud.get::<Vpcs>(id.as_str()).await?;
        let used = found.as_ref().and_then(|vpc| vpc.dhcp_options_id()).filter(|used| *used != DEFAULT);
        Ok(used.map(|used| association(id.as_str(), used)))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let vpc = need(desired, "vpc_id")?;
        associate(act.cloud, vpc, need(desired, "dhcp_options_id")?).await?;
        Ok(identity(vpc))
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        _prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        associate(act.cloud, id.as_str(), need(desired, "dhcp_options_id")?).await
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        associate(act.cloud, id.as_str(), DEFAULT).await
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        let (vpc, options) = (need(desired, "vpc_id")?, need(desired, "dhcp_options_id")?);
        let found = act.cloud.get::<Vpcs>(vpc).await?;
        Ok(found.filter(|found| found.dhcp_options_id() == Some(options)).map(|_| identity(vpc)))
    }
}

async fn associate(cloud: &Cloud, vpc: &str, options: &str) -> Result<(), ProviderError> {
    let request = cloud.ec2().associate_dhcp_options().vpc_id(vpc).dhcp_options_id(options);
    cloud.write(Class::Ec2Write, "AssociateDhcpOptions", || request.clone().send()).await.map(drop)
}

/// A VPC uses one set of options: the VPC's id is that of the association.
fn association(vpc: &str, options: &str) -> Found {
    let attributes = Value::map([("id", vpc), ("vpc_id", vpc), ("dhcp_options_id", options)]);
    Found::ready(vpc, attributes, &Tags::new())
}
