//! Calls of the emulator's APIs, as tests need them.

use anyhow::{Result, bail};

use super::Lab;
use crate::http;

impl Lab {
    /// Calls an action of a service with a query API, such as `ec2` or `autoscaling`, and gives the XML of the answer.
    ///
    /// # Errors
    /// When the emulator refuses, with its answer.
    pub fn call(&self, service: &str, action: &str, parameters: &[(&str, &str)]) -> Result<String> {
        let version = match service {
            "ec2" => "2016-11-15",
            "autoscaling" => "2011-01-01",
            "elasticloadbalancing" => "2015-12-01",
            "iam" => "2010-05-08",
            "sts" => "2011-06-15",
            _ => bail!("{service} has no query API that is known here"),
        };
        let mut body = format!("Action={action}&Version={version}");
        for (name, value) in parameters {
            body += &format!("&{}={}", encoded(name), encoded(value));
        }
        let (authorization, form) = (authorization(service), "application/x-www-form-urlencoded");
        let headers = [("Authorization", authorization.as_str()), ("Content-Type", form)];
        let answer = http::request("POST", self.moto.port(), "/", &headers, body.as_bytes())?;
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        if answer.status != 200 {
            bail!("{action}: {}: {text}", answer.status);
        }
        Ok(text)
    }
}

/// The emulator finds the service in the scope of the signature, and does not check the signature itself.
fn authorization(service: &str) -> String {
    format!(
        "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0"
    )
}

fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let one = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

/// The texts of all elements of this name in an answer, in their order.
#[must_use]
pub fn values<'a>(xml: &'a str, name: &str) -> Vec<&'a str> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    xml.split(&open).skip(1).filter_map(|rest| Some(rest.split_once(&close)?.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_answers() {
        let xml = "<a><id>1</id><b><id>2</id></b><idle>3</idle></a>";
        assert_eq!(values(xml, "id"), ["1", "2"]);
        assert!(values(xml, "c").is_empty());
        assert_eq!(encoded("a b/ä"), "a%20b%2F%C3%A4");
    }
}
