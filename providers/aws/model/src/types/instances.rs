//! Launch templates, which describe new instances, and instances outside of auto-scaling groups.

use slipway_resource::{Attribute, Form, Type};

use super::builder::{
    BOOL, Builder, INTEGER, Named, TEXT, blocks, default, formed, may, may_compute, must, texts,
};
use super::rate::EC2;

pub(super) fn types() -> Vec<Named> {
    vec![launch_template(), instance()]
}

/// No spec asks for one: plans only delete them.
fn instance() -> Named {
    Builder::new(
        "aws_instance",
        EC2,
        "An instance that a roll took out of an auto-scaling group which does not exist any more.",
    )
    .arn()
    .tags()
    .computed("availability_zone", TEXT, "The zone it is in.")
    .computed("instance_type", TEXT, "Its type.")
    .optional_fixed("subnet_id", TEXT, "Its subnet.")
    .optional("vpc_security_group_ids", texts(), "Its security groups.")
    .takes(90_000, 1_000, 60_000)
    .build()
}

fn launch_template() -> Named {
    let builder = Builder::new(
        "aws_launch_template",
        EC2,
        "Template of the new instances of a pool; each change is a new version.",
    )
    .arn()
    .tags()
    .idempotent()
    .fixed("name", TEXT, "Its name, once in a region.")
    .optional("description", TEXT, "Description of the version.")
    .computed("latest_version", INTEGER, "The number of the newest version.")
    .computed("default_version", INTEGER, "The number of the version that is used when none is named.")
    .attribute("image_id", Attribute::optional(TEXT).kept_on_adoption(), "The image.")
    .optional("instance_type", TEXT, "The instance type.")
    .optional("key_name", TEXT, "The SSH key pair.")
    .attribute(
        "user_data",
        Attribute::optional(TEXT).kept_on_adoption(),
        "User data in base64; at most 16 kB before encoding.",
    )
    .optional_computed(
        "kubernetes_version",
        TEXT,
        "The version of Kubernetes that machines boot with, as the user data of Slipway says.",
    )
    .optional_computed(
        "etcd_data",
        TEXT,
        "Where etcd of the machines keeps its data, as the user data says: boot-disk, boot-disk-of-image (if the image makes them \
         control planes), or elsewhere.",
    )
    .optional("ebs_optimized", BOOL, "Whether the disks have bandwidth of their own.")
    .optional("disable_api_termination", BOOL, "Whether the API refuses to terminate instances.")
    .optional("disable_api_stop", BOOL, "Whether the API refuses to stop instances.")
    .optional(
        "instance_initiated_shutdown_behavior",
        TEXT,
        "Action when the instance shuts down: stop or terminate.",
    )
    .optional("vpc_security_group_ids", texts(), "Security groups, where network_interfaces names none.");
    placing(devices(builder))
        .forms(&["user_data"], &[Form::Base64, Form::Kept])
        .exclusive(["name"])
        .takes(1_500, 1_500, 1_000)
        .build()
}

fn devices(builder: Builder) -> Builder {
    let ebs = blocks([
        may("volume_size", INTEGER, "The size in GiB."),
        formed(may("volume_type", TEXT, "gp3, gp2, io1, io2, st1, sc1 or standard."), [Form::Case]),
        may("iops", INTEGER, "Operations a second that it allows."),
        may("throughput", INTEGER, "MiB a second that it allows."),
        may("encrypted", BOOL, "Whether it is encrypted."),
        may("kms_key_id", TEXT, "The key it is encrypted with."),
        may("snapshot_id", TEXT, "The snapshot whose data it begins with."),
        may("delete_on_termination", BOOL, "Whether it is deleted with the instance."),
    ]);
    let mappings = blocks([
        must("device_name", TEXT, "The device's name."),
        may("virtual_name", TEXT, "The instance store behind it, as ephemeral0."),
        may("no_device", TEXT, "Leaves a device of the image out."),
        may("ebs", ebs, "The volume behind it."),
    ]);
    let interfaces = blocks([
        may("device_index", INTEGER, "The position; 0 is the first."),
        may("network_card_index", INTEGER, "The network card."),
        may("interface_type", TEXT, "interface or efa."),
        may("description", TEXT, "Free text that describes the object."),
        may("associate_public_ip_address", BOOL, "Whether it has a public IPv4 address."),
        may("delete_on_termination", BOOL, "Whether it is deleted with the instance."),
        default("ipv6_address_count", INTEGER, 0i64, "How many IPv6 addresses it has."),
        may("ipv6_prefix_count", INTEGER, "How many IPv6 prefixes it has."),
        may("ipv4_prefix_count", INTEGER, "How many IPv4 prefixes it has."),
        may("primary_ipv6", BOOL, "Whether its first IPv6 address never changes."),
        may("network_interface_id", TEXT, "The interface that exists already."),
        may("private_ip_address", TEXT, "Its address."),
        may("subnet_id", TEXT, "The subnet, where the pool does not say it."),
        may("security_groups", texts(), "Its security groups."),
    ]);
    let specifications = blocks([
        must("resource_type", TEXT, "instance, volume, network-interface or spot-instances-request."),
        may("tags", Type::map(TEXT), "The tags."),
    ]);
    builder
        .optional("block_device_mappings", mappings, "The disks.")
        .optional("network_interfaces", interfaces, "The network interfaces.")
        .optional("tag_specifications", specifications, "Tags of what is made with an instance.")
}

