//! Attributes of a launch template as EC2 returns them.

use aws_sdk_ec2::primitives::DateTimeFormat;
use aws_sdk_ec2::types as sdk;
use slipway_resource::{Entries, Value};

use crate::kind::attribute::some;
use crate::owner::{of_ec2, visible};

/// The attributes of a version.
pub(super) fn data(data: &sdk::ResponseLaunchTemplateData) -> Entries {
    let entries = Value::map([
        ("image_id", some(data.image_id())),
        ("instance_type", word(data.instance_type().map(sdk::InstanceType::as_str))),
        ("key_name", some(data.key_name())),
        ("user_data", some(data.user_data())),
        ("ebs_optimized", data.ebs_optimized().into()),
        ("disable_api_termination", data.disable_api_termination().into()),
        ("disable_api_stop", data.disable_api_stop().into()),
        (
            "instance_initiated_shutdown_behavior",
            word(data.instance_initiated_shutdown_behavior().map(sdk::ShutdownBehavior::as_str)),
        ),
        ("vpc_security_group_ids", Value::list(data.security_group_ids().iter().map(String::as_str))),
        ("block_device_mappings", Value::list(data.block_device_mappings().iter().map(device))),
        ("network_interfaces", Value::list(data.network_interfaces().iter().map(interface))),
        ("tag_specifications", Value::list(machines_tags(data).map(tag_specification))),
        (
            "iam_instance_profile",
            one(data.iam_instance_profile(), |profile| {
                Value::map([("name", some(profile.name())), ("arn", some(profile.arn()))])
            }),
        ),
        ("monitoring", one(data.monitoring(), |monitoring| Value::map([("enabled", monitoring.enabled())]))),
        ("metadata_options", one(data.metadata_options(), metadata)),
        (
            "credit_specification",
            one(data.credit_specification(), |credit| {
                Value::map([("cpu_credits", some(credit.cpu_credits()))])
            }),
        ),
        ("instance_market_options", one(data.instance_market_options(), market)),
        ("placement", one(data.placement(), placement)),
        ("capacity_reservation_specification", one(data.capacity_reservation_specification(), reservation)),
        ("cpu_options", one(data.cpu_options(), processor)),
        (
            "enclave_options",
            one(data.enclave_options(), |enclave| Value::map([("enabled", enclave.enabled())])),
        ),
        (
            "maintenance_options",
            one(data.maintenance_options(), |options| {
                let recovery = options.auto_recovery().map(sdk::LaunchTemplateAutoRecoveryState::as_str);
                Value::map([("auto_recovery", word(recovery))])
            }),
        ),
        ("private_dns_name_options", one(data.private_dns_name_options(), host_names)),
    ]);
    match entries {
        Value::Map(entries) => entries,
        _ => Entries::new(),
    }
}

/// The tags of what is launched. Emulators also keep those of the template itself here, which AWS never does.
fn machines_tags(
    data: &sdk::ResponseLaunchTemplateData,
) -> impl Iterator<Item = &sdk::LaunchTemplateTagSpecification> {
    let of_template = sdk::ResourceType::LaunchTemplate;
    data.tag_specifications().iter().filter(move |one| one.resource_type() != Some(&of_template))
}

/// A block, where there is one that says something.
fn one<T>(block: Option<&T>, form: impl Fn(&T) -> Value) -> Value {
    let value = block.map(form).filter(|value| value.as_map().is_none_or(|entries| !entries.is_empty()));
    value.map_or(Value::Null, |value| Value::List(vec![value]))
}

fn word(word: Option<&str>) -> Value {
    some(word)
}

fn number(number: Option<i32>) -> Value {
    number.map(i64::from).into()
}

fn device(mapping: &sdk::LaunchTemplateBlockDeviceMapping) -> Value {
    let disk = |volume: &sdk::LaunchTemplateEbsBlockDevice| {
        Value::map([
            ("volume_size", number(volume.volume_size())),
            ("volume_type", word(volume.volume_type().map(sdk::VolumeType::as_str))),
            ("iops", number(volume.iops())),
            ("throughput", number(volume.throughput())),
            ("encrypted", volume.encrypted().into()),
            ("kms_key_id", some(volume.kms_key_id())),
            ("snapshot_id", some(volume.snapshot_id())),
            ("delete_on_termination", volume.delete_on_termination().into()),
        ])
    };
    Value::map([
        ("device_name", some(mapping.device_name())),
        ("virtual_name", some(mapping.virtual_name())),
        ("no_device", some(mapping.no_device())),
        ("ebs", one(mapping.ebs(), disk)),
    ])
}

