//! Policies that a spec gives as text.

use serde_json::Value;

/// A policy of the spec that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GivenError {
    /// The text is not JSON.
    #[error("the policy is not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// The text is JSON, and no list of statements.
    #[error("the policy is not a list of statements")]
    NoStatements,
    /// A statement lacks a field.
    #[error("statement {index} of the policy has no {field}")]
    Incomplete {
        /// Which one, counted from 1.
        index: usize,
        /// The missing field.
        field: &'static str,
    },
}

/// A document of statements that are given as JSON text: a list of them, one, or a whole document. The
/// statements are kept unchanged, with sorted keys.
pub(crate) fn given(text: &str) -> Result<String, GivenError> {
    let statements = match serde_json::from_str(text)? {
        Value::Array(statements) => statements,
        Value::Object(mut fields) => match fields.remove("Statement") {
            Some(Value::Array(statements)) => statements,
            Some(statement @ Value::Object(_)) => vec![statement],
            Some(_) => return Err(GivenError::NoStatements),
            None => vec![Value::Object(fields)],
        },
        _ => return Err(GivenError::NoStatements),
    };
    for (index, statement) in statements.iter().enumerate() {
        let Value::Object(fields) = statement else { return Err(GivenError::NoStatements) };
        for (field, other) in [("Effect", "Effect"), ("Action", "NotAction"), ("Resource", "NotResource")] {
            if !fields.contains_key(field) && !fields.contains_key(other) {
                return Err(GivenError::Incomplete { index: index + 1, field });
            }
        }
    }
    if statements.is_empty() {
        return Err(GivenError::NoStatements);
    }
    let document = serde_json::json!({ "Version": "2012-10-17", "Statement": statements });
    Ok(serde_json::to_string_pretty(&document)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lists_single_statements_and_documents() {
        let statement = r#"{"Effect":"Allow","Action":"s3:ListBucket","Resource":"*"}"#;
        let list = given(&format!("[{statement}]")).unwrap();
        assert_eq!(given(statement).unwrap(), list);
        assert_eq!(given(&format!(r#"{{"Version":"2012-10-17","Statement":{statement}}}"#)).unwrap(), list);
    }

    #[test]
    fn says_what_is_missing() {
        let error = given(r#"[{"Effect":"Allow","Action":"s3:*"}]"#).unwrap_err();
        assert_eq!(error.to_string(), "statement 1 of the policy has no Resource");
        assert!(matches!(given("7"), Err(GivenError::NoStatements)));
        assert!(matches!(given("[]"), Err(GivenError::NoStatements)));
        assert!(matches!(given("{"), Err(GivenError::NotJson(_))));
    }
}
