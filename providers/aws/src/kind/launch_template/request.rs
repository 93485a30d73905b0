//! Attributes of a launch template as EC2 takes them.

use aws_sdk_ec2::primitives::{DateTime, DateTimeFormat};
use aws_sdk_ec2::types::{
    AmdSevSnpSpecification, CapacityReservationPreference, CapacityReservationTarget,
    CreditSpecificationRequest, HostnameType, InstanceInterruptionBehavior, InstanceType,
    LaunchTemplateAutoRecoveryState, LaunchTemplateBlockDeviceMappingRequest,
    LaunchTemplateCapacityReservationSpecificationRequest, LaunchTemplateCpuOptionsRequest,
    LaunchTemplateEbsBlockDeviceRequest, LaunchTemplateEnclaveOptionsRequest, LaunchTemplateHttpTokensState,
    LaunchTemplateIamInstanceProfileSpecificationRequest, LaunchTemplateInstanceMaintenanceOptionsRequest,
    LaunchTemplateInstanceMarketOptionsRequest, LaunchTemplateInstanceMetadataEndpointState,
    LaunchTemplateInstanceMetadataOptionsRequest, LaunchTemplateInstanceMetadataProtocolIpv6,
    LaunchTemplateInstanceMetadataTagsState, LaunchTemplateInstanceNetworkInterfaceSpecificationRequest,
    LaunchTemplatePlacementRequest, LaunchTemplatePrivateDnsNameOptionsRequest,
    LaunchTemplateSpotMarketOptionsRequest, LaunchTemplateTagSpecificationRequest,
    LaunchTemplatesMonitoringRequest, MarketType, RequestLaunchTemplateData, ResourceType, ShutdownBehavior,
    SpotInstanceType, Tenancy, VolumeType,
};
use slipway_aws_model::normalise::user_data;
use slipway_resource::{ProviderError, Value};

use crate::error::invalid;
use crate::kind::attribute::{block, blocks, number32, text, texts};
use crate::owner::{ec2_tags, wanted};

/// The contents of a version.
///
/// # Errors
/// `invalid` for a time that cannot be parsed.
pub(super) fn data(desired: &Value) -> Result<RequestLaunchTemplateData, ProviderError> {
    let market = block(desired, "instance_market_options").map(market).transpose()?;
    let user_data = text(desired, "user_data").map(user_data);
    Ok(RequestLaunchTemplateData::builder()
        .set_image_id(owned(desired, "image_id"))
        .set_instance_type(text(desired, "instance_type").map(InstanceType::from))
        .set_key_name(owned(desired, "key_name"))
        .set_user_data(user_data)
        .set_ebs_optimized(truth(desired, "ebs_optimized"))
        .set_disable_api_termination(truth(desired, "disable_api_termination"))
        .set_disable_api_stop(truth(desired, "disable_api_stop"))
        .set_instance_initiated_shutdown_behavior(
            text(desired, "instance_initiated_shutdown_behavior").map(ShutdownBehavior::from),
        )
        .set_security_group_ids(some_texts(desired, "vpc_security_group_ids"))
        .set_block_device_mappings(each(desired, "block_device_mappings", device))
        .set_network_interfaces(each(desired, "network_interfaces", interface))
        .set_tag_specifications(each(desired, "tag_specifications", tag_specification))
        .set_iam_instance_profile(block(desired, "iam_instance_profile").map(profile))
        .set_monitoring(block(desired, "monitoring").map(|block| {
            LaunchTemplatesMonitoringRequest::builder().set_enabled(truth(block, "enabled")).build()
        }))
        .set_metadata_options(block(desired, "metadata_options").map(metadata))
        .set_credit_specification(block(desired, "credit_specification").and_then(|block| {
            let credits = text(block, "cpu_credits")?;
            Some(CreditSpecificationRequest::builder().cpu_credits(credits).build())
        }))
        .set_instance_market_options(market)
        .set_placement(block(desired, "placement").map(placement))
        .set_capacity_reservation_specification(
            block(desired, "capacity_reservation_specification").map(reservation),
        )
        .set_cpu_options(block(desired, "cpu_options").map(processor))
        .set_enclave_options(block(desired, "enclave_options").map(|block| {
            LaunchTemplateEnclaveOptionsRequest::builder().set_enabled(truth(block, "enabled")).build()
        }))
        .set_maintenance_options(block(desired, "maintenance_options").map(|block| {
            LaunchTemplateInstanceMaintenanceOptionsRequest::builder()
                .set_auto_recovery(text(block, "auto_recovery").map(LaunchTemplateAutoRecoveryState::from))
                .build()
        }))
        .set_private_dns_name_options(block(desired, "private_dns_name_options").map(host_names))
        .build())
}

