//! Checks of the configuration that its types cannot make.

use std::collections::BTreeSet;
use std::time::Duration;

use slipway_limits::count;

use super::kubernetes::KubernetesSettings;
use super::source::{Apply, Git, Reference, Signed, Source};
use super::{Configuration, Schedule};
use crate::error::Error;

/// The shortest time between two looks at the state store.
const SHORTEST_POLL: Duration = Duration::from_millis(100);

impl Configuration {
    /// Refuses values that cannot be used, and settings that contradict each other.
    pub(super) fn check(&self) -> Result<(), Error> {
        let whole = |reason: &str| refused("the configuration".to_owned(), reason);
        if !is_name(&self.name) {
            return whole("`name` has letters, digits, `-` and `_` only");
        }
        if self.poll < SHORTEST_POLL || self.poll > Duration::from_secs(60) {
            return whole("`poll` is at least 100ms and at most 1m");
        }
        if self.retry.first.is_zero() || self.retry.longest < self.retry.first {
            return whole("`retry.first` is more than 0, and `retry.longest` is not shorter");
        }
        if self.workers == 0 {
            return whole("`workers` is at least 1");
        }
        if self.sources.is_empty() || self.sources.len() > count::SOURCES {
            return whole(&format!("there are 1 to {} sources", count::SOURCES));
        }
        if let Some(reason) = self.kubernetes.as_ref().and_then(KubernetesSettings::problem) {
            return refused("kubernetes".to_owned(), reason);
        }
        let mut names = BTreeSet::new();
        for source in &self.sources {
            if !names.insert(&source.name) {
                return refused(format!("source {}", source.name), "there are two of this name");
            }
            check_source(source)?;
            if source.object.is_some() && self.kubernetes.is_none() {
                return refused_with(
                    format!("source {}", source.name),
                    "`object` needs the table `[kubernetes]`",
                    "add `[kubernetes]` ahead of the first `[[source]]`",
                );
            }
        }
        self.check_reviews()?;
        self.check_notifications()?;
        self.check_webhooks()?;
        self.check_order()
    }

    /// Refuses two sources that review the same pull requests: each would take the comments of the other back.
    fn check_reviews(&self) -> Result<(), Error> {
        let mut reviewed = BTreeSet::new();
        for source in &self.sources {
            let (Some(reviews), Some(git)) = (&source.pull_requests, &source.git) else { continue };
            let Reference::Branch(branch) = git.reference() else { continue };
            let Ok(address) = reviews.address() else { continue };
            if !reviewed.insert((address.to_string(), reviews.repository.to_lowercase(), branch)) {
                return refused_with(
                    format!("source {}", source.name),
                    "`pull-requests` are those of another source, which reviews them already",
                    "let one source read all `paths` of the branch, or review the pull requests of one of them only",
                );
            }
        }
        Ok(())
    }

    fn check_notifications(&self) -> Result<(), Error> {
        let mut names = BTreeSet::new();
        for receiver in &self.notifications {
            let place = || format!("notification {}", receiver.name);
            if !is_name(&receiver.name) {
                return refused(place(), "its name has letters, digits, `-` and `_` only");
            }
            if !names.insert(&receiver.name) {
                return refused(place(), "there are two of this name");
            }
            if let Some(reason) = receiver.problem() {
                return refused(place(), reason);
            }
        }
        Ok(())
    }

    /// Refuses a webhook of a source without an endpoint, an endpoint without such a source, and an endpoint at the address of
    /// health and metrics.
    fn check_webhooks(&self) -> Result<(), Error> {
        let user = self.sources.iter().find(|source| source.webhook.is_some());
        let place = || "webhooks".to_owned();
        match (self.webhooks, user) {
            (None, Some(source)) => refused_with(
                format!("source {}", source.name),
                "`webhook` needs the table `[webhooks]` with the address where webhooks are received",
                "add `[webhooks]` with `listen = \"127.0.0.1:9465\"` ahead of the first `[[source]]`",
            ),
            (Some(_), None) => refused_with(
                place(),
                "no source has a `webhook`",
                "add `webhook = { kind = \"github\", secret-file = \"webhook-secret\" }` to a source, or remove the table",
            ),
            (Some(webhooks), Some(_)) if webhooks.listen == self.listen && webhooks.listen.port() != 0 => {
                refused_with(
                    place(),
                    &format!("`listen` is {}, the address of health and metrics", webhooks.listen),
                    "use another port, so that health and metrics are not reachable together with webhooks",
                )
            }
            _ => Ok(()),
        }
    }
}

