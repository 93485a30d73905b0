use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value as Json;
use slipway_controller::Metrics as Registry;

use super::*;
use crate::configuration::{NotificationKind, Retry};
use crate::metrics::Metrics;
use crate::status::{Problem, Reason, Status};

fn notice() -> Notice {
    let mut status = Status { cluster: "prod".into(), controller: "default".into(), ..Status::default() };
    status.problem =
        Some(Problem { code: Some("RUN0001".into()), message: String::new(), hints: vec!["do it".into()] });
    status.tell(Reason::Failed, "<!channel> {cluster} & more", Timestamp::UNIX_EPOCH);
    Notice::of(&status, Timestamp::UNIX_EPOCH)
}

#[test]
fn a_template_has_named_fields_only() {
    let text =
        |template: &str| Template::parse(template).map(|parsed| parsed.render(|name| notice().field(name)));
    assert_eq!(text("{{{cluster}}} {code}: {hint}").unwrap(), "{prod} RUN0001: do it");
    assert_eq!(text("{message}").unwrap(), "<!channel> {cluster} & more", "a value is no template");
    for (bad, part) in
        [("{env}", "`env`; known are cluster"), ("{cluster", "single brace"), ("x}", "single brace")]
    {
        let error = text(bad).unwrap_err();
        assert!(error.contains(part), "{bad}: {error}");
    }
}

#[test]
fn every_kind_has_its_form() {
    let template = Template::parse("{reason} {message}").unwrap();
    let of = |kind| notice().body(kind, &template);
    let (content, json) = of(NotificationKind::Json);
    assert_eq!((content, json["code"].as_str()), ("application/json", Some("RUN0001")));
    assert_eq!(json["hints"], serde_json::json!(["do it"]));
    let (_, slack) = of(NotificationKind::Slack);
    assert_eq!(slack, serde_json::json!({ "text": "Failed &lt;!channel&gt; {cluster} &amp; more" }));
    let (content, event) = of(NotificationKind::CloudEvents);
    assert_eq!(content, "application/cloudevents+json");
    let text = |field: &str| event[field].as_str().unwrap().to_owned();
    assert_eq!(
        (text("specversion"), text("subject"), text("time")),
        ("1.0".into(), "prod".into(), "1970-01-01T00:00:00Z".into())
    );
    assert_eq!(event["data"]["cluster"], "prod");
    assert_eq!(event["id"], of(NotificationKind::CloudEvents).1["id"], "each attempt has the same id");
}

/// A server that answers requests with some statuses, and passes their heads and bodies on.
fn receiver(statuses: &'static [u16]) -> (String, mpsc::Receiver<(String, Json)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/secret-path", listener.local_addr().unwrap());
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for status in statuses {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            let mut chunk = [0; 4096];
            let (head, body) = loop {
                let count = stream.read(&mut chunk).unwrap();
                bytes.extend_from_slice(&chunk[..count]);
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                if let Ok(body) = serde_json::from_str(body) {
                    break (head.to_owned(), body);
                }
            };
            let answer = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
            sender.send((head, body)).unwrap();
        }
    });
    (url, received)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_sent_again_until_it_is_received_and_a_refused_one_is_not() {
    let (url, received) = receiver(&[503, 200, 404, 200]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("url"), format!("{url}\n")).unwrap();
    std::fs::write(folder.path().join("token"), "hunter2\n").unwrap();
    let text = "name = 'ops'\nkind = 'json'\nurl-file = 'url'\ntoken-file = 'token'\n";
    let mut ops: Notification = toml::from_str(text).unwrap();
    assert!(
        ops.wants("prod", "Failed") && ops.wants("prod", "InSync") && !ops.wants("prod", "OutsideWindow")
    );
    ops.url_file = Some(folder.path().join("url"));
    ops.token_file = Some(folder.path().join("token"));
    ops.clusters = vec!["prod".into()];
    let (notices, registry) = (Notices::new(&[ops]), Registry::default());
    let retry = Retry { first: Duration::from_millis(100), longest: Duration::from_secs(1) };
    let deliveries = Deliveries::start(&notices, retry, &Metrics::new(&registry)).unwrap();
    for (cluster, message) in [("other", "0"), ("prod", "1"), ("prod", "2"), ("prod", "3")] {
        notices.tell(&Notice { cluster: cluster.into(), message: message.into(), ..notice() });
    }
    let wait = Duration::from_secs(20);
    let received = tokio::task::spawn_blocking(move || {
        (0..4).map(|_| received.recv_timeout(wait).unwrap()).collect::<Vec<_>>()
    })
    .await
    .unwrap();
    let messages: Vec<&str> = received.iter().map(|(_, body)| body["message"].as_str().unwrap()).collect();
    assert_eq!(messages, ["1", "1", "2", "3"], "404 is not repeated");
    let (head, _) = &received[0];
    assert!(
        head.starts_with("POST /secret-path HTTP/1.1") && head.contains("authorization: Bearer hunter2"),
        "{head}"
    );
    deliveries.end().await;
    let told = registry.text().unwrap();
    for line in ["name=\"ops\",outcome=\"sent\"} 2", "name=\"ops\",outcome=\"failed\"} 1"] {
        assert!(told.contains(line), "no `{line}` in {told}");
    }
}

#[tokio::test]
async fn only_so_many_messages_wait() {
    let ops: Notification = toml::from_str("name = 'ops'\nkind = 'json'\nurl = 'https://a'\n").unwrap();
    let notices = Notices::new(&[ops]);
    for number in 0..=WAITING {
        notices.tell(&Notice { message: number.to_string(), ..notice() });
    }
    let stop = CancellationToken::new();
    assert_eq!(notices.0[0].next(&stop).await.unwrap().message, "1", "the oldest one is gone");
    stop.cancel();
    let mut count = 1;
    while notices.0[0].next(&stop).await.is_some() {
        count += 1;
    }
    assert_eq!(count, WAITING);
}
