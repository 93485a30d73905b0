use std::pin::Pin;
use std::task::{Context, Poll};

use aws_lc_rs::hmac;
use hyper::body::Frame;
use slipway_limits::count;
use slipway_resource::hexadecimal;

use super::super::event::Event;
use super::*;

const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn handler(sender: Sender) -> (Handler, mpsc::Receiver<Delivery>) {
    receiver(Settings { sender, secrets: vec![Secret::new(SECRET).unwrap()] })
}

fn sign(body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    hexadecimal(hmac::sign(&key, body).as_ref())
}

fn pull_request(number: u64) -> String {
    format!(r#"{{"repository":{{"full_name":"o/r"}},"pull_request":{{"number":{number}}}}}"#)
}

/// A genuine delivery of Gitea.
fn delivery(id: &str, body: &str) -> http::request::Builder {
    Request::post("/hook")
        .header("content-type", "application/json")
        .header("x-gitea-event", "pull_request")
        .header("x-gitea-delivery", id)
        .header("x-gitea-signature", sign(body.as_bytes()))
}

async fn send(handler: &Handler, request: http::request::Builder, body: &str) -> u16 {
    let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
    handler.handle(request).await.status().as_u16()
}

#[tokio::test]
async fn a_genuine_delivery_is_passed_on_once() {
    let (handler, mut events) = handler(Sender::Gitea);
    let body = pull_request(7);
    assert_eq!(send(&handler, delivery("one", &body), &body).await, 202);
    let event = Event::PullRequest { repository: "o/r".to_owned(), number: 7 };
    assert_eq!(events.recv().await, Some(Delivery { id: "one".to_owned(), event }));
    assert_eq!(send(&handler, delivery("one", &body), &body).await, 200, "the same delivery");
    assert_eq!(send(&handler, delivery("two", &body), &body).await, 200, "the same body with another id");
    let other = pull_request(8);
    assert_eq!(send(&handler, delivery("one", &other), &other).await, 200, "the same id with another body");
    assert!(events.try_recv().is_err());
    assert_eq!(send(&handler, delivery("three", &other), &other).await, 202);
}

#[tokio::test]
async fn what_is_not_genuine_is_refused() {
    let (handler, mut events) = handler(Sender::Gitea);
    let body = pull_request(7);
    let bare = || Request::post("/hook").header("content-type", "application/json");
    assert_eq!(send(&handler, bare(), &body).await, 401, "no signature");
    assert_eq!(send(&handler, delivery("one", "another body"), &body).await, 401, "a wrong signature");
    assert_eq!(send(&handler, bare().header("x-gitea-signature", ""), &body).await, 401);
    let form = Request::post("/hook")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("x-gitea-signature", sign(body.as_bytes()));
    assert_eq!(send(&handler, form, &body).await, 415);
    assert_eq!(send(&handler, Request::get("/hook"), "").await, 405);
    assert_eq!(send(&handler, delivery("one", "{"), "{").await, 400);
    assert!(events.try_recv().is_err());
    let (nobody, _events) = receiver(Settings { sender: Sender::Gitea, secrets: Vec::new() });
    assert_eq!(
        send(&nobody, delivery("one", &body), &body).await,
        401,
        "a request without a secret is refused"
    );
}

/// A body that must not be read.
struct Untouched;

impl Body for Untouched {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        panic!("the body was read");
    }
}

/// A body without an end.
struct Endless;

impl Body for Endless {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b' '; 65_536])))))
    }
}

#[tokio::test]
async fn a_giant_body_is_refused_before_it_is_read() {
    let (handler, _events) = handler(Sender::Gitea);
    let announced = delivery("one", "").header("content-length", size::WEBHOOK.bytes + 1);
    let answer = handler.handle(announced.body(Untouched).unwrap()).await;
    assert_eq!(answer.status().as_u16(), 413);
    let unsigned = Request::post("/hook").header("content-type", "application/json").body(Untouched).unwrap();
    assert_eq!(handler.handle(unsigned).await.status().as_u16(), 401);
    let answer = handler.handle(delivery("one", "").body(Endless).unwrap()).await;
    assert_eq!(answer.status().as_u16(), 413, "a body of unknown length is read up to its limit");
}

