//! The resource types as a closed list.
//!
//! Code that treats types differently matches on [`Kind`] without a wildcard arm. A new type therefore does not compile before
//! each of these places says what it means for the type.

/// Declares the list: each type with its name.
macro_rules! kinds {
    ($($variant:ident = $name:literal,)*) => {
        /// A resource type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Kind {
            /// All types, by name.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name of the type in addresses.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The type of a name; `None` for a type of another provider.
            #[must_use]
            pub fn of(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    AutoscalingGroup = "aws_autoscaling_group",
    AutoscalingLifecycleHook = "aws_autoscaling_lifecycle_hook",
    CloudwatchEventRule = "aws_cloudwatch_event_rule",
    CloudwatchEventTarget = "aws_cloudwatch_event_target",
    EbsVolume = "aws_ebs_volume",
    EgressOnlyInternetGateway = "aws_egress_only_internet_gateway",
    Eip = "aws_eip",
    IamInstanceProfile = "aws_iam_instance_profile",
    IamOpenidConnectProvider = "aws_iam_openid_connect_provider",
    IamRole = "aws_iam_role",
    IamRolePolicy = "aws_iam_role_policy",
    IamRolePolicyAttachment = "aws_iam_role_policy_attachment",
    Instance = "aws_instance",
    InternetGateway = "aws_internet_gateway",
    KeyPair = "aws_key_pair",
    KmsKey = "aws_kms_key",
    LaunchTemplate = "aws_launch_template",
    Lb = "aws_lb",
    LbListener = "aws_lb_listener",
    LbTargetGroup = "aws_lb_target_group",
    NatGateway = "aws_nat_gateway",
    Route = "aws_route",
    Route53Record = "aws_route53_record",
    Route53Zone = "aws_route53_zone",
    Route53ZoneAssociation = "aws_route53_zone_association",
    RouteTable = "aws_route_table",
    RouteTableAssociation = "aws_route_table_association",
    S3Object = "aws_s3_object",
    SecurityGroup = "aws_security_group",
    SecurityGroupRule = "aws_security_group_rule",
    SqsQueue = "aws_sqs_queue",
    Subnet = "aws_subnet",
    Vpc = "aws_vpc",
    VpcDhcpOptions = "aws_vpc_dhcp_options",
    VpcDhcpOptionsAssociation = "aws_vpc_dhcp_options_association",
    VpcIpv4CidrBlockAssociation = "aws_vpc_ipv4_cidr_block_association",
}
