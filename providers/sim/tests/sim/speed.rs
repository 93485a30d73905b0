//! The cost of ten thousand objects. Run by hand, in release mode: no time is asserted.

use std::time::Instant;

use serde_json::json;
use slipway_resource::Value;
use slipway_resource::provider::PlanItem;

use crate::harness::open;

const COUNT: usize = 10_000;

#[tokio::test]
#[ignore = "prints times"]
async fn ten_thousand_objects() {
    let directory = tempfile::tempdir().unwrap();
    let harness = open(directory.path(), json!({})).await;
    let desired = |index: usize| {
        Value::from_json(&json!({"key": format!("k-{index}"), "text": "x".repeat(200),
            "data": {"a": "b", "c": "d"}}))
    };
    let begun = Instant::now();
    for index in 0..COUNT {
        harness.create(&format!("sim_object.o-{index:06}"), desired(index)).await.unwrap();
    }
    println!("create {:?}", begun.elapsed());

    let fresh = open(directory.path(), json!({})).await;
    let begun = Instant::now();
    let observed = fresh.observe().await;
    println!("open and discover {:?}", begun.elapsed());
    let begun = Instant::now();
    assert_eq!(fresh.observe().await.len(), COUNT);
    println!("discover again {:?}", begun.elapsed());

    let items: Vec<PlanItem> = observed
        .iter()
        .enumerate()
        .map(|(index, (address, (_, attributes)))| PlanItem {
            address: address.clone(),
            desired: Some(desired(index)),
            observed: Some(attributes.clone()),
            last_applied: None,
        })
        .collect();
    let batches: Vec<Vec<PlanItem>> = items.chunks(1000).map(<[PlanItem]>::to_vec).collect();
    let begun = Instant::now();
    for batch in batches {
        fresh.session.plan(batch).await.unwrap();
    }
    println!("plan {:?}", begun.elapsed());

    let begun = Instant::now();
    for (address, (identity, _)) in &observed {
        fresh.delete(&address.to_string(), identity.as_str()).await.unwrap();
    }
    println!("delete {:?}", begun.elapsed());
}
