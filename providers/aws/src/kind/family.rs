//! Objects of EC2 that one Describe call reads many of.

/// A family whose objects one paged Describe call finds by a filter.
macro_rules! describe_family {
    ($(#[$meta:meta])* $name:ident, $call:ident, $action:literal, $filter:literal, $items:ident, $item:ty, $id:ident) => {
        $(#[$meta])*
        pub(crate) struct $name;

        #[async_trait::async_trait]
        impl crate::batch::Family for $name {
            type Item = $item;
            const LIMIT: usize = 200;

            async fn fetch(
                cloud: &crate::cloud::Cloud,
                keys: &[String],
            ) -> Result<std::collections::BTreeMap<String, $item>, slipway_resource::ProviderError> {
                let request = cloud.ec2().$call().filters(crate::look::filter($filter, keys));
                let mut found = std::collections::BTreeMap::new();
                let mut next: Option<String> = None;
                loop {
                    let page = cloud
                        .read(crate::rate::Class::Ec2Read, $action, || {
                            request.clone().set_next_token(next.clone()).send()
                        })
                        .await?;
                    for item in page.$items() {
                        if let Some(id) = item.$id() {
                            found.insert(id.to_owned(), item.clone());
                        }
                    }
                    next = page.next_token().filter(|token| !token.is_empty()).map(str::to_owned);
                    if next.is_none() {
                        return Ok(found);
                    }
                }
            }
        }
    };
}

describe_family! {
    /// VPCs by id.
    Vpcs, describe_vpcs, "DescribeVpcs", "vpc-id", vpcs, aws_sdk_ec2::types::Vpc, vpc_id
}
describe_family! {
    /// Subnets by id.
    Subnets, describe_subnets, "DescribeSubnets", "subnet-id", subnets, aws_sdk_ec2::types::Subnet, subnet_id
}
describe_family! {
    /// Route tables by id.
    RouteTables, describe_route_tables, "DescribeRouteTables", "route-table-id", route_tables,
    aws_sdk_ec2::types::RouteTable, route_table_id
}
describe_family! {
    /// Internet gateways by id.
    InternetGateways, describe_internet_gateways, "DescribeInternetGateways", "internet-gateway-id",
    internet_gateways, aws_sdk_ec2::types::InternetGateway, internet_gateway_id
}
describe_family! {
    /// DHCP options by id.
    DhcpOptions, describe_dhcp_options, "DescribeDhcpOptions", "dhcp-options-id", dhcp_options,
    aws_sdk_ec2::types::DhcpOptions, dhcp_options_id
}
describe_family! {
    /// Security groups by id.
    SecurityGroups, describe_security_groups, "DescribeSecurityGroups", "group-id", security_groups,
    aws_sdk_ec2::types::SecurityGroup, group_id
}
describe_family! {
    /// Volumes by id.
    Volumes, describe_volumes, "DescribeVolumes", "volume-id", volumes, aws_sdk_ec2::types::Volume, volume_id
}
