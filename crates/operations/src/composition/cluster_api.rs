//! The setting `clusterApi`: the API of a cluster that Slipway did not make.
//!
//! The core understands it for every provider whose configuration has it. The nodes behind this API are joined to the machines of
//! rolls, and their gates run there. Nothing else of the cluster is read or changed.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value as Json;
use slipway_provider_kubernetes::TokenAccess;
use slipway_resource::Schema;

/// The name of the setting.
const SETTING: &str = "clusterApi";

/// The way to the API that a provider's configuration names; `None` without one, and for one that does not fit the schema.
/// `from_caller` are the settings that the caller vouches for: such a server may be anywhere, and others not at reserved
/// addresses outside of `networks`.
pub(crate) fn cluster_api(
    schema: &Schema,
    config: &Json,
    (from_caller, networks): (&BTreeSet<String>, &[String]),
) -> Option<TokenAccess> {
    let value = config.get(SETTING).filter(|_| schema.config.contains_key(SETTING))?;
    let text = |name: &str| value.get(name).and_then(Json::as_str).map(str::to_owned);
    let is_callers =
        from_caller.contains(SETTING) || from_caller.contains(format!("{SETTING}.endpoint").as_str());
    Some(TokenAccess {
        setting: format!("provider.config.{SETTING}"),
        endpoint: text("endpoint")?,
        ca_file: text("caFile").map(PathBuf::from),
        token_file: text("tokenFile").map(PathBuf::from),
        networks: (!is_callers).then(|| networks.to_vec()),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;
    use slipway_resource::{Attribute, Type};

    use super::*;

    #[test]
    fn a_provider_has_it_by_its_schema() {
        let with = Schema {
            config: BTreeMap::from([(SETTING.to_owned(), Attribute::optional(Type::Any))]),
            types: BTreeMap::new(),
        };
        let without = Schema { config: BTreeMap::new(), types: BTreeMap::new() };
        let config = json!({SETTING: {"endpoint": "https://api.a.example.com", "tokenFile": "/run/token"}});
        let nobody = BTreeSet::new();
        let networks = ["10.0.0.0/8".to_owned()];
        let named =
            |schema: &Schema, caller: &BTreeSet<String>| cluster_api(schema, &config, (caller, &networks));
        assert_eq!(named(&without, &nobody), None);
        let found = named(&with, &nobody).unwrap();
        assert_eq!(found.endpoint, "https://api.a.example.com");
        assert_eq!((found.ca_file, found.token_file), (None, Some(PathBuf::from("/run/token"))));
        assert_eq!(found.networks.as_deref(), Some(&networks[..]));
        for own in [SETTING, "clusterApi.endpoint"] {
            let caller = BTreeSet::from([own.to_owned()]);
            assert_eq!(named(&with, &caller).unwrap().networks, None, "{own}");
        }
        assert_eq!(cluster_api(&with, &json!({SETTING: {}}), (&nobody, &[])), None);
        assert_eq!(cluster_api(&with, &Json::Null, (&nobody, &[])), None);
    }
}
