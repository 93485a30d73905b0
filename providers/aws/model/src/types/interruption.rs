//! How a cluster learns of instances that go: a queue, and the rules that feed it.

use slipway_resource::schema::OwnershipKind;
use slipway_resource::{Attribute, Form, Type};

use super::builder::{BOOL, Builder, INTEGER, Named, TEXT, blocks, may};
use super::rate::{EVENTS, SQS};

pub(super) fn types() -> Vec<Named> {
    vec![queue(), event_rule(), event_target()]
}

fn queue() -> Named {
    Builder::new("aws_sqs_queue", SQS, "A queue of messages.")
        .read_by_identity()
        .id("Its URL.")
        .arn()
        .tags()
        .idempotent()
        .fixed("name", TEXT, "Its name, once in a region.")
        .attribute(
            "fifo_queue",
            Attribute::optional(BOOL).immutable().default_to(false),
            "Whether messages keep their order.",
        )
        .number("message_retention_seconds", 345_600, "For how long a message is kept, in seconds.")
        .number(
            "visibility_timeout_seconds",
            30,
            "For how long a message that was received is hidden, in seconds.",
        )
        .number("delay_seconds", 0, "For how long a new message is hidden, in seconds.")
        .optional_computed("max_message_size", INTEGER, "The size of the largest message, in bytes.")
        .number("receive_wait_time_seconds", 0, "For how long a receive waits, in seconds.")
        .optional("policy", TEXT, "Principals that may send and receive: a policy document.")
        .optional("redrive_policy", TEXT, "The dead-letter queue: a JSON document.")
        .optional_computed(
            "sqs_managed_sse_enabled",
            BOOL,
            "Whether messages are encrypted with a key of SQS.",
        )
        .optional("kms_master_key_id", TEXT, "The key that messages are encrypted with.")
        .number("kms_data_key_reuse_period_seconds", 300, "For how long a data key is used, in seconds.")
        .computed("url", TEXT, "Its URL.")
        .exclusive(["name"])
        // A name can be used again a minute after its queue was deleted.
        .takes(1_500, 1_000, 1_000)
        .forms(&["policy"], &[Form::Policy])
        .forms(&["redrive_policy"], &[Form::Json])
        .build()
}

fn event_rule() -> Named {
    let tags = Attribute::optional(Type::map(TEXT)).write_only();
    Builder::new("aws_cloudwatch_event_rule", EVENTS, "Rule that selects events.")
.read_by_identity()
        .id("Its name; on another bus than the default one the bus and the name, with a slash between them.")
        .arn()
        .attribute(
            "tags",
            tags,
            "Tags, without those that say whose it is; AWS lists them one rule at a time, so they are compared with what \
             was applied last.",
        )
        .idempotent()
        .fixed("name", TEXT, "Its name, once on a bus.")
        .attribute(
            "event_bus_name",
            Attribute::optional(TEXT).immutable().default_to("default"),
            "The bus that it listens to.",
        )
        .optional("event_pattern", TEXT, "The events: a JSON document.")
        .optional("schedule_expression", TEXT, "The times, as rate(5 minutes).")
        .optional("description", TEXT, "Free text that describes the object.")
        .text("state", "ENABLED", "ENABLED or DISABLED.")
        .optional("role_arn", TEXT, "The role with which it passes events on.")
        .exclusive(["name"])
        .takes(500, 500, 500)
        .forms(&["event_pattern"], &[Form::JsonSets])
        .forms(&["state"], &[Form::Case])
        .build()
}

fn event_target() -> Named {
    Builder::new("aws_cloudwatch_event_target", EVENTS, "Where the events of a rule go.")
        .read_by_identity()
        .id("The rule's name and the target's id, with a slash between them.")
        .owned_by(OwnershipKind::Parent)
        .idempotent()
        .fixed("rule", TEXT, "The rule.")
        .attribute(
            "event_bus_name",
            Attribute::optional(TEXT).immutable().default_to("default"),
            "The bus of the rule.",
        )
        .attribute(
            "target_id",
            Attribute::optional(TEXT).immutable().default_to("1"),
            "Its name, once in a rule.",
        )
        .required("arn", TEXT, "Target of the events.")
        .optional("input", TEXT, "JSON document that is sent instead of the event.")
        .optional("input_path", TEXT, "The part of the event that is sent.")
        .optional("role_arn", TEXT, "The role with which it sends.")
        .optional(
            "sqs_target",
            blocks([may(
                "message_group_id",
                TEXT,
                "The group of the messages, in a queue that keeps their order.",
            )]),
            "Settings of a queue as the target.",
        )
        .takes(500, 500, 500)
        .build()
}
