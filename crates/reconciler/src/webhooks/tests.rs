use std::collections::BTreeSet;

use slipway_controller::Metrics as Registry;

use super::*;
use crate::controller::Hint;

const SECRET: &str = "It's a Secret to Everybody";

/// The signature of `Hello, World!` with this secret, by "Validating webhook deliveries" in GitHub's documentation.
const SIGNATURE: &str = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

const SOURCES: &str = "
data = 'd'
webhooks = { listen = '127.0.0.1:0' }
[[source]]
name = 'fleet'
webhook = { kind = 'gitlab', secret-file = 'secret' }
git = { url = 'https://a/b' }
pull-requests = { forge = 'gitlab', repository = 'o/r', token-file = 'token' }
[[source]]
name = 'release'
webhook = { kind = 'gitlab', secret-file = 'secret' }
git = { url = 'https://a/b', tag = 'stable' }
[[source]]
name = 'local'
webhook = { kind = 'generic', secret-file = 'secret' }
folder = 'f'
[[source]]
name = 'quiet'
folder = 'g'
";

/// The endpoint of a configuration, the hints that it gives, and its metrics.
fn endpoint(secret: &str) -> Result<(Endpoint, Handle, Registry), Error> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret"), secret).unwrap();
    let configuration = Configuration::parse(SOURCES, Path::new("controller.toml"), folder.path())?;
    let (handle, registry) = (Handle::default(), Registry::default());
    let endpoint = Endpoint::new(&configuration, Metrics::new(&registry), &handle)?;
    Ok((endpoint, handle, registry))
}

/// The status and the body of an answer.
async fn send(endpoint: &Endpoint, request: http::request::Builder, body: &str) -> (u16, Bytes) {
    use http_body_util::BodyExt as _;
    let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
    let response = endpoint.answer(request).await;
    let status = response.status().as_u16();
    (status, response.into_body().collect().await.unwrap().to_bytes())
}

fn gitlab(path: &str, token: &str) -> http::request::Builder {
    Request::post(path).header("content-type", "application/json").header("x-gitlab-token", token)
}

fn pushed(reference: &str) -> String {
    format!(
        r#"{{"object_kind":"push","project":{{"path_with_namespace":"o/r"}},"ref":"{reference}","after":"{}"}}"#,
        "a".repeat(40)
    )
}

/// The sources that may have changed, as the endpoint says.
async fn hints(handle: &Handle) -> BTreeSet<String> {
    // A hint of the test itself ends the wait.
    handle.changed("end");
    let name = |hint| match hint {
        Hint::Source(name) => name,
        Hint::PullRequest(name, number) => format!("{name}#{number}"),
    };
    let mut names: BTreeSet<String> = handle.next().await.into_iter().map(name).collect();
    names.remove("end");
    names
}

#[tokio::test]
async fn a_webhook_of_a_pull_request_lets_it_be_looked_at() {
    let (endpoint, handle, _) = endpoint(SECRET).unwrap();
    let merge_request = |repository: &str| {
        format!(
            r#"{{"object_kind":"merge_request","project":{{"path_with_namespace":"{repository}"}},"object_attributes":{{"iid":7}}}}"#
        )
    };
    for (path, repository, status) in
        [("/hooks/fleet", "O/r", 202), ("/hooks/fleet", "o/other", 200), ("/hooks/release", "o/r", 200)]
    {
        let (answer, body) = send(&endpoint, gitlab(path, SECRET), &merge_request(repository)).await;
        assert_eq!(answer, status, "{path} {repository}: {body:?}");
        let wanted = if status == 202 { BTreeSet::from(["fleet#7".to_owned()]) } else { BTreeSet::new() };
        assert_eq!(hints(&handle).await, wanted, "{path} {repository}");
    }
}