fn interface(interface: &sdk::LaunchTemplateInstanceNetworkInterfaceSpecification) -> Value {
    Value::map([
        ("device_index", number(interface.device_index())),
        ("network_card_index", number(interface.network_card_index())),
        ("interface_type", some(interface.interface_type())),
        ("description", some(interface.description())),
        ("associate_public_ip_address", interface.associate_public_ip_address().into()),
        ("delete_on_termination", interface.delete_on_termination().into()),
        ("ipv6_address_count", number(interface.ipv6_address_count())),
        ("ipv6_prefix_count", number(interface.ipv6_prefix_count())),
        ("ipv4_prefix_count", number(interface.ipv4_prefix_count())),
        ("primary_ipv6", interface.primary_ipv6().into()),
        ("network_interface_id", some(interface.network_interface_id())),
        ("private_ip_address", some(interface.private_ip_address())),
        ("subnet_id", some(interface.subnet_id())),
        ("security_groups", Value::list(interface.groups().iter().map(String::as_str))),
    ])
}

fn tag_specification(specification: &sdk::LaunchTemplateTagSpecification) -> Value {
    let kind = specification.resource_type().map(sdk::ResourceType::as_str);
    Value::map([("resource_type", word(kind)), ("tags", visible(&of_ec2(specification.tags())))])
}

fn metadata(options: &sdk::LaunchTemplateInstanceMetadataOptions) -> Value {
    let endpoint = options.http_endpoint().map(sdk::LaunchTemplateInstanceMetadataEndpointState::as_str);
    let ipv6 = options.http_protocol_ipv6().map(sdk::LaunchTemplateInstanceMetadataProtocolIpv6::as_str);
    let tags = options.instance_metadata_tags().map(sdk::LaunchTemplateInstanceMetadataTagsState::as_str);
    Value::map([
        ("http_endpoint", word(endpoint)),
        ("http_tokens", word(options.http_tokens().map(sdk::LaunchTemplateHttpTokensState::as_str))),
        ("http_put_response_hop_limit", number(options.http_put_response_hop_limit())),
        ("http_protocol_ipv6", word(ipv6)),
        ("instance_metadata_tags", word(tags)),
    ])
}

fn market(options: &sdk::LaunchTemplateInstanceMarketOptions) -> Value {
    let spot = |spot: &sdk::LaunchTemplateSpotMarketOptions| {
        let behaviour = spot.instance_interruption_behavior().map(sdk::InstanceInterruptionBehavior::as_str);
        let until = spot.valid_until().and_then(|until| until.fmt(DateTimeFormat::DateTime).ok());
        Value::map([
            ("max_price", some(spot.max_price())),
            ("spot_instance_type", word(spot.spot_instance_type().map(sdk::SpotInstanceType::as_str))),
            ("instance_interruption_behavior", word(behaviour)),
            ("block_duration_minutes", number(spot.block_duration_minutes())),
            ("valid_until", until.into()),
        ])
    };
    let kind = options.market_type().map(sdk::MarketType::as_str);
    Value::map([("market_type", word(kind)), ("spot_options", one(options.spot_options(), spot))])
}

fn placement(placement: &sdk::LaunchTemplatePlacement) -> Value {
    Value::map([
        ("availability_zone", some(placement.availability_zone())),
        ("tenancy", word(placement.tenancy().map(sdk::Tenancy::as_str))),
        ("group_name", some(placement.group_name())),
        ("partition_number", number(placement.partition_number())),
        ("affinity", some(placement.affinity())),
        ("host_id", some(placement.host_id())),
        ("host_resource_group_arn", some(placement.host_resource_group_arn())),
    ])
}

fn reservation(specification: &sdk::LaunchTemplateCapacityReservationSpecificationResponse) -> Value {
    let target = |target: &sdk::CapacityReservationTargetResponse| {
        let group = target.capacity_reservation_resource_group_arn();
        Value::map([
            ("capacity_reservation_id", some(target.capacity_reservation_id())),
            ("capacity_reservation_resource_group_arn", some(group)),
        ])
    };
    let preference =
        specification.capacity_reservation_preference().map(sdk::CapacityReservationPreference::as_str);
    Value::map([
        ("capacity_reservation_preference", word(preference)),
        ("capacity_reservation_target", one(specification.capacity_reservation_target(), target)),
    ])
}

fn processor(options: &sdk::LaunchTemplateCpuOptions) -> Value {
    Value::map([
        ("core_count", number(options.core_count())),
        ("threads_per_core", number(options.threads_per_core())),
        ("amd_sev_snp", word(options.amd_sev_snp().map(sdk::AmdSevSnpSpecification::as_str))),
    ])
}

fn host_names(options: &sdk::LaunchTemplatePrivateDnsNameOptions) -> Value {
    Value::map([
        ("hostname_type", word(options.hostname_type().map(sdk::HostnameType::as_str))),
        ("enable_resource_name_dns_a_record", options.enable_resource_name_dns_a_record().into()),
        ("enable_resource_name_dns_aaaa_record", options.enable_resource_name_dns_aaaa_record().into()),
    ])
}