fn refused<T>(place: String, reason: impl Into<String>) -> Result<T, Error> {
    Err(Error::Configuration { place, reason: reason.into(), hint: None })
}

fn refused_with<T>(place: String, reason: &str, hint: &'static str) -> Result<T, Error> {
    Err(Error::Configuration { place, reason: reason.to_owned(), hint: Some(hint) })
}

/// A name that can be a part of a key and of a path.
fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=100).contains(&name.len()) && name.bytes().all(allowed)
}

fn check_source(source: &Source) -> Result<(), Error> {
    let place = || format!("source {}", source.name);
    if !is_name(&source.name) {
        return refused(place(), "its name has letters, digits, `-` and `_` only");
    }
    if source.interval.is_zero() {
        return refused(place(), "`interval` is more than 0");
    }
    if source.plan_timeout.is_some_and(|limit| limit.is_zero()) {
        return refused(place(), "`plan-timeout` is more than 0");
    }
    let places = (&source.folder, &source.git, &source.bucket, &source.oci, &source.flux, &source.object);
    let problem = match places {
        (Some(_), None, None, None, None, None) => None,
        (None, Some(git), None, None, None, None) => check_git(git).err(),
        (None, None, Some(bucket), None, None, None) => bucket.problem(),
        (None, None, None, Some(oci), None, None) => oci.problem(),
        (None, None, None, None, Some(flux), None) => flux.problem(),
        (None, None, None, None, None, Some(object)) => object.problem(),
        _ => Some("it is one of `folder`, `git`, `bucket`, `oci`, `flux` and `object`".to_owned()),
    };
    if let Some(reason) = problem {
        return refused(place(), reason);
    }
    if source.webhook.is_some() && source.git.as_ref().is_some_and(|git| git.commit.is_some()) {
        return refused_with(
            place(),
            "`webhook` has no effect, since the source follows a `commit`, which never changes",
            "remove `webhook`, or follow a `branch` or a `tag`",
        );
    }
    if let Some(reviews) = &source.pull_requests
        && let Some(reason) = reviews.problem(source.git.as_ref())
    {
        return refused(place(), reason);
    }
    if source.paths.is_empty() {
        return refused(place(), "`paths` names at least one folder");
    }
    let paths = source.paths.iter().map(|path| path.strip_suffix("/*").unwrap_or(path));
    for path in paths.chain(source.bases.iter().map(String::as_str)) {
        let is_part = |part: &str| part == "." || is_plain(part);
        if path.contains('*') {
            return refused_with(
                place(),
                &format!("the path `{path}` has a `*` where no pattern is allowed"),
                "write `.` for the whole source; in `paths`, `FOLDER/*` names all folders in a folder, as in `clusters/*`",
            );
        }
        if !path.split('/').all(is_part) {
            let reason = format!("the path `{path}` is not a path inside of the source");
            return refused(place(), reason);
        }
    }
    if let Some(trust) = &source.trust {
        trust.clone().with_arguments(&[]).or_else(|error| refused(place(), format!("`trust`: {error}")))?;
    }
    for policy in &source.clusters {
        let place = || format!("source {}: cluster {}", source.name, policy.name);
        Schedule::of(policy).or_else(|reason| refused(place(), reason))?;
        if policy.apply != Apply::Never && source.trust.is_none() {
            let reason = format!(
                "`apply = \"{}\"` needs the section `trust` of the source: without it specs are only planned, as with --untrusted",
                policy.apply.word()
            );
            return refused(place(), reason);
        }
        if policy.apply == Apply::Approved && policy.approvals == 0 {
            return refused(place(), "`approvals` is at least 1");
        }
        if policy.apply != Apply::Approved && (policy.approvals != 1 || !policy.approvers.is_empty()) {
            return refused(place(), "`approvals` and `approvers` belong to `apply = \"approved\"`");
        }
        if policy.drift_interval.is_zero() {
            return refused(place(), "`drift-interval` is more than 0");
        }
    }
    Ok(())
}