fn owned(attributes: &Value, name: &str) -> Option<String> {
    text(attributes, name).map(str::to_owned)
}

/// A yes or no, where it is said.
fn truth(attributes: &Value, name: &str) -> Option<bool> {
    attributes.get(name).and_then(Value::as_bool)
}

fn some_texts(attributes: &Value, name: &str) -> Option<Vec<String>> {
    Some(texts(attributes, name)).filter(|texts| !texts.is_empty())
}

fn each<T>(attributes: &Value, name: &str, form: impl Fn(&Value) -> T) -> Option<Vec<T>> {
    Some(blocks(attributes, name).iter().map(form).collect::<Vec<T>>()).filter(|items| !items.is_empty())
}

fn device(mapping: &Value) -> LaunchTemplateBlockDeviceMappingRequest {
    let disk = |volume: &Value| {
        LaunchTemplateEbsBlockDeviceRequest::builder()
            .set_volume_size(number32(volume, "volume_size"))
            .set_volume_type(text(volume, "volume_type").map(VolumeType::from))
            .set_iops(number32(volume, "iops"))
            .set_throughput(number32(volume, "throughput"))
            .set_encrypted(truth(volume, "encrypted"))
            .set_kms_key_id(owned(volume, "kms_key_id"))
            .set_snapshot_id(owned(volume, "snapshot_id"))
            .set_delete_on_termination(truth(volume, "delete_on_termination"))
            .build()
    };
    LaunchTemplateBlockDeviceMappingRequest::builder()
        .set_device_name(owned(mapping, "device_name"))
        .set_virtual_name(owned(mapping, "virtual_name"))
        .set_no_device(owned(mapping, "no_device"))
        .set_ebs(block(mapping, "ebs").map(disk))
        .build()
}

fn interface(interface: &Value) -> LaunchTemplateInstanceNetworkInterfaceSpecificationRequest {
    LaunchTemplateInstanceNetworkInterfaceSpecificationRequest::builder()
        .set_device_index(number32(interface, "device_index").or(Some(0)))
        .set_network_card_index(number32(interface, "network_card_index"))
        .set_interface_type(owned(interface, "interface_type"))
        .set_description(owned(interface, "description"))
        .set_associate_public_ip_address(truth(interface, "associate_public_ip_address"))
        .set_delete_on_termination(truth(interface, "delete_on_termination"))
        .set_ipv6_address_count(number32(interface, "ipv6_address_count").filter(|count| *count > 0))
        .set_ipv6_prefix_count(number32(interface, "ipv6_prefix_count"))
        .set_ipv4_prefix_count(number32(interface, "ipv4_prefix_count"))
        .set_primary_ipv6(truth(interface, "primary_ipv6"))
        .set_network_interface_id(owned(interface, "network_interface_id"))
        .set_private_ip_address(owned(interface, "private_ip_address"))
        .set_subnet_id(owned(interface, "subnet_id"))
        .set_groups(some_texts(interface, "security_groups"))
        .build()
}

fn tag_specification(block: &Value) -> LaunchTemplateTagSpecificationRequest {
    LaunchTemplateTagSpecificationRequest::builder()
        .set_resource_type(text(block, "resource_type").map(ResourceType::from))
        .set_tags(Some(ec2_tags(&wanted(block))))
        .build()
}

fn profile(block: &Value) -> LaunchTemplateIamInstanceProfileSpecificationRequest {
    LaunchTemplateIamInstanceProfileSpecificationRequest::builder()
        .set_name(owned(block, "name"))
        .set_arn(owned(block, "arn"))
        .build()
}