fn placing(builder: Builder) -> Builder {
    let metadata = blocks([
        default("http_endpoint", TEXT, "enabled", "enabled or disabled."),
        may_compute("http_tokens", TEXT, "Whether a token is needed: required or optional."),
        may_compute("http_put_response_hop_limit", INTEGER, "How many hops an answer with a token survives."),
        may_compute("http_protocol_ipv6", TEXT, "Whether it can be reached by IPv6: enabled or disabled."),
        may_compute(
            "instance_metadata_tags",
            TEXT,
            "Whether it shows the instance's tags: enabled or disabled.",
        ),
    ]);
    let spot = blocks([
        may("max_price", TEXT, "The price an hour beyond which the instance goes, in US dollars."),
        may("spot_instance_type", TEXT, "one-time or persistent."),
        may("instance_interruption_behavior", TEXT, "hibernate, stop or terminate."),
        may("block_duration_minutes", INTEGER, "For how long the instance stays for sure, in minutes."),
        may("valid_until", TEXT, "Until when the request holds."),
    ]);
    let market = blocks([
        may("market_type", TEXT, "spot."),
        may("spot_options", spot, "How spot instances are asked for."),
    ]);
    let placement = blocks([
        may("availability_zone", TEXT, "The zone."),
        may("tenancy", TEXT, "default, dedicated or host."),
        may("group_name", TEXT, "The placement group."),
        may("partition_number", INTEGER, "The partition of the placement group."),
        may("affinity", TEXT, "Whether a restart keeps the dedicated host."),
        may("host_id", TEXT, "The dedicated host."),
        may("host_resource_group_arn", TEXT, "The group of dedicated hosts."),
    ]);
    let reservation_target = blocks([
        may("capacity_reservation_id", TEXT, "The reservation."),
        may("capacity_reservation_resource_group_arn", TEXT, "The group of reservations."),
    ]);
    let reservation = blocks([
        may("capacity_reservation_preference", TEXT, "open or none."),
        may("capacity_reservation_target", reservation_target, "The reservation that is used."),
    ]);
    let processor = blocks([
        may("core_count", INTEGER, "How many cores."),
        may("threads_per_core", INTEGER, "How many threads a core has."),
        may("amd_sev_snp", TEXT, "Whether memory is encrypted: enabled or disabled."),
    ]);
    let host_names = blocks([
        may("hostname_type", TEXT, "ip-name or resource-name."),
        may("enable_resource_name_dns_a_record", BOOL, "Whether the name resolves to IPv4 addresses."),
        may("enable_resource_name_dns_aaaa_record", BOOL, "Whether the name resolves to IPv6 addresses."),
    ]);
    let one = |name: &'static str, kind: Type, text: &str| blocks([may(name, kind, text)]);
    let profile = blocks([
        may("name", TEXT, "The profile's name."),
        may("arn", TEXT, "The profile's ARN, in place of its name."),
    ]);
    builder
        .optional("iam_instance_profile", profile, "The instance profile.")
        .attribute(
            "monitoring",
            Attribute::optional(one("enabled", BOOL, "Whether there is a point a minute.")),
            "Detailed monitoring.",
        )
        .optional("metadata_options", metadata, "The instance metadata service.")
        .optional(
            "credit_specification",
            one("cpu_credits", TEXT, "standard or unlimited."),
            "CPU credits of burstable types.",
        )
        .optional("instance_market_options", market, "Whether instances are bought on the spot market.")
        .optional("placement", placement, "Where instances are placed.")
        .optional("capacity_reservation_specification", reservation, "Capacity reservations that are used.")
        .optional("cpu_options", processor, "Options of the processors.")
        .optional(
            "enclave_options",
            one("enabled", BOOL, "Whether there may be enclaves."),
            "Nitro enclaves.",
        )
        .optional(
            "maintenance_options",
            one("auto_recovery", TEXT, "default or disabled."),
            "Action when the host fails.",
        )
        .optional("private_dns_name_options", host_names, "Options of the host names of instances.")
}
