//! What receivers of notifications are told.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

use crate::world::{World, on_one_thread};

/// A server that takes every message, and its URL.
fn receiver() -> (String, UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, received) = unbounded_channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (mut text, mut chunk) = (String::new(), [0; 4096]);
            while !text.ends_with('}') {
                let count = stream.read(&mut chunk).unwrap();
                text.push_str(&String::from_utf8_lossy(&chunk[..count]));
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
            let body = text.split("\r\n\r\n").nth(1).unwrap_or_default().to_owned();
            if sender.send(body).is_err() {
                return;
            }
        }
    });
    (url, received)
}

#[tokio::test]
async fn receivers_are_told_once_and_not_again_after_a_restart() {
    on_one_thread(async {
        let world = World::new();
        let revision = world.push("prod", 0);
        let (url, mut received) = receiver();
        let policies = format!(
            "[[source.cluster]]\nname = '*'\napply = 'never'\n[[notification]]\nname = 'ops'\nkind = 'slack'\nurl = '{url}'\n\
             reasons = ['PlanOnly']\ntemplate = '{{cluster}} {{reason}} {{plan}}'\n"
        );
        let wait = Duration::from_secs(20);
        let running = world.start(world.configuration("a", "", &policies)).await;
        let status = world.until_reason("prod", "PlanOnly", &revision).await;
        let first = timeout(wait, received.recv()).await.unwrap().unwrap();
        let digest = status.plan.unwrap().digest;
        assert_eq!(first, format!("{{\"text\":\"prod PlanOnly {digest}\"}}"));
        running.stop().await;

        let running = world.start(world.configuration("b", "", &policies)).await;
        let revision = world.push("prod", 1);
        let status = world.until_reason("prod", "PlanOnly", &revision).await;
        let second = timeout(wait, received.recv()).await.unwrap().unwrap();
        assert!(second.contains(&status.plan.unwrap().digest), "{second}");
        assert!(timeout(Duration::from_millis(500), received.recv()).await.is_err(), "nothing else is told");
        running.stop().await;
    })
    .await;
}
