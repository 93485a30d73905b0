//! A provider at the other end of a stream, and of a process's standard input and output.

use std::sync::Arc;
use std::time::Duration;

use slipway_protocol::{Client, Deadlines, Life, Tunnel};
use slipway_provider_sdk::{ServeOptions, serve_stream};
use slipway_resource::Provider as _;

use crate::common::Things;

#[tokio::test]
async fn a_stream_is_a_connection_and_its_end_the_end() {
    let things = Arc::new(Things::default());
    let (near, far) = tokio::io::duplex(64 << 10);
    let serving = {
        let things = things.clone();
        let options = ServeOptions::new(std::path::PathBuf::new(), String::new());
        tokio::spawn(async move { serve_stream(things, far, &options).await })
    };
    let client = Client::over(near, Life::unattended("things"), Deadlines::default()).await.unwrap();
    assert_eq!(client.schema().await.unwrap(), things.schema().await.unwrap());
    drop(client);
    tokio::time::timeout(Duration::from_secs(10), serving).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_process_that_refuses_says_why() {
    let mut command = tokio::process::Command::new("sh");
    command.args(["-c", "echo 'no route to host' >&2; exit 255"]);
    let Err(error) = Tunnel::open(command, "cp-0", Deadlines::default()).await else {
        panic!("nobody answers")
    };
    assert_eq!((error.status, error.words), (Some(255), vec!["no route to host".to_owned()]));
}
