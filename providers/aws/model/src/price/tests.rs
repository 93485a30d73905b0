use super::*;

fn item(address: &str, desired: Option<Value>, observed: Option<Value>) -> PlanItem {
    PlanItem { address: address.parse().unwrap(), desired, observed, last_applied: None }
}

fn template(machine: &str) -> Value {
    let ebs = Value::map([
        ("volume_size", Value::from(100_i64)),
        ("volume_type", Value::from("gp3")),
        ("iops", Value::from(4000_i64)),
    ]);
    let mapping = Value::map([("device_name", Value::Unknown), ("ebs", Value::List(vec![ebs]))]);
    let interface = Value::map([("associate_public_ip_address", Value::from(true))]);
    Value::map([
        ("id", Value::from("lt-1")),
        ("instance_type", Value::from(machine)),
        ("block_device_mappings", Value::List(vec![mapping])),
        ("network_interfaces", Value::List(vec![interface])),
    ])
}

fn group(size: i64, template: Value) -> Value {
    let launch = Value::map([("id", template)]);
    Value::map([("min_size", Value::from(size)), ("launch_template", Value::List(vec![launch]))])
}

#[test]
fn a_key_of_the_key_service_costs_a_dollar_a_month() {
    let items = [item("aws_kms_key.a", Some(Value::map([("alias", "alias/a")])), None)];
    let report = price("eu-west-1", &Value::Null, &items).unwrap();
    let expected = millis(PriceList::read(&Value::Null).unwrap().factor("eu-west-1").unwrap());
    assert_eq!(report.prices[0].after, Some(MonthlyPrice::Known(expected)));
    assert_eq!(
        price("us-east-1", &Value::Null, &items).unwrap().prices[0].after,
        Some(MonthlyPrice::Known(1_000))
    );
}

#[test]
fn machines_are_counted_with_their_disks_and_addresses() {
    let address: Address = "aws_launch_template.nodes".parse().unwrap();
    let items = [
        item("aws_launch_template.nodes", Some(template("m5.large")), Some(template("t3.medium"))),
        item(
            "aws_autoscaling_group.nodes",
            Some(group(3, Value::reference(address, "id"))),
            Some(group(2, "lt-1".into())),
        ),
        item("aws_vpc.a", Some(Value::map([("id", "vpc-1")])), None),
    ];
    let report = price("us-east-1", &Value::Null, &items).unwrap();
    assert!(report.list.contains("snapshot of"));
    let one = |hour: f64| 730.0 * hour + 100.0 * 0.08 + 1000.0 * 0.005 + 730.0 * 0.005;
    let expected = ResourcePrice {
        address: "aws_autoscaling_group.nodes".parse().unwrap(),
        before: Some(MonthlyPrice::Known(millis(2.0 * one(0.0416)))),
        after: Some(MonthlyPrice::Known(millis(3.0 * one(0.096)))),
    };
    assert_eq!(report.prices, [expected]);
}

#[test]
fn what_the_list_does_not_say_is_unknown_and_not_nothing() {
    let nat = || item("aws_nat_gateway.a", Some(Value::map([("id", "nat-1")])), None);
    let after = |region: &str, item: PlanItem| {
        price(region, &Value::Null, &[item]).unwrap().prices[0].after.clone().unwrap()
    };
    assert_eq!(after("us-east-1", nat()), MonthlyPrice::Known(32_850));
    assert_eq!(after("mars-1", nat()), MonthlyPrice::Unknown("the list has no prices of mars-1".to_owned()));
    let lonely = item("aws_autoscaling_group.a", Some(group(1, "lt-9".into())), None);
    assert_eq!(
        after("us-east-1", lonely),
        MonthlyPrice::Unknown("its launch template is not known".to_owned())
    );
}

#[test]
fn a_list_of_ones_own_takes_the_place_of_the_snapshot() {
    let mut own: serde_json::Value = serde_json::from_str(include_str!("snapshot.json")).unwrap();
    own["name"] = "ours".into();
    own["regionFactors"]["mars-1"] = 2.0.into();
    let nat = item("aws_nat_gateway.a", Some(Value::map([("id", "nat-1")])), None);
    let report = price("mars-1", &Value::from_json(&own), &[nat]).unwrap();
    assert_eq!(report.list, "ours");
    assert_eq!(report.prices[0].after, Some(MonthlyPrice::Known(65_700)));
    let broken = Value::from_json(&serde_json::json!({ "name": "ours" }));
    assert!(price("mars-1", &broken, &[]).is_err());
}
