//! Rate limits, large answers, redirects, refusals.

use std::time::{Duration, Instant};

use serde_json::json;
use slipway_forges::{Error, Kind};
use slipway_limits::size;

use crate::served::{Served, TOKEN};

const USER: &str = "GET /api/v1/user";

#[tokio::test]
async fn a_rate_limit_is_waited_out() {
    let served = Served::start().await;
    let forge = served.forge(Kind::Gitea, Duration::from_secs(5));
    served.on_with(USER, 429, &[("retry-after", "1")], Vec::new());
    served.on(USER, 200, &json!({ "login": "Bot" }));
    let begin = Instant::now();
    assert_eq!(forge.own_user().await.unwrap(), "bot");
    assert!(begin.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_longer_rate_limit_is_an_error() {
    let served = Served::start().await;
    let forge = served.forge(Kind::Gitea, Duration::from_secs(5));
    served.on_with(USER, 403, &[("retry-after", "6")], Vec::new());
    let Err(Error::UnknownUser { source }) = forge.own_user().await else { panic!("it has no limit") };
    assert_eq!(source.code(), "FORGE0005");
    assert!(source.to_string().contains("for 6 s more"), "{source}");
    assert_eq!(served.asked().len(), 1);
}

#[tokio::test]
async fn reads_are_repeated_and_writes_are_not() {
    let served = Served::start().await;
    let forge = served.forge(Kind::Gitea, Duration::from_secs(30));
    served.on(USER, 502, &json!({})).on(USER, 200, &json!({ "login": "bot" }));
    forge.own_user().await.unwrap();
    assert_eq!(served.asked().len(), 2);
    served.on("POST /api/v1/repos/o/r/issues/7/comments", 502, &json!({ "message": "down" }));
    let error = forge.create_comment(7, "text").await.unwrap_err();
    assert!(error.to_string().contains("answers 502: down"), "{error}");
    assert_eq!(served.asked().len(), 3, "the comment may be there already");
}

#[tokio::test]
async fn no_refusal_repeats_the_token() {
    let served = Served::start().await;
    let forge = served.forge(Kind::Gitea, Duration::ZERO);
    served.on(
        "GET /api/v1/repos/o/r/pulls/7",
        401,
        &json!({ "message": format!("the token {TOKEN} is bad") }),
    );
    let error = forge.pull_request(7).await.unwrap_err();
    assert_eq!(error.code(), "FORGE0004");
    let told = format!("{error} {error:?} {}", error.hint().unwrap());
    assert!(told.contains("the token [token] is bad") && !told.contains(TOKEN), "{told}");
    assert!(error.hint().unwrap().contains("has not expired"));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let served = Served::start().await;
    let other = Served::start().await;
    let forge = served.forge(Kind::Gitea, Duration::ZERO);
    let elsewhere = format!("{}/api/v1/repos/o/r/pulls/7", other.url());
    served.on_with("GET /api/v1/repos/o/r/pulls/7", 301, &[("location", elsewhere.as_str())], Vec::new());
    let error = forge.pull_request(7).await.unwrap_err();
    assert!(error.hint().unwrap().contains("moved"), "{error}");
    assert!(other.asked().is_empty(), "the token would leave the forge");
}

#[tokio::test]
async fn answers_are_bounded() {
    let served = Served::start().await;
    let forge = served.forge(Kind::Gitea, Duration::ZERO);
    let giant = vec![b' '; size::FORGE_ANSWER.in_memory() + 1];
    served.on_with("GET /api/v1/repos/o/r/pulls/7", 200, &[], giant);
    let error = forge.pull_request(7).await.unwrap_err();
    assert!(error.to_string().contains("more than 16 MiB"), "{error}");
    served.on_with("GET /api/v1/repos/o/r/pulls/7", 200, &[], b"<html>log in</html>".to_vec());
    assert_eq!(forge.pull_request(7).await.unwrap_err().code(), "FORGE0006");
    let reviews = "GET /api/v1/repos/o/r/pulls/7/reviews?limit=50&page=";
    for page in 1..=100 {
        served.on_with(&format!("{reviews}{page}"), 200, &[("link", "<x>; rel=\"next\"")], b"[]".to_vec());
    }
    assert_eq!(forge.reviews(7).await.unwrap_err().code(), "FORGE0007");
}

#[tokio::test]
async fn nobody_answers() {
    let served = Served::start().await;
    let forge = served.forge(Kind::Gitea, Duration::ZERO);
    drop(served);
    tokio::time::sleep(Duration::from_millis(50)).await;
    let error = forge.pull_request(7).await.unwrap_err();
    assert_eq!(error.code(), "FORGE0003");
}
