use std::sync::PoisonError;

use slipway_resource::{Observed, Value};

use super::*;
use crate::preconditions::READ_AGE;
use crate::scripted::{Scripted, thing};

type Calls = Arc<Mutex<Vec<Vec<String>>>>;

/// A reader of things that all exist, and the addresses in each of its calls.
fn reader(batch: usize) -> (Reader, Calls) {
    let calls = Calls::default();
    let log = Arc::clone(&calls);
    let session = Scripted::default().on_read(move |requests| {
        let names = requests.iter().map(|request| request.address.to_string()).collect();
        log.lock().unwrap_or_else(PoisonError::into_inner).push(names);
        let observed = |request: ReadRequest| Observed {
            address: request.address,
            owner: None,
            observation: Observation::Present(Value::from(request.identity.as_str())),
            identity: request.identity,
            token: None,
        };
        Ok(requests.into_iter().map(observed).collect())
    });
    (Reader::start(Arc::new(session), batch, READ_AGE).0, calls)
}

fn taken(calls: &Calls) -> Vec<Vec<String>> {
    std::mem::take(&mut *calls.lock().unwrap())
}

async fn shows(reader: &Reader, address: &Address, id: &str) {
    let found = reader.read(address, &Identity::new(id)).await;
    assert_eq!(found, Observation::Present(Value::from(id)));
}

#[tokio::test(start_paused = true)]
async fn one_read_serves_all_objects_of_a_type_for_ten_seconds() {
    let (reader, calls) = reader(100);
    let other = Address::new("other", "x");
    for name in ["a", "b", "c"] {
        reader.expect(&thing(name), &Identity::new(name));
    }
    reader.expect(&other, &Identity::new("x"));
    reader.begun(&thing("a"));
    shows(&reader, &thing("a"), "a").await;
    assert_eq!(taken(&calls), [["thing.a", "thing.b", "thing.c"]]);
    reader.begun(&thing("b"));
    shows(&reader, &thing("b"), "b").await;
    assert!(taken(&calls).is_empty());
    // Another object at the same address was not read yet.
    shows(&reader, &thing("b"), "anew").await;
    assert_eq!(taken(&calls), [["thing.b"]]);
    tokio::time::sleep(READ_AGE).await;
    shows(&reader, &thing("b"), "b").await;
    assert_eq!(taken(&calls), [["thing.b", "thing.c"]]);
}

#[tokio::test(start_paused = true)]
async fn an_object_is_announced_once_for_each_of_its_steps() {
    let (reader, calls) = reader(100);
    reader.expect(&thing("b"), &Identity::new("b"));
    reader.expect(&thing("b"), &Identity::new("b"));
    reader.begun(&thing("b"));
    shows(&reader, &thing("a"), "a").await;
    assert_eq!(taken(&calls), [["thing.a", "thing.b"]]);
    reader.begun(&thing("b"));
    shows(&reader, &thing("c"), "c").await;
    assert_eq!(taken(&calls), [["thing.c"]]);
}

#[tokio::test(start_paused = true)]
async fn a_call_has_no_more_objects_than_the_provider_takes() {
    let (reader, calls) = reader(2);
    for name in ["b", "c"] {
        reader.expect(&thing(name), &Identity::new(name));
    }
    shows(&reader, &thing("a"), "a").await;
    assert_eq!(taken(&calls), [["thing.a", "thing.b"]]);
}
