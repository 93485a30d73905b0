//! Faults of a bucket and their effects: over moto, with a proxy in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use slipway_state_store::{
    Backend, ClusterName, Key, Prefix, Settings, initialise, list_clusters, open_with, probe, read,
};
use slipway_testkit::proxy::{Request, Verdict};
use slipway_testkit::{Moto, Proxy};

use crate::support::{acquire, cluster, numbers, record, view};

/// A bucket behind a proxy.
struct Place {
    moto: Moto,
    proxy: Proxy,
    settings: Settings,
}

impl Place {
    fn new(judge: impl Fn(&mut Request) -> Verdict + Send + Sync + 'static) -> Self {
        Self::over(Moto::start().unwrap(), judge)
    }

    fn over(moto: Moto, judge: impl Fn(&mut Request) -> Verdict + Send + Sync + 'static) -> Self {
        moto.create_bucket("state").unwrap();
        let proxy = Proxy::start(moto.port(), judge).unwrap();
        let mut settings = Settings::new(moto.environment());
        settings.s3.endpoint = Some(proxy.endpoint());
        Self { moto, proxy, settings }
    }

    fn open(&self) -> Arc<dyn Backend> {
        self.open_url("s3://state/here")
    }

    fn open_url(&self, url: &str) -> Arc<dyn Backend> {
        open_with(url, &self.settings).unwrap()
    }

