use slipway_spec::{
    diagnostic::code,
    model::{Architecture, MixedInstances, Spot, UserData, UserDataType},
};

use crate::{convert::Context, field::Field, outcome::Outcome};

/// The architecture, from the image's name or the kind of machine: on AWS, families whose number a `g` follows (m6g,
/// c7gn, im4gn) and `a1` are ARM.
pub(super) fn architecture(
    context: &Context<'_>,
    machine: Option<&str>,
    image: Option<&str>,
) -> Architecture {
    let named = image.is_some_and(|image| image.contains("arm64") || image.contains("aarch64"));
    let family = machine.and_then(|machine| machine.split('.').next()).unwrap_or_default();
    let behind_number = family.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let behind_number = behind_number.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let arm = family == "a1" || behind_number.starts_with('g');
    if named || (context.is_aws() && arm) { Architecture::Arm64 } else { Architecture::Amd64 }
}

/// Several machine types. The provider reads a policy that only has requirements; the model then has the
/// group's machine type.
pub(super) fn mixed(
    spec: &Field<'_>,
    machine_type: Option<&str>,
    outcome: &mut Outcome,
) -> Option<MixedInstances> {
    let field = spec.at("mixedInstancesPolicy");
    let mut machine_types = field.at("instances").texts();
    if !field.is_given() {
        return None;
    }
    if machine_types.is_empty() {
        machine_types.extend(machine_type.map(str::to_owned));
    }
    let above = field.at("onDemandAboveBase");
    let percentage: Option<u8> = above.number();
    if above.is_given() && percentage.is_none_or(|percentage| percentage > 100) {
        let diagnostic = above
            .error(code::OUT_OF_RANGE, format!("{} is {}", above.path(), above.text().unwrap_or_default()))
            .hint("write how many percent of the machines above the base are on demand, 0 to 100");
        outcome.say(diagnostic);
    }
    Some(MixedInstances {
        machine_types,
        on_demand_base: field.at("onDemandBase").number().unwrap_or(0),
        on_demand_percentage_above_base: percentage.unwrap_or(100).min(100),
        spot_pools: field.at("spotInstancePools").number(),
        spot_allocation_strategy: field.at("spotAllocationStrategy").filled(),
    })
}

/// Spot machines: a highest price asks for them.
pub(super) fn spot(spec: &Field<'_>) -> Option<Spot> {
    spec.at("maxPrice").filled().map(|price| Spot { max_price: Some(price) })
}

/// Additional user data of the first boot.
pub(super) fn user_data(spec: &Field<'_>, outcome: &mut Outcome) -> Vec<UserData> {
    spec.at("additionalUserData")
        .items()
        .iter()
        .enumerate()
        .filter_map(|(index, item)| {
            let field = item.at("type");
            let Some(kind) = field.filled().as_deref().and_then(user_data_type) else {
                let message = match field.filled() {
                    Some(other) => format!("{} is {other:?}", field.path()),
                    None => format!("{} is missing", field.path()),
                };
                let hint = "write a type of cloud-init, as text/x-shellscript or text/cloud-config";
                outcome.say(field.error(code::UNKNOWN_VALUE, message).hint(hint));
                return None;
            };
            Some(UserData {
                name: item.at("name").filled().unwrap_or_else(|| format!("part-{index}")),
                kind,
                content: item.at("content").text().unwrap_or_default(),
            })
        })
        .collect()
}

/// A type by the name that cloud-init has for it.
fn user_data_type(name: &str) -> Option<UserDataType> {
    Some(match name {
        "text/x-shellscript" => UserDataType::ShellScript,
        "text/cloud-config" => UserDataType::CloudConfig,
        "text/cloud-boothook" => UserDataType::CloudBoothook,
        "text/cloud-config-archive" => UserDataType::CloudConfigArchive,
        "text/x-include-url" => UserDataType::IncludeUrl,
        "text/x-include-once-url" => UserDataType::IncludeOnceUrl,
        "text/jinja2" => UserDataType::Jinja,
        "text/part-handler" => UserDataType::PartHandler,
        _ => return None,
    })
}
