//! A real Gitea: pull requests, statuses, comments, reviews, webhooks.

use std::convert::Infallible;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use slipway_forges::approvals::{self, Evidence};
use slipway_forges::webhook::{Delivery, Event, Handler, Secret, Sender, Settings, receiver};
use slipway_forges::{
    Address, ApprovalPolicy, Connection, Forge, Kind, MarkedPart, Marker, PullRequest, Repository, Revision,
    StatusState, Token, Verdict, comment, connect, report, sticky,
};
use slipway_resource::Digest;
use slipway_testkit::Gitea;
use slipway_testkit::gitea::User;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const SECRET: &str = "a secret that Gitea and its receiver share";

/// A repository of Ada, in which a bot reviews.
struct Story {
    gitea: Gitea,
    ada: User,
    grace: User,
    bot: User,
    eve: User,
    forge: Box<dyn Forge>,
}

impl Story {
    fn begin() -> Self {
        let gitea = Gitea::start().unwrap();
        let [ada, grace, bot, eve] = ["Ada", "grace", "bot", "eve"].map(|name| gitea.user(name).unwrap());
        let made = json!({ "name": "infra", "auto_init": true, "default_branch": "main" });
        gitea.ask(&ada, "POST", "/user/repos", &made).unwrap();
        for user in [&grace, &bot] {
            let path = format!("/repos/Ada/infra/collaborators/{}", user.name);
            gitea.ask(&ada, "PUT", &path, &json!({ "permission": "write" })).unwrap();
        }
        let forge = connect(Connection {
            kind: Kind::Gitea,
            address: Address::parse(&gitea.url(), false).unwrap(),
            repository: Repository::parse("Ada/infra").unwrap(),
            token: Some(Token::new(&bot.token).unwrap()),
            user: None,
            patience: Duration::ZERO,
        })
        .unwrap();
        Self { gitea, ada, grace, bot, eve, forge }
    }

    fn ask(&self, user: &User, method: &str, path: &str, body: &Json) -> Json {
        self.gitea.ask(user, method, &format!("/repos/{path}"), body).unwrap()
    }

    /// Commits a file to a branch, which may be new.
    fn commit(&self, user: &User, repository: &str, branch: &str, file: &str) {
        let mut body = json!({ "content": "YQo=", "message": format!("add {file}"), "branch": "main" });
        if branch != "main" {
            body["new_branch"] = json!(branch);
        }
        self.ask(user, "POST", &format!("{repository}/contents/{file}"), &body);
    }

    fn pull_request(&self, user: &User, head: &str) -> u64 {
        let body = json!({ "title": head, "head": head, "base": "main" });
        self.ask(user, "POST", "Ada/infra/pulls", &body)["number"].as_u64().unwrap()
    }
}

/// Serves a handler on a loopback port, as a caller of the library does.
async fn serve(handler: Handler) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let handler = handler.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request: Request<Incoming>| {
                    let handler = handler.clone();
                    async move { Ok::<_, Infallible>(handler.handle(request).await) }
                });
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    url
}