/// A part of a path in a source: no `..`, no hidden folder of Git, nothing that a file system reads in another way.
pub(crate) fn is_plain(part: &str) -> bool {
    let is_special = part.is_empty() || part == "." || part == ".." || part.eq_ignore_ascii_case(".git");
    !is_special && part.len() <= 255 && !part.contains(['\\', '\0', '*', '\n'])
}

pub(super) fn check_git(git: &Git) -> Result<(), String> {
    let scheme = git.url.split_once("://").map(|(scheme, _)| scheme);
    let authority =
        git.url.split_once("://").and_then(|(_, rest)| rest.split('/').next()).unwrap_or_default();
    let letters = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'\'' | b'"' | b'\\' | b'`' | b'$');
    if !git.url.bytes().all(letters) {
        return Err("`url` has characters that no URL has".to_owned());
    }
    let is_ssh = match scheme {
        Some("https" | "http") if authority.contains('@') => {
            return Err("`url` has no credentials; they are in `username` and `token-file`".to_owned());
        }
        Some("http") if !is_loopback(authority) => {
            return Err(
                "`url` with http:// names this machine only, as http://127.0.0.1:3000/a/b.git".to_owned()
            );
        }
        Some("https" | "http" | "file") => false,
        Some("ssh") if authority.starts_with('-') || authority.contains("@-") => {
            return Err("`url` names no server".to_owned());
        }
        Some("ssh") => true,
        _ => return Err("`url` begins with https://, ssh:// or file://".to_owned()),
    };
    if is_ssh && (git.identity_file.is_none() || git.known_hosts.is_none()) {
        return Err("ssh:// needs `identity-file` and `known-hosts`".to_owned());
    }
    if !is_ssh && (git.identity_file.is_some() || git.known_hosts.is_some()) {
        return Err("`identity-file` and `known-hosts` belong to ssh://".to_owned());
    }
    let of_https = git.username.is_some() || git.token_file.is_some() || git.ca_file.is_some();
    if of_https && !matches!(scheme, Some("https" | "http")) {
        return Err("`username`, `token-file` and `ca-file` belong to https://".to_owned());
    }
    if git.username.is_some() && git.token_file.is_none() {
        return Err("`username` needs `token-file`".to_owned());
    }
    check_reference(git)?;
    match &git.signatures {
        Some(signatures) if signatures.allowed_signers.is_none() && signatures.gpg_home.is_none() => {
            Err("`signatures` names `allowed-signers` or `gpg-home`".to_owned())
        }
        Some(signatures) if signatures.on == Signed::Tag && git.tag.is_none() => {
            Err("`signatures` with `on = \"tag\"` need a `tag` to follow".to_owned())
        }
        _ => Ok(()),
    }
}

/// Whether the host of a URL, with its port, is this machine.
fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn check_reference(git: &Git) -> Result<(), String> {
    let named = [&git.branch, &git.tag, &git.commit].into_iter().flatten().count();
    if named > 1 {
        return Err("it follows one of `branch`, `tag` and `commit`".to_owned());
    }
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if let Some(commit) = &git.commit
        && !(matches!(commit.len(), 40 | 64) && commit.bytes().all(is_digit))
    {
        return Err("`commit` has 40 or 64 hexadecimal digits".to_owned());
    }
    let is_reference = |name: &String| {
        let allowed =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'+');
        let is_part =
            |part: &str| !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with(".lock");
        name.bytes().all(allowed)
            && !name.contains("..")
            && name.split('/').all(is_part)
            && !name.ends_with('.')
    };
    match git.branch.iter().chain(&git.tag).find(|name| !is_reference(name)) {
        Some(name) => Err(format!("`{name}` is not the name of a branch or a tag")),
        None => Ok(()),
    }
}
