//! Requirements of instance types, in the form of Auto Scaling and in that of attributes.

use aws_sdk_autoscaling::types as sdk;
use slipway_resource::Value;

use crate::kind::attribute::{block, number32, text, texts};

/// The requirements of a block.
pub(super) fn request(requirements: &Value) -> sdk::InstanceRequirements {
    let limits = |name: &str| {
        let block = block(requirements, name)?;
        Some((number32(block, "min"), number32(block, "max")))
    };
    let decimals = |name: &str| {
        let block = block(requirements, name)?;
        let number = |name: &str| match block.get(name) {
            Some(Value::Float(number)) => Some(*number),
            #[expect(clippy::cast_precision_loss, reason = "GiB for a processor are few")]
            Some(Value::Integer(number)) => Some(*number as f64),
            _ => None,
        };
        Some((number("min"), number("max")))
    };
    let words = |name: &str| Some(texts(requirements, name)).filter(|words| !words.is_empty());
    sdk::InstanceRequirements::builder()
        .set_v_cpu_count(
            limits("vcpu_count").map(|(min, max)| {
                sdk::VCpuCountRequest::builder().min(min.unwrap_or(0)).set_max(max).build()
            }),
        )
        .set_memory_mib(
            limits("memory_mib").map(|(min, max)| {
                sdk::MemoryMiBRequest::builder().min(min.unwrap_or(0)).set_max(max).build()
            }),
        )
        .set_accelerator_count(
            limits("accelerator_count")
                .map(|(min, max)| sdk::AcceleratorCountRequest::builder().set_min(min).set_max(max).build()),
        )
        .set_network_interface_count(
            limits("network_interface_count").map(|(min, max)| {
                sdk::NetworkInterfaceCountRequest::builder().set_min(min).set_max(max).build()
            }),
        )
        .set_memory_gib_per_v_cpu(
            decimals("memory_gib_per_vcpu")
                .map(|(min, max)| sdk::MemoryGiBPerVCpuRequest::builder().set_min(min).set_max(max).build()),
        )
        .set_allowed_instance_types(words("allowed_instance_types"))
        .set_excluded_instance_types(words("excluded_instance_types"))
        .set_instance_generations(each(words("instance_generations")))
        .set_cpu_manufacturers(each(words("cpu_manufacturers")))
        .set_accelerator_types(each(words("accelerator_types")))
        .set_accelerator_manufacturers(each(words("accelerator_manufacturers")))
        .set_bare_metal(text(requirements, "bare_metal").map(sdk::BareMetal::from))
        .set_burstable_performance(
            text(requirements, "burstable_performance").map(sdk::BurstablePerformance::from),
        )
        .set_local_storage(text(requirements, "local_storage").map(sdk::LocalStorage::from))
        .set_require_hibernate_support(requirements.get("require_hibernate_support").and_then(Value::as_bool))
        .build()
}

fn each<T: for<'a> From<&'a str>>(words: Option<Vec<String>>) -> Option<Vec<T>> {
    words.map(|words| words.iter().map(|word| T::from(word.as_str())).collect())
}

/// The block of requirements.
pub(super) fn response(requirements: &sdk::InstanceRequirements) -> Value {
    let limits = |min: Option<i32>, max: Option<i32>| {
        let (min, max) = (min.map(i64::from), max.map(i64::from));
        Value::List(vec![Value::map([("min", Value::from(min)), ("max", Value::from(max))])])
    };
    let words = |words: Vec<&str>| Value::list(words);
    let cpus = requirements.v_cpu_count().map(|count| limits(count.min(), count.max()));
    let memory = requirements.memory_mib().map(|memory| limits(memory.min(), memory.max()));
    let accelerators = requirements.accelerator_count().map(|count| limits(count.min(), count.max()));
    let interfaces = requirements.network_interface_count().map(|count| limits(count.min(), count.max()));
    let per_cpu = requirements.memory_gib_per_v_cpu().map(|memory| {
        Value::List(vec![Value::map([
            ("min", Value::from(memory.min())),
            ("max", Value::from(memory.max())),
        ])])
    });
    let allowed = requirements.allowed_instance_types().iter().map(String::as_str);
    let excluded = requirements.excluded_instance_types().iter().map(String::as_str);
    let generations = requirements.instance_generations().iter().map(sdk::InstanceGeneration::as_str);
    let processors = requirements.cpu_manufacturers().iter().map(sdk::CpuManufacturer::as_str);
    let kinds = requirements.accelerator_types().iter().map(sdk::AcceleratorType::as_str);
    let makers = requirements.accelerator_manufacturers().iter().map(sdk::AcceleratorManufacturer::as_str);
    Value::map([
        ("vcpu_count", Value::from(cpus)),
        ("memory_mib", memory.into()),
        ("accelerator_count", accelerators.into()),
        ("network_interface_count", interfaces.into()),
        ("memory_gib_per_vcpu", per_cpu.into()),
        ("allowed_instance_types", words(allowed.collect())),
        ("excluded_instance_types", words(excluded.collect())),
        ("instance_generations", words(generations.collect())),
        ("cpu_manufacturers", words(processors.collect())),
        ("accelerator_types", words(kinds.collect())),
        ("accelerator_manufacturers", words(makers.collect())),
        ("bare_metal", requirements.bare_metal().map(sdk::BareMetal::as_str).into()),
        (
            "burstable_performance",
            requirements.burstable_performance().map(sdk::BurstablePerformance::as_str).into(),
        ),
        ("local_storage", requirements.local_storage().map(sdk::LocalStorage::as_str).into()),
        ("require_hibernate_support", requirements.require_hibernate_support().into()),
    ])
}
