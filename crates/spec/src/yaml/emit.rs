use serde::Serialize;

/// The value as a YAML document, without a leading `---`, ending in a line break.
///
/// # Errors
/// The value has a part that YAML cannot express, such as a mapping whose keys are no scalars.
pub fn to_string<T: Serialize>(value: &T) -> Result<String, serde_yaml::Error> {
    serde_yaml::to_string(value)
}
