//! The provider's configuration, from the cluster's spec.

use slipway_aws_model::settings::cluster_schema;
use slipway_resource::Value;
use slipway_resource::provider::Terms;
use slipway_resource::validate::misfits;

/// How a session reaches AWS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// The account that must answer, where the spec names one.
    pub account: Option<String>,
    /// The profile of the shared configuration files.
    pub profile: Option<String>,
    /// The role to take on for every call, by ARN.
    pub assume_role: Option<String>,
    /// What its trust policy asks for (`sts:ExternalId`).
    pub external_id: Option<String>,
    /// Where all services answer instead of AWS.
    pub endpoint: Option<String>,
    /// Whether the caller has named that, so that it may be anywhere.
    pub is_callers_endpoint: bool,
    /// Whether the whole cluster is deleted.
    pub leaving: bool,
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// Every problem, each as a sentence.
    pub fn from_value(value: &Value) -> Result<Self, Vec<String>> {
        if value.is_null() {
            return Ok(Self::default());
        }
        let problems: Vec<String> = misfits(&cluster_schema(), value)
            .into_iter()
            .map(|misfit| match &misfit.suggestion {
                Some(name) => format!("{misfit}; did you mean {name}?"),
                None => misfit.to_string(),
            })
            .collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        let config = Self {
            account: text(value, "account"),
            profile: text(value, "profile"),
            assume_role: text(value, "assumeRole"),
            external_id: text(value, "externalId"),
            endpoint: text(value, "endpoint"),
            is_callers_endpoint: false,
            leaving: value.get("leaving").and_then(Value::as_bool).unwrap_or_default(),
        };
        let problems = config.problems();
        if problems.is_empty() { Ok(config) } else { Err(problems) }
    }

    /// The same on the terms of a session.
    #[must_use]
    pub fn on(mut self, terms: &Terms) -> Self {
        self.is_callers_endpoint = terms.from_caller.contains("endpoint");
        self
    }

    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(account) = &self.account
            && !(account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit()))
        {
            problems.push(format!("account: {account} is not an account id of twelve digits"));
        }
        if let Some(endpoint) = &self.endpoint
            && !(endpoint.starts_with("http://") || endpoint.starts_with("https://"))
        {
            problems.push(format!("endpoint: {endpoint} is not an http or https URL"));
        }
        if let Some(role) = &self.assume_role
            && !(role.starts_with("arn:") && role.contains(":role/"))
        {
            problems.push(format!("assumeRole: {role} is not the ARN of a role"));
        }
        if let Some(id) = &self.external_id {
            if self.assume_role.is_none() {
                problems.push("externalId: it belongs to a role, and `assumeRole` is not set".to_owned());
            }
            // The form that STS takes.
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+=,.@:/-_".contains(&byte);
            if !(2..=1224).contains(&id.len()) || !id.bytes().all(is_letter) {
                let text = "externalId: it has 2 to 1224 letters, digits and characters of `+=,.@:/-_`";
                problems.push(text.to_owned());
            }
        }
        problems
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_is_told() {
        let value = Value::map([("account", "42"), ("endpoint", "localhost:5000")]);
        let problems = Config::from_value(&value).unwrap_err();
        assert_eq!(problems.len(), 2, "{problems:?}");
        let value = Value::map([("acount", "123456789012")]);
        let problems = Config::from_value(&value).unwrap_err();
        assert!(problems[0].contains("did you mean account"), "{problems:?}");
    }

    #[test]
    fn a_role_is_read() {
        let config =
            Config::from_value(&Value::map([("assumeRole", "arn:aws:iam::123456789012:role/x")])).unwrap();
        assert!(config.assume_role.is_some());
        assert!(Config::from_value(&Value::map([("assumeRole", "x")])).is_err());
        let role = ("assumeRole", "arn:aws:iam::123456789012:role/x");
        let config = Config::from_value(&Value::map([role, ("externalId", "a:b")])).unwrap();
        assert_eq!(config.external_id.as_deref(), Some("a:b"));
        for wrong in [[role, ("externalId", "a b")], [("account", "123456789012"), ("externalId", "a:b")]] {
            let problems = Config::from_value(&Value::map(wrong)).unwrap_err();
            assert!(problems.len() == 1 && problems[0].starts_with("externalId: "), "{problems:?}");
        }
        assert_eq!(Config::from_value(&Value::Null).unwrap(), Config::default());
    }
}