/// A body that never comes.
struct Silent;

impl Body for Silent {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn slow_bodies_end_and_are_bounded() {
    let (handler, _events) = handler(Sender::Gitea);
    let ask = || {
        let handler = handler.clone();
        tokio::spawn(async move {
            handler.handle(delivery("one", "").body(Silent).unwrap()).await.status().as_u16()
        })
    };
    let waiting: Vec<_> = (0..AT_ONCE).map(|_| ask()).collect();
    tokio::task::yield_now().await;
    assert_eq!(ask().await.unwrap(), 503, "no more bodies are read at once");
    for one in waiting {
        assert_eq!(one.await.unwrap(), 408);
    }
}

#[tokio::test]
async fn an_event_that_does_not_fit_can_be_sent_again() {
    let (handler, mut events) = handler(Sender::Gitea);
    for number in 0..WAITING as u64 {
        let body = pull_request(number);
        assert_eq!(send(&handler, delivery(&number.to_string(), &body), &body).await, 202);
    }
    let body = pull_request(9_999);
    assert_eq!(send(&handler, delivery("late", &body), &body).await, 503);
    events.recv().await.unwrap();
    assert_eq!(send(&handler, delivery("late", &body), &body).await, 202);
    const { assert!(WAITING < count::DELIVERIES) };
}

#[tokio::test]
async fn gitlab_is_known_by_its_headers() {
    let (gitlab, mut events) = handler(Sender::GitLab);
    let body =
        r#"{"object_kind":"note","project":{"path_with_namespace":"g/s/r"},"merge_request":{"iid":3}}"#;
    let note = |token: &str| {
        Request::post("/hook")
            .header("content-type", "application/json; charset=utf-8")
            .header("x-gitlab-event", "Note Hook")
            .header("x-gitlab-token", token)
    };
    assert_eq!(send(&gitlab, note("wrong"), body).await, 401);
    assert_eq!(send(&gitlab, note(SECRET), body).await, 202);
    assert_eq!(send(&gitlab, note(SECRET), body).await, 200, "a replay");
    let event = Event::Comment { repository: "g/s/r".to_owned(), number: 3 };
    assert_eq!(events.recv().await.unwrap().event, event);
}

#[tokio::test]
async fn each_delivery_of_a_generic_sender_counts() {
    let (generic, mut events) = handler(Sender::Generic);
    let signed = |body: &str| {
        Request::post("/hook").header("x-hub-signature-256", format!("sha256={}", sign(body.as_bytes())))
    };
    for _ in 0..2 {
        assert_eq!(send(&generic, signed("look again"), "look again").await, 202, "no document of a forge");
        assert_eq!(events.recv().await.unwrap().event, Event::Changed);
    }
    assert_eq!(send(&generic, signed("another"), "look again").await, 401);
    assert_eq!(send(&generic, Request::post("/hook"), "look again").await, 401);
    assert!(events.try_recv().is_err());
}

#[tokio::test]
async fn an_event_of_no_interest_is_no_failure_of_its_sender() {
    let settings = Settings { sender: Sender::Gitea, secrets: vec![Secret::new(SECRET).unwrap()] };
    let handler = Handler::new(settings, Bodies::default(), |_| Taken::Ignored);
    let body = pull_request(7);
    assert_eq!(send(&handler, delivery("one", &body), &body).await, 200);
}

#[tokio::test(start_paused = true)]
async fn handlers_share_the_bodies_that_are_read_at_once() {
    let bodies = Bodies::default();
    let handler = || {
        let settings = Settings { sender: Sender::Gitea, secrets: vec![Secret::new(SECRET).unwrap()] };
        Handler::new(settings, bodies.clone(), |_| Taken::Accepted)
    };
    let (busy, other) = (handler(), handler());
    for _ in 0..AT_ONCE {
        let busy = busy.clone();
        tokio::spawn(async move { busy.handle(delivery("one", "").body(Silent).unwrap()).await });
    }
    tokio::task::yield_now().await;
    let body = pull_request(7);
    assert_eq!(send(&other, delivery("one", &body), &body).await, 503);
}