    /// The requests since the last time, as `PUT path`, without the bucket and its prefix.
    fn requests(&self) -> Vec<String> {
        let seen = self.proxy.requests();
        self.proxy.reset();
        let name = |request: &Request| request.target.replace("/state/here/", "");
        seen.iter().map(|request| format!("{} {}", request.method, name(request))).collect()
    }
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn pass(_: &mut Request) -> Verdict {
    Verdict::Pass
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_ignores_conditions_is_refused_before_the_first_write() {
    for (header, rule) in [("if-none-match", "created once"), ("if-match", "replaces")] {
        let place = Place::new(move |request| {
            request.remove_header(header);
            Verdict::Pass
        });
        let backend = place.open();
        let error = backend.create(&key("prod/head"), Bytes::from_static(b"x")).await.unwrap_err();
        assert_eq!(error.code(), "STATE0024", "{rule}: {error}");
        assert!(error.to_string().contains("this place cannot keep state"), "{error}");
        assert_eq!(backend.get(&key("prod/head")).await.unwrap(), None);
        assert_eq!(backend.list(&Prefix::root()).await.unwrap(), [], "what was tried is gone");
        assert_eq!(initialise(&backend).await.unwrap_err().code(), "STATE0024");
    }
}

/// A gateway that answers 501 to conditions says so at least.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_does_not_know_conditions_is_refused_with_its_words() {
    let place = Place::new(|request| match request.header("if-none-match") {
        Some(_) => Verdict::Answer {
            status: 501,
            headers: Vec::new(),
            body: b"<Error><Code>NotImplemented</Code><Message>no conditions here</Message></Error>".to_vec(),
        },
        None => Verdict::Pass,
    });
    let error = probe(&place.open()).await.unwrap_err();
    assert_eq!(error.code(), "STATE0024");
    assert!(error.to_string().contains("501 NotImplemented (no conditions here)"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_proved_once_and_by_writers_only() {
    let place = Place::new(pass);
    let backend = place.open();
    assert!(read(&*backend, &cluster()).await.unwrap().is_none());
    assert!(list_clusters(&*backend).await.unwrap().is_empty());
    let seen = place.requests();
    assert!(seen.iter().all(|request| request.starts_with("GET ")), "reading writes nothing: {seen:?}");

    backend.create(&key("a/1"), Bytes::from_static(b"x")).await.unwrap();
    let seen = place.requests();
    assert!(seen.len() <= 70, "a probe is {} requests", seen.len());
    println!("the first write: {} requests", seen.len());
    assert_eq!(backend.list(&Prefix::root()).await.unwrap(), [key("_slipway/store"), key("a/1")]);
    assert!(list_clusters(&*backend).await.unwrap().iter().all(|name| name.as_str() == "a"));
    place.requests();

    backend.create(&key("a/2"), Bytes::from_static(b"x")).await.unwrap();
    assert_eq!(place.requests(), ["PUT a/2"], "the same process knows");
    let later = place.open();
    later.create(&key("a/3"), Bytes::from_static(b"x")).await.unwrap();
    assert_eq!(place.requests(), ["GET _slipway/store", "PUT a/3"], "another pays one read");

    let again = initialise(&later).await.unwrap();
    assert!(!again.is_new);
    assert_eq!(again.report.rules.len(), 5);
    assert!(initialise(&place.open_url("s3://state/there")).await.unwrap().is_new);
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_sent_again_and_wait_as_they_are_told() {
    let failures = Arc::new(AtomicUsize::new(0));
    let left = failures.clone();
    let place = Place::new(move |request| {
        let is_read = request.method == "GET";
        let fails =
            is_read && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        if !fails {
            return Verdict::Pass;
        }
        let headers = vec![("Retry-After".to_owned(), "1".to_owned())];
        match left.load(Ordering::SeqCst) {
            2 => Verdict::DropBefore,
            1 => Verdict::status(500),
            _ => Verdict::Answer { status: 503, headers, body: Vec::new() },
        }
    });
    let backend = place.open();
    let holder = slipway_state_store::Holder::acquire(
        backend.clone(),
        &cluster(),
        acquire("ada"),
        Arc::new(slipway_state_store::SystemClock),
    )
    .await
    .unwrap();
    holder.append(vec![record(1)]).await.unwrap();

    failures.store(3, Ordering::SeqCst);
    let begun = Instant::now();
    assert_eq!(numbers(&view(&backend).await), [1]);
    assert!(begun.elapsed() >= Duration::from_secs(1), "{:?}", begun.elapsed());
    failures.store(3, Ordering::SeqCst);
    assert_eq!(list_clusters(&*backend).await.unwrap(), [cluster()]);

    failures.store(1_000, Ordering::SeqCst);
    let error = read(&*backend, &cluster()).await.unwrap_err();
    assert_eq!(error.code(), "STATE0004", "it ends: {error}");
    failures.store(0, Ordering::SeqCst);
    holder.release(None).await.unwrap();
}

/// The backend sends a write whose answer is lost only once: the writer finds its outcome.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_is_never_sent_again_by_itself() {
    let place = Place::new(|request| match (request.method.as_str(), request.target.contains("/lost/")) {
        ("PUT", true) if request.target.ends_with("dropped") => Verdict::DropAfter,
        ("PUT", true) if request.target.ends_with("failed") => Verdict::AnswerAfter(500),
        ("PUT", true) if request.target.ends_with("busy") => Verdict::status(409),
        ("PUT", true) if request.target.ends_with("slow") => Verdict::SilenceAfter(Duration::from_secs(5)),
        _ => Verdict::Pass,
    });
    let mut settings = place.settings.clone();
    settings.timeout = Some(Duration::from_secs(1));
    let backend = open_with("s3://state/here", &settings).unwrap();
    initialise(&backend).await.unwrap();
    place.requests();
    for (name, code, is_there) in [
        ("lost/dropped", "STATE0005", true),
        ("lost/failed", "STATE0005", true),
        ("lost/slow", "STATE0005", true),
        ("lost/busy", "STATE0004", false),
    ] {
        let error = backend.create(&key(name), Bytes::from_static(b"x")).await.unwrap_err();
        assert_eq!(error.code(), code, "{name}: {error}");
        let sent = place.requests().iter().filter(|request| request.starts_with("PUT")).count();
        assert_eq!(sent, 1, "{name}");
        assert_eq!(backend.get(&key(name)).await.unwrap().is_some(), is_there, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clusters_cost_a_listing_and_not_what_they_contain() {
    let place = Place::new(pass);
    let backend = place.open();
    for cluster in ["a", "b", "c"] {
        for object in 0..20 {
            let name = format!("{cluster}/journal/000000000001/{object:012}");
            backend.create(&key(&name), Bytes::from_static(b"x")).await.unwrap();
        }
    }
    place.requests();
    let clusters = list_clusters(&*backend).await.unwrap();
    assert_eq!(clusters.iter().map(ClusterName::as_str).collect::<Vec<_>>(), ["a", "b", "c"]);
    let seen = place.requests();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(seen[0].contains("delimiter=%2F"), "{seen:?}");
}

/// Stores give a thousand names at a time; this one gives ten.
#[tokio::test(flavor = "multi_thread")]
async fn a_listing_has_as_many_pages_as_it_needs() {
    let few = "import os\nos.environ['MOTO_S3_DEFAULT_MAX_KEYS'] = '10'";
    let place = Place::over(Moto::start_mended(few).unwrap(), pass);
    let names: Vec<String> = (0..25).map(|number| format!("a/journal/000000000001/{number:012}")).collect();
    for name in &names {
        place.moto.put_object("state", &format!("here/{name}"), b"").unwrap();
    }
    let listed = place.open().list(&Prefix::new("a/journal/000000000001").unwrap()).await.unwrap();
    assert_eq!(listed.iter().map(Key::as_str).collect::<Vec<_>>(), names);
    assert_eq!(place.requests().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_bucket_is_said() {
    let answers = |status: u16, headers: &[(&str, &str)], body: &str| Verdict::Answer {
        status,
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        body: body.as_bytes().to_vec(),
    };
    let place =
        Place::new(move |request| match request.target.split(['/', '?']).nth(1).unwrap_or_default() {
            "elsewhere" => answers(301, &[("x-amz-bucket-region", "eu-west-1")], ""),
            "malformed" => answers(
                400,
                &[],
                "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region></Error>",
            ),
            "denied" => answers(403, &[], "<Error><Code>AccessDenied</Code></Error>"),
            "unknown-key" => answers(403, &[], "<Error><Code>InvalidAccessKeyId</Code></Error>"),
            "expired" => answers(400, &[], "<Error><Code>ExpiredToken</Code></Error>"),
            _ => Verdict::Pass,
        });
    for (bucket, code, text) in [
        ("nowhere", "STATE0021", "there is no bucket `nowhere`"),
        ("elsewhere", "STATE0022", "the bucket `elsewhere` is in the region eu-west-1"),
        ("malformed", "STATE0022", "the bucket `malformed` is in the region eu-west-3"),
        ("denied", "STATE0006", "access to prod.example.com/head is denied"),
        ("unknown-key", "STATE0023", "no credential for the bucket `unknown-key`"),
        ("expired", "STATE0023", "no credential for the bucket `expired`"),
    ] {
        let backend = place.open_url(&format!("s3://{bucket}/here"));
        let seen = read(&*backend, &cluster()).await.unwrap_err();
        assert!(seen.code() == code && seen.to_string().contains(text), "{bucket}: {} {seen}", seen.code());
        let seen = list_clusters(&*backend).await.unwrap_err();
        assert_eq!(seen.code(), code, "{bucket}: {seen}");
        let seen = backend.create(&key("a/b"), Bytes::new()).await.unwrap_err();
        assert_eq!(seen.code(), code, "{bucket}: {seen}");
    }
    place.requests();
    let missing = place.open_url("s3://nowhere/here").get(&key("a/b")).await;
    assert_eq!(
        (missing.unwrap_err().code(), place.requests().len()),
        ("STATE0021", 1),
        "it is not tried again"
    );
}

/// An error document is read only up to a limit: the rest is neither kept nor shown.
#[tokio::test(flavor = "multi_thread")]
async fn an_error_document_is_read_and_shown_within_bounds() {
    for status in [400, 403, 418, 500, 503] {
        let place = Place::new(move |_| {
            let mut body = b"<Error><Code>Bad</Code><Message>\x1b[2Jno\x07</Message>".to_vec();
            body.resize(20 << 20, b'x');
            Verdict::Answer { status, headers: Vec::new(), body }
        });
        let error = place.open().get(&key("prod/head")).await.unwrap_err();
        let mut said = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            said.push_str(&inner.to_string());
            cause = inner.source();
        }
        assert!(said.contains("Bad") && said.len() < 10_000, "{status}: {} bytes: {said:.300}", said.len());
        assert!(format!("{error:?}").len() < 10_000, "{status}: more than is shown is kept");
    }
}