/// Waits for an event; others in between are of no interest.
async fn event(events: &mut mpsc::Receiver<Delivery>, wanted: &Event) {
    let wait = async {
        while let Some(delivery) = events.recv().await {
            if delivery.event == *wanted {
                assert!(delivery.id.len() > 30, "Gitea's id is a UUID: {}", delivery.id);
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap_or_else(|_| panic!("no {wanted:?}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_request_is_reviewed_on_a_real_forge() {
    let story = tokio::task::spawn_blocking(Story::begin).await.unwrap();
    let (handler, mut events) =
        receiver(Settings { sender: Sender::Gitea, secrets: vec![Secret::new(SECRET).unwrap()] });
    let url = serve(handler).await;
    hook(&story, &url);

    story.commit(&story.ada, "Ada/infra", "topic", "a.txt");
    let number = story.pull_request(&story.ada, "topic");
    let repository = || "Ada/infra".to_owned();
    event(&mut events, &Event::PullRequest { repository: repository(), number }).await;
    let pull_request = story.forge.pull_request(number).await.unwrap();
    assert_eq!((pull_request.author.as_str(), pull_request.base_branch.as_str()), ("ada", "main"));
    assert!(pull_request.open && !pull_request.from_fork);
    assert_eq!(story.forge.open_pull_requests().await.unwrap(), std::slice::from_ref(&pull_request));
    assert_eq!(story.forge.own_user().await.unwrap(), "bot");

    comments(&story, &pull_request).await;
    reviews(&story, &pull_request).await;
    event(&mut events, &Event::Review { repository: repository(), number }).await;
    let note = json!({ "body": "hello" });
    story.ask(&story.eve, "POST", &format!("Ada/infra/issues/{number}/comments"), &note);
    event(&mut events, &Event::Comment { repository: repository(), number }).await;

    story.commit(&story.ada, "Ada/infra", "main", "b.txt");
    let moved = story.forge.pull_request(number).await.unwrap();
    assert_ne!(moved.base, pull_request.base, "the base is the current tip");
    let changed = Event::SourceChanged {
        repository: repository(),
        reference: "refs/heads/main".to_owned(),
        revision: Some(moved.base.clone()),
    };
    event(&mut events, &changed).await;
    let known = story.forge.comments(number).await.unwrap();
    let now = (&moved.base, &moved.head);
    let marked = sticky::mark_stale(&*story.forge, number, (&known, "bot"), now, &|_| None).await.unwrap();
    assert_eq!(marked, 1);
    let known = story.forge.comments(number).await.unwrap();
    assert!(known.iter().any(|comment| comment.body.contains("> **Out of date:** the base branch moved")));
    fork(&story).await;
    ends(&story, number).await;
}

/// A merge is told from a pull request that is closed.
async fn ends(story: &Story, number: u64) {
    story.ask(&story.ada, "PATCH", &format!("Ada/infra/pulls/{number}"), &json!({ "state": "closed" }));
    let closed = story.forge.pull_request(number).await.unwrap();
    assert!(!closed.open && !closed.merged);
}

/// A webhook for everything.
fn hook(story: &Story, url: &str) {
    let events = [
        "push",
        "pull_request",
        "pull_request_comment",
        "pull_request_review_approved",
        "pull_request_review_rejected",
    ];
    let hook = json!({
        "type": "gitea",
        "active": true,
        "events": events,
        "config": { "url": url, "content_type": "json", "secret": SECRET },
    });
    story.ask(&story.ada, "POST", "Ada/infra/hooks", &hook);
}

/// A comment is updated in place, and nobody else's is touched.
async fn comments(story: &Story, pull_request: &PullRequest) {
    let (forge, number) = (&*story.forge, pull_request.number);
    let subject = MarkedPart::Cluster("prod".to_owned());
    let body = |sentence: &str| comment::without_plan(&subject, pull_request, (sentence, "text"), 60_000);
    // Eve writes a comment that looks like ours.
    let copy = json!({ "body": body("by eve") });
    story.ask(&story.eve, "POST", &format!("Ada/infra/issues/{number}/comments"), &copy);
    let mut ids = Vec::new();
    for sentence in ["first", "second", "second"] {
        let known = forge.comments(number).await.unwrap();
        let of = (&*known, story.bot.name.as_str());
        ids.push(sticky::post(forge, number, of, (&subject, &body(sentence))).await.unwrap());
    }
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let known = forge.comments(number).await.unwrap();
    let told: Vec<_> =
        known.iter().map(|comment| (comment.author.as_str(), comment.body.contains("by eve"))).collect();
    assert_eq!(told, [("eve", true), ("bot", false)]);
    let (marker, rest) = Marker::split(&known[1].body).unwrap();
    assert_eq!((marker.subject, marker.head), (subject, pull_request.head.clone()));
    assert!(rest.contains("second"));
}

/// Statuses show a plan, and a review afterwards approves it.
async fn reviews(story: &Story, pull_request: &PullRequest) {
    let (forge, digest) = (&*story.forge, Digest::of_bytes(b"plan"));
    let subject = MarkedPart::Cluster("prod".to_owned());
    let sentence = format!("2 changes, 0 dangerous; {}", report::mark(&digest));
    let status = report::status(&subject, StatusState::Pending, &sentence, None);
    forge.set_status(&pull_request.head, &status).await.unwrap();
    // Times of Gitea are whole seconds.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let reviews = format!("Ada/infra/pulls/{}/reviews", pull_request.number);
    let approve = json!({ "event": "APPROVED", "body": "good", "commit_id": pull_request.head.as_str() });
    story.ask(&story.grace, "POST", &reviews, &approve);
    story.ask(&story.eve, "POST", &reviews, &approve);

    let statuses = forge.statuses(&pull_request.head).await.unwrap();
    assert_eq!(statuses.len(), 1);
    assert_eq!((statuses[0].by.as_str(), statuses[0].state), ("bot", Some(StatusState::Pending)));
    let reviews = forge.reviews(pull_request.number).await.unwrap();
    assert!(reviews.iter().all(|review| review.verdict == Verdict::Approved));
    assert!(reviews.iter().all(|review| review.revision == Some(pull_request.head.clone())));
    let comments = forge.comments(pull_request.number).await.unwrap();
    let evidence =
        Evidence { pull_request, own: "bot", statuses: &statuses, reviews: &reviews, comments: &comments };
    let policy = ApprovalPolicy { needed: 1, people: vec!["Grace".to_owned()], author: false };
    let outcome = approvals::count(&policy, &digest, "prod", &evidence);
    assert_eq!(outcome.given.iter().map(|given| given.person.as_str()).collect::<Vec<_>>(), ["grace"]);
    assert_eq!(outcome.refused.iter().map(|refused| refused.person.as_str()).collect::<Vec<_>>(), ["eve"]);
    let other = approvals::count(&policy, &Digest::of_bytes(b"another plan"), "prod", &evidence);
    assert!(!other.is_enough(), "a review is bound to the plan that was shown");

    let path = format!("Ada/infra/pulls/{}/reviews", pull_request.number);
    let found = story.ask(&story.ada, "GET", &path, &Json::Null);
    let of_grace =
        found.as_array().unwrap().iter().find(|review| review["user"]["login"] == "grace").unwrap();
    let path = format!("{path}/{}/dismissals", of_grace["id"]);
    story.ask(&story.ada, "POST", &path, &json!({ "message": "by mistake", "priors": false }));
    let reviews = forge.reviews(pull_request.number).await.unwrap();
    let evidence = Evidence { reviews: &reviews, ..evidence };
    assert_eq!(approvals::count(&policy, &digest, "prod", &evidence).withdrawn, ["grace"]);
}

/// A pull request from a fork is told from others.
async fn fork(story: &Story) {
    story.ask(&story.eve, "POST", "Ada/infra/forks", &json!({}));
    story.commit(&story.eve, "eve/infra", "evil", "c.txt");
    let number = story.pull_request(&story.eve, "eve:evil");
    let labels = json!({ "name": "slipway-plan", "color": "#00aabb" });
    let label = story.ask(&story.ada, "POST", "Ada/infra/labels", &labels)["id"].clone();
    let labels = json!({ "labels": [label] });
    story.ask(&story.ada, "POST", &format!("Ada/infra/issues/{number}/labels"), &labels);
    let found = story.forge.pull_request(number).await.unwrap();
    assert!(found.from_fork);
    assert_eq!((found.author.as_str(), &*found.labels), ("eve", &["slipway-plan".to_owned()][..]));
    assert!(Revision::parse(found.head.as_str()).is_some());
}
