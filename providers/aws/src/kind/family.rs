//! Families of EC2 objects of which one Describe call reads many.

/// A family whose objects one paged Describe call finds by a filter.
macro_rules! describe_family {
    ($(#[$meta:meta])* $name:ident, $call:ident, $action:literal, $filters:ident $filter:literal, $items:ident, $item:ty, $id:ident) => {
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
                let request = cloud.ec2().$call().$filters(crate::look::filter($filter, keys));
                let send = |token| request.clone().set_next_token(token).send();
                let class = crate::rate::Class::Ec2Read;
                let pages = cloud.pages(class, $action, send, |page| page.next_token()).await?;
                let items = pages.iter().flat_map(|page| page.$items());
                Ok(items.filter_map(|item| Some((item.$id()?.to_owned(), item.clone()))).collect())
            }
        }
    };
}

describe_family! {
    /// VPCs by id.
    Vpcs, describe_vpcs, "DescribeVpcs", filters "vpc-id", vpcs, aws_sdk_ec2::types::Vpc, vpc_id
}
describe_family! {
    /// Subnets by id.
    Subnets, describe_subnets, "DescribeSubnets", filters "subnet-id", subnets, aws_sdk_ec2::types::Subnet, subnet_id
}
describe_family! {
    /// Route tables by id.
    RouteTables, describe_route_tables, "DescribeRouteTables", filters "route-table-id", route_tables,
    aws_sdk_ec2::types::RouteTable, route_table_id
}
describe_family! {
    /// Internet gateways by id.
    InternetGateways, describe_internet_gateways, "DescribeInternetGateways", filters "internet-gateway-id",
    internet_gateways, aws_sdk_ec2::types::InternetGateway, internet_gateway_id
}
describe_family! {
    /// DHCP options by id.
    DhcpOptions, describe_dhcp_options, "DescribeDhcpOptions", filters "dhcp-options-id", dhcp_options,
    aws_sdk_ec2::types::DhcpOptions, dhcp_options_id
}
describe_family! {
    /// Security groups by id.
    SecurityGroups, describe_security_groups, "DescribeSecurityGroups", filters "group-id", security_groups,
    aws_sdk_ec2::types::SecurityGroup, group_id
}
describe_family! {
    /// Volumes by id.
    Volumes, describe_volumes, "DescribeVolumes", filters "volume-id", volumes, aws_sdk_ec2::types::Volume, volume_id
}
describe_family! {
    /// NAT gateways by id.
    NatGateways, describe_nat_gateways, "DescribeNatGateways", filter "nat-gateway-id", nat_gateways,
    aws_sdk_ec2::types::NatGateway, nat_gateway_id
}