#[tokio::test]
async fn a_genuine_webhook_lets_its_source_be_read() {
    let (endpoint, handle, registry) = endpoint(&format!("{SECRET}\n")).unwrap();
    let push = |path: &str, reference: &str| (gitlab(path, SECRET), pushed(reference));
    for (path, reference, status) in [
        ("/hooks/fleet", "refs/heads/topic", 200),
        ("/hooks/fleet", "refs/tags/main", 200),
        ("/hooks/release", "refs/heads/main", 200),
    ] {
        let (request, body) = push(path, reference);
        assert_eq!(send(&endpoint, request, &body).await.0, status, "{path} {reference}");
    }
    let merged = r#"{"object_kind":"merge_request","project":{"path_with_namespace":"o/r"},"object_attributes":{"iid":7}}"#;
    assert_eq!(send(&endpoint, gitlab("/hooks/release", SECRET), merged).await.0, 200);
    assert!(hints(&handle).await.is_empty(), "what the sources do not follow is ignored");

    for (path, reference) in [("/hooks/fleet", "refs/heads/main"), ("/hooks/release?x=y", "refs/tags/stable")]
    {
        let (request, body) = push(path, reference);
        assert_eq!(send(&endpoint, request, &body).await.0, 202, "{path}");
    }
    assert_eq!(hints(&handle).await, BTreeSet::from(["fleet".to_owned(), "release".to_owned()]));
    let (request, body) = push("/hooks/fleet", "refs/heads/main");
    assert_eq!(send(&endpoint, request, &body).await, (200, Bytes::from_static(b"received before\n")));
    assert!(hints(&handle).await.is_empty());

    for _ in 0..2 {
        let signed = Request::post("/hooks/local").header("x-hub-signature-256", SIGNATURE);
        assert_eq!(send(&endpoint, signed, "Hello, World!").await.0, 202);
    }
    assert_eq!(hints(&handle).await, BTreeSet::from(["local".to_owned()]));
    let text = registry.text().unwrap();
    for line in [
        r#"slipway_controller_webhooks_total{source="fleet",outcome="accepted"} 1"#,
        r#"slipway_controller_webhooks_total{source="fleet",outcome="ignored"} 3"#,
        r#"slipway_controller_webhooks_total{source="local",outcome="accepted"} 2"#,
    ] {
        assert!(text.contains(line), "no `{line}` in {text}");
    }
}

#[tokio::test]
async fn everything_else_is_refused() {
    let (endpoint, handle, registry) = endpoint(SECRET).unwrap();
    let body = pushed("refs/heads/main");
    assert_eq!(send(&endpoint, gitlab("/hooks/fleet", "It's a Secret"), &body).await.0, 401);
    let unsigned = Request::post("/hooks/local");
    assert_eq!(send(&endpoint, unsigned, "Hello, World!").await.0, 401);
    let other = Request::post("/hooks/local").header("x-hub-signature-256", SIGNATURE);
    assert_eq!(send(&endpoint, other, "Hello, World?").await.0, 401);
    let giant = gitlab("/hooks/fleet", SECRET).header("content-length", size::WEBHOOK.bytes + 1);
    assert_eq!(send(&endpoint, giant, &body).await.0, 413);
    assert_eq!(send(&endpoint, Request::get("/hooks/fleet"), "").await.0, 405);
    for path in [
        "/hooks/quiet",
        "/hooks/nobody",
        "/hooks/",
        "/hooks/fleet/",
        "/hooks/Fleet",
        "/",
        "/metrics",
        "/healthz",
    ] {
        let answer = send(&endpoint, gitlab(path, SECRET), &body).await;
        assert_eq!(answer, (404, Bytes::from_static(b"not found\n")), "{path}");
    }
    assert!(hints(&handle).await.is_empty());
    let text = registry.text().unwrap();
    for line in [
        r#"slipway_controller_webhooks_total{source="fleet",outcome="refused"} 3"#,
        r#"slipway_controller_webhooks_total{source="",outcome="refused"} 8"#,
    ] {
        assert!(text.contains(line), "no `{line}` in {text}");
    }
    assert!(!text.contains("nobody"), "no label is of a sender");
}

#[test]
fn a_secret_that_cannot_be_used_is_named_and_not_printed() {
    let error = endpoint("hunter2\n").err().unwrap();
    assert_eq!(error.code(), "FORGE0010");
    let problem = crate::status::Problem::of_source(&error);
    assert!(problem.message.starts_with("source fleet: the secret in /"), "{}", problem.message);
    assert!(!problem.message.contains("hunter2") && !problem.hints.is_empty());
    let configuration = Configuration::parse(SOURCES, Path::new("c.toml"), Path::new("/nowhere")).unwrap();
    let metrics = Metrics::new(&Registry::default());
    let missing = Endpoint::new(&configuration, metrics, &Handle::default()).err().unwrap();
    assert_eq!(missing.code(), "RECON0009");
    assert!(missing.to_string().contains("/nowhere/secret"), "{missing}");
}