fn metadata(block: &Value) -> LaunchTemplateInstanceMetadataOptionsRequest {
    LaunchTemplateInstanceMetadataOptionsRequest::builder()
        .set_http_endpoint(
            text(block, "http_endpoint").map(LaunchTemplateInstanceMetadataEndpointState::from),
        )
        .set_http_tokens(text(block, "http_tokens").map(LaunchTemplateHttpTokensState::from))
        .set_http_put_response_hop_limit(number32(block, "http_put_response_hop_limit"))
        .set_http_protocol_ipv6(
            text(block, "http_protocol_ipv6").map(LaunchTemplateInstanceMetadataProtocolIpv6::from),
        )
        .set_instance_metadata_tags(
            text(block, "instance_metadata_tags").map(LaunchTemplateInstanceMetadataTagsState::from),
        )
        .build()
}

fn market(options: &Value) -> Result<LaunchTemplateInstanceMarketOptionsRequest, ProviderError> {
    let spot = block(options, "spot_options").map(|spot| {
        let until = text(spot, "valid_until").map(moment).transpose()?;
        Ok(LaunchTemplateSpotMarketOptionsRequest::builder()
            .set_max_price(owned(spot, "max_price"))
            .set_spot_instance_type(text(spot, "spot_instance_type").map(SpotInstanceType::from))
            .set_instance_interruption_behavior(
                text(spot, "instance_interruption_behavior").map(InstanceInterruptionBehavior::from),
            )
            .set_block_duration_minutes(number32(spot, "block_duration_minutes"))
            .set_valid_until(until)
            .build())
    });
    Ok(LaunchTemplateInstanceMarketOptionsRequest::builder()
        .set_market_type(text(options, "market_type").map(MarketType::from))
        .set_spot_options(spot.transpose()?)
        .build())
}

fn moment(text: &str) -> Result<DateTime, ProviderError> {
    DateTime::from_str(text, DateTimeFormat::DateTime).map_err(|_| {
        invalid(format!("valid_until: {text} is not a moment; write it as in 2030-01-31T00:00:00Z"))
    })
}

fn placement(block: &Value) -> LaunchTemplatePlacementRequest {
    LaunchTemplatePlacementRequest::builder()
        .set_availability_zone(owned(block, "availability_zone"))
        .set_tenancy(text(block, "tenancy").map(Tenancy::from))
        .set_group_name(owned(block, "group_name"))
        .set_partition_number(number32(block, "partition_number"))
        .set_affinity(owned(block, "affinity"))
        .set_host_id(owned(block, "host_id"))
        .set_host_resource_group_arn(owned(block, "host_resource_group_arn"))
        .build()
}

fn reservation(specification: &Value) -> LaunchTemplateCapacityReservationSpecificationRequest {
    let target = |target: &Value| {
        CapacityReservationTarget::builder()
            .set_capacity_reservation_id(owned(target, "capacity_reservation_id"))
            .set_capacity_reservation_resource_group_arn(owned(
                target,
                "capacity_reservation_resource_group_arn",
            ))
            .build()
    };
    LaunchTemplateCapacityReservationSpecificationRequest::builder()
        .set_capacity_reservation_preference(
            text(specification, "capacity_reservation_preference").map(CapacityReservationPreference::from),
        )
        .set_capacity_reservation_target(block(specification, "capacity_reservation_target").map(target))
        .build()
}

fn processor(block: &Value) -> LaunchTemplateCpuOptionsRequest {
    LaunchTemplateCpuOptionsRequest::builder()
        .set_core_count(number32(block, "core_count"))
        .set_threads_per_core(number32(block, "threads_per_core"))
        .set_amd_sev_snp(text(block, "amd_sev_snp").map(AmdSevSnpSpecification::from))
        .build()
}

fn host_names(block: &Value) -> LaunchTemplatePrivateDnsNameOptionsRequest {
    LaunchTemplatePrivateDnsNameOptionsRequest::builder()
        .set_hostname_type(text(block, "hostname_type").map(HostnameType::from))
        .set_enable_resource_name_dns_a_record(truth(block, "enable_resource_name_dns_a_record"))
        .set_enable_resource_name_dns_aaaa_record(truth(block, "enable_resource_name_dns_aaaa_record"))
        .build()
}
