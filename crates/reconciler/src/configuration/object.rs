//! A `Source` object in Kubernetes as the place of a source. The object says where the specs are; everything that gives rights
//! stays in the configuration.

use std::path::PathBuf;

use serde::Deserialize;
use slipway_resource::pattern::matches;

use super::check::check_git;
use super::flux::is_label;
use super::oci::OciSettings;
use super::source::{Git, Signatures, usual_timeout};
use crate::objects::SourceSpec;

/// A `Source` object, and what it may name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ObjectSettings {
    /// The namespace of the object.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The URLs that it may name: patterns, in which `*` matches any characters.
    pub urls: Vec<String>,
    /// The name of the user of the token.
    pub username: Option<String>,
    /// The file with a token or a password, for every URL of `urls` with `https://` or `oci://`.
    pub token_file: Option<PathBuf>,
    /// For `https://`: the authorities to trust (PEM) instead of those of the system.
    pub ca_file: Option<PathBuf>,
    /// The signatures that commits need.
    pub signatures: Option<Signatures>,
    /// The kubeconfig of the table `[kubernetes]`.
    #[serde(skip)]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// Where the specs are, by an object.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    Git(Git),
    Oci(OciSettings),
}

impl ObjectSettings {
    /// The kind, namespace and name, for people.
    #[must_use]
    pub fn title(&self) -> String {
        format!("Source {}/{}", self.namespace, self.name)
    }

    /// Why the table cannot be used; `None` if it can.
    pub(super) fn problem(&self) -> Option<String> {
        if self.namespace.len() > 63 || !is_label(&self.namespace) {
            return Some("`object.namespace` is not the name of a namespace".to_owned());
        }
        if self.name.len() > 253 || !self.name.split('.').all(is_label) {
            return Some("`object.name` is not the name of an object".to_owned());
        }
        if self.urls.is_empty() {
            return Some("`object.urls` names at least one URL".to_owned());
        }
        if self.username.is_some() && self.token_file.is_none() {
            return Some("`object.username` needs `token-file`".to_owned());
        }
        // A pattern for hosts would match hosts of others, which would get the token.
        let has_host = |url: &String| {
            let rest = url.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
            rest.is_some_and(|(host, _)| !host.contains(['*', '?']))
        };
        let other = self.urls.iter().find(|url| !has_host(url))?;
        Some(format!("`object.urls` names whole hosts, as https://git.example.com/*, not `{other}`"))
    }

    /// Where the specs are by an object, by the checks of `[source.git]` and `[source.oci]`.
    ///
    /// # Errors
    /// Why the object may not name that, in a sentence.
    pub(crate) fn locate(&self, spec: &SourceSpec) -> Result<Location, String> {
        match (&spec.git, &spec.oci) {
            (Some(git), None) => {
                self.check_url(&git.url)?;
                let has_token = git.url.starts_with("https://");
                let located = Git {
                    url: git.url.clone(),
                    branch: git.branch.clone(),
                    tag: git.tag.clone(),
                    commit: git.commit.clone(),
                    username: self.username.clone().filter(|_| has_token),
                    token_file: self.token_file.clone().filter(|_| has_token),
                    ca_file: self.ca_file.clone().filter(|_| has_token),
                    identity_file: None,
                    known_hosts: None,
                    signatures: self.signatures.clone(),
                    timeout: usual_timeout(),
                };
                check_git(&located)?;
                Ok(Location::Git(located))
            }
            (None, Some(_)) if self.signatures.is_some() => {
                Err("`signatures` of the source are those of commits, and artifacts have none".to_owned())
            }
            (None, Some(oci)) => {
                self.check_url(&oci.url)?;
                let has_token = self.username.is_some();
                let located = OciSettings {
                    url: oci.url.clone(),
                    tag: oci.tag.clone(),
                    digest: oci.digest.clone(),
                    username: self.username.clone(),
                    token_file: self.token_file.clone().filter(|_| has_token),
                    token_hosts: Vec::new(),
                    insecure_http: false,
                };
                located.problem().map_or(Ok(Location::Oci(located)), Err)
            }
            _ => Err("it has one of `git` and `oci`".to_owned()),
        }
    }

    /// Refuses a URL that no pattern matches. Parts of a path such as `..` are refused too: a client would leave the allowed path.
    fn check_url(&self, url: &str) -> Result<(), String> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/:[]".contains(&byte);
        let is_plain = url.bytes().all(allowed) && !url.split('/').any(|part| matches!(part, "." | ".."));
        if is_plain && self.urls.iter().any(|pattern| matches(pattern, url)) {
            return Ok(());
        }
        Err(format!("`urls` of the source in the configuration of the controller does not allow `{url}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{GitLocation, OciLocation};

    fn settings() -> ObjectSettings {
        let text = "namespace = 'team'\nname = 'fleet'\nurls = ['https://git.example.com/team/*', 'oci://r.example.com/team/*']\n\
            username = 'slipway'\ntoken-file = 'token'\n";
        toml::from_str(text).unwrap()
    }

    fn git(url: &str) -> SourceSpec {
        let location = GitLocation { url: url.to_owned(), ..GitLocation::default() };
        SourceSpec { git: Some(location), ..SourceSpec::default() }
    }

    #[test]
    fn an_object_names_only_what_the_operator_allows() {
        let settings = settings();
        assert_eq!(settings.problem(), None);
        let Ok(Location::Git(located)) = settings.locate(&git("https://git.example.com/team/a.git")) else {
            panic!("it is allowed")
        };
        assert_eq!(located.username.as_deref(), Some("slipway"));
        for url in [
            "https://git.example.com/other/a.git",
            "https://git.example.com/team/../other/a.git",
            "https://git.example.com/team/%2e%2e/other/a.git",
            "https://git.example.com.evil.example/team/a.git",
            "https://me@git.example.com/team/a.git",
            "http://git.example.com/team/a.git",
            "file:///etc",
            "",
        ] {
            let refused = settings.locate(&git(url)).unwrap_err();
            assert!(refused.contains("does not allow"), "{url}: {refused}");
        }
        let mut two = git("https://git.example.com/team/a.git");
        two.git.as_mut().unwrap().branch = Some("--upload-pack=id".to_owned());
        assert!(settings.locate(&two).is_err(), "the checks of the configuration hold");
        let url = "oci://r.example.com/team/a".to_owned();
        two.oci = Some(OciLocation { url, ..OciLocation::default() });
        assert!(settings.locate(&two).is_err());
        two.git = None;
        assert!(matches!(settings.locate(&two), Ok(Location::Oci(_))));
    }

    #[test]
    fn patterns_name_whole_hosts() {
        for bad in ["*", "https://*", "https://*/team/*", "https://git.example.com*", "git.example.com/*"] {
            let settings = ObjectSettings { urls: vec![bad.to_owned()], ..settings() };
            assert!(settings.problem().is_some_and(|problem| problem.contains("whole hosts")), "{bad}");
        }
    }
}
