//! The parts of a cluster's API that a roll needs, under the test's control: every running instance of moto
//! is a node, except those of an image that never joins.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};
use slipway_testkit::http;

/// An image whose instances never join.
pub const BROKEN: &str = "ami-785db401";

/// Moto finds the service in the scope of the signature, and does not check the signature itself.
const SIGNED: (&str, &str) = (
    "Authorization",
    "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0",
);

/// A running instance of moto.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    pub id: String,
    pub image: String,
    pub zone: String,
}

/// The running instances of moto.
pub fn running(moto: u16) -> Vec<Instance> {
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let body = b"Action=DescribeInstances&Version=2016-11-15";
    let answer = http::request("POST", moto, "/", &[SIGNED, form], body).unwrap();
    let text = String::from_utf8(answer.body).unwrap();
    let field = |part: &str, name: &str| {
        let rest = part.split_once(&format!("<{name}>")).unwrap_or_default().1;
        rest.split_once('<').unwrap_or_default().0.to_owned()
    };
    text.split("<instanceId>")
        .skip(1)
        .filter(|part| field(part, "name") == "running")
        .map(|part| Instance {
            id: part.split_once('<').unwrap().0.to_owned(),
            image: field(part, "imageId"),
            zone: field(part, "availabilityZone"),
        })
        .collect()
}

/// A pod.
#[derive(Clone, Debug)]
pub struct Pod {
    pub name: String,
    pub instance: String,
    pub owner: &'static str,
    /// How often its budget refuses an eviction before it lets it go.
    pub refusals: usize,
}

#[derive(Default)]
struct State {
    pods: Vec<Pod>,
    cordoned: BTreeSet<String>,
    evicted: Vec<String>,
    attempts: BTreeMap<String, usize>,
}

/// The API.
#[derive(Clone)]
pub struct ClusterApi {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl ClusterApi {
    /// Starts an API beside a moto. It ends with the process.
    pub fn start(moto: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // A client that went away is nothing to the others.
                let _ = serve(stream, moto, &shared);
            }
        });
        Self { port, state }
    }

    /// Its URL.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Puts a pod onto an instance.
    pub fn put(&self, name: &str, instance: &str, owner: &'static str, refusals: usize) {
        let pod = Pod { name: name.to_owned(), instance: instance.to_owned(), owner, refusals };
        self.state.lock().unwrap().pods.push(pod);
    }

    /// The names of the pods that were evicted, in their order.
    pub fn evicted(&self) -> Vec<String> {
        self.state.lock().unwrap().evicted.clone()
    }

    /// The instances whose nodes are cordoned.
    pub fn cordoned(&self) -> BTreeSet<String> {
        self.state.lock().unwrap().cordoned.clone()
    }
}

fn serve(stream: TcpStream, moto: u16, state: &Mutex<State>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ');
    let (method, target) =
        (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default().to_owned());
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        if header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Json = serde_json::from_slice(&body).unwrap_or_default();
    let (status, answer) = respond(&method, &target, &body, moto, &mut state.lock().unwrap());
    let text = answer.to_string();
    write!(
        reader.get_mut(),
        "HTTP/1.1 {status} Told\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
}

fn node(instance: &Instance, state: &State) -> Json {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("node-{}", instance.id)},
        "spec": {"providerID": format!("aws:///{}/{}", instance.zone, instance.id),
            "unschedulable": state.cordoned.contains(&instance.id)},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
}

fn respond(method: &str, target: &str, body: &Json, moto: u16, state: &mut State) -> (u16, Json) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match (method, parts.as_slice()) {
        ("GET", ["api", "v1", "nodes"]) => {
            let nodes = running(moto).into_iter().filter(|instance| instance.image != BROKEN);
            let nodes: Vec<Json> = nodes.map(|instance| node(&instance, state)).collect();
            (200, json!({"items": nodes, "metadata": {}}))
        }
        ("GET", ["api", "v1", "nodes", name]) => {
            let mut nodes = running(moto).into_iter().filter(|instance| instance.image != BROKEN);
            match nodes.find(|instance| *name == format!("node-{}", instance.id)) {
                Some(instance) => (200, node(&instance, state)),
                None => {
                    (404, json!({"reason": "NotFound", "message": format!("nodes \"{name}\" not found")}))
                }
            }
        }
        ("PATCH", ["api", "v1", "nodes", name]) => {
            let instance = name.trim_start_matches("node-");
            match body["spec"]["unschedulable"].as_bool() {
                Some(true) => state.cordoned.insert(instance.to_owned()),
                _ => state.cordoned.remove(instance),
            };
            (200, json!({}))
        }
        ("GET", ["apis", "policy", "v1", "poddisruptionbudgets"]) => {
            let tight = state.pods.iter().any(|pod| pod.refusals > 0);
            let budget = json!({"metadata": {"name": "web", "namespace": "default"},
                "spec": {"selector": {"matchLabels": {"app": "web"}}},
                "status": {"disruptionsAllowed": if tight { 0 } else { 1 }}});
            (200, json!({"items": [budget], "metadata": {}}))
        }
        ("GET", ["api", "v1", "pods"]) if !query.contains("fieldSelector") => {
            let pod = |pod: &Pod| {
                let labels = if pod.refusals > 0 { json!({"app": "web"}) } else { json!({}) };
                json!({"metadata": {"name": pod.name, "namespace": "default", "labels": labels,
                    "ownerReferences": [{"kind": pod.owner}]},
                    "spec": {"nodeName": format!("node-{}", pod.instance)}, "status": {"phase": "Running"}})
            };
            (200, json!({"items": state.pods.iter().map(pod).collect::<Vec<_>>(), "metadata": {}}))
        }
        ("GET", ["api", "v1", "pods"]) => {
            let selected = query.split('&').find_map(|part| part.strip_prefix("fieldSelector="));
            let pods = state
                .pods
                .iter()
                .filter(|pod| selected == Some(format!("spec.nodeName%3Dnode-{}", pod.instance).as_str()));
            let pod = |pod: &Pod| {
                json!({"metadata": {"name": pod.name, "namespace": "default", "ownerReferences": [{"kind": pod.owner}]},
                    "status": {"phase": "Running"}})
            };
            (200, json!({"items": pods.map(pod).collect::<Vec<_>>(), "metadata": {}}))
        }
        // No node has a member of etcd.
        ("GET", ["api", "v1", "namespaces", "kube-system", "pods"]) => {
            (200, json!({"items": [], "metadata": {}}))
        }
        ("POST", ["api", "v1", "namespaces", "default", "pods", name, "eviction"]) => {
            let Some(pod) = state.pods.iter().find(|pod| pod.name == *name).cloned() else {
                return (404, json!({"reason": "NotFound", "message": "no such pod"}));
            };
            let attempts = state.attempts.entry(pod.name.clone()).or_default();
            *attempts += 1;
            if *attempts <= pod.refusals {
                let cause = "The disruption budget web needs 2 healthy pods and has 2 currently";
                return (
                    429,
                    json!({"reason": "TooManyRequests",
                    "message": "Cannot evict pod as it would violate the pod's disruption budget.",
                    "details": {"causes": [{"reason": "DisruptionBudget", "message": cause}]}}),
                );
            }
            state.pods.retain(|other| other.name != pod.name);
            state.evicted.push(pod.name);
            (201, json!({}))
        }
        ("DELETE", ["api", "v1", "namespaces", "default", "pods", name]) => {
            state.pods.retain(|pod| pod.name != *name);
            state.evicted.push(format!("{name} by force"));
            (200, json!({}))
        }
        other => panic!("the API is asked for {other:?}"),
    }
}
