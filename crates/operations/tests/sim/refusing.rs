//! Plans that are not carried out.

use async_trait::async_trait;
use slipway_operations::{
    Approvals, Approve, Decide, Decline, Declined, Error, Manner, Names, Opened, Outcome, Request, Terms,
    bring,
};
use slipway_plan::{Confirmation, Plan};

use crate::world::{CLUSTER, World};

#[tokio::test]
async fn nothing_happens_when_the_plan_is_declined() {
    let world = World::new();
    let refused = world.apply(1, &Decline).await.unwrap_err();
    assert!(matches!(refused, Error::Declined(Declined::No)), "{refused:?}");
    assert_eq!(refused.code(), Some("CLI0015"));
    assert!(world.inventory().objects.is_empty());
    assert_eq!(world.generation().await, None);
    assert!(world.events.lock().unwrap().is_empty(), "no run began");
    // No process holds the cluster afterwards.
    world.applied(1).await;
}

#[tokio::test]
async fn a_plan_without_its_approvals_is_not_even_decided_about() {
    let world = World::new();
    let terms = Terms { approvals: Approvals { needed: 1, by_other: false }, ..Terms::default() };
    let opened = world.opened(1).await;
    let manner = Manner::new(&terms, &Unasked);
    let refused = bring(&world.environment, &opened, &Request::apply(), manner).await.unwrap_err();
    assert!(matches!(refused, Error::Unapproved { needed: 1, counted: 0, .. }), "{refused:?}");
    assert!(world.inventory().objects.is_empty());
    // The hint names another person only where the own approval does not count.
    assert!(refused.hints().concat().contains("after a person has run"), "{:?}", refused.hints());
    let terms = Terms { approvals: Approvals { needed: 1, by_other: true }, ..Terms::default() };
    let manner = Manner::new(&terms, &Unasked);
    let refused = bring(&world.environment, &opened, &Request::apply(), manner).await.unwrap_err();
    assert!(refused.hints().concat().contains("after another person has run"), "{:?}", refused.hints());
}

/// Must not be called.
struct Unasked;

#[async_trait(?Send)]
impl Decide for Unasked {
    async fn approve(&self, _plan: &Plan) -> Result<(), Declined> {
        panic!("it is decided about")
    }
}

/// Deletes the cluster, with the given decision.
async fn delete(world: &World, decide: &dyn Decide) -> Result<Outcome, Error> {
    let spec = slipway_operations::state::recorded(&world.environment, CLUSTER).await?;
    let opened = Opened::leaving(&world.environment, spec).await?;
    let terms = Terms::default();
    bring(&world.environment, &opened, &Request::delete(true, false), Manner::new(&terms, decide)).await
}

#[tokio::test]
async fn a_loss_that_nobody_names_is_refused_before_anything_is_decided() {
    let world = World::new();
    world.applied(1).await;
    let before = world.inventory().objects.len();
    let refused = delete(&world, &Unasked).await.unwrap_err();
    let Error::Unconfirmed(missing) = &refused else { panic!("{refused:?}") };
    assert_eq!(missing.iter().map(|missing| missing.name.as_str()).collect::<Vec<_>>(), [CLUSTER]);
    assert_eq!(refused.hints(), [format!("to confirm the loss, add --confirm {CLUSTER}")]);
    assert!(!refused.causes().is_empty(), "each loss is named");
    assert_eq!(world.inventory().objects.len(), before);
    let other = Approve { names: Names::from(["other".to_owned()]) };
    assert!(matches!(delete(&world, &other).await, Err(Error::Unconfirmed(_))), "another name is none");
    let named = Approve { names: Names::from([CLUSTER.to_owned()]) };
    assert!(delete(&world, &named).await.unwrap().is_complete());
    assert!(world.inventory().objects.is_empty());
}

#[tokio::test]
async fn a_deletion_that_would_fail_is_refused_before_its_first_step() {
    let world = World::new();
    world.applied(1).await;
    world.keep_networks();
    let before = world.inventory().objects.len();
    let named = Approve { names: Names::from([CLUSTER.to_owned()]) };
    let refused = delete(&world, &named).await.unwrap_err();
    assert!(matches!(refused, Error::CannotWork(_)), "{refused:?}");
    assert_eq!(world.inventory().objects.len(), before, "nothing is deleted");

    let spec = slipway_operations::state::recorded(&world.environment, CLUSTER).await.unwrap();
    let opened = Opened::leaving(&world.environment, spec).await.unwrap();
    let terms = Terms::default();
    let request = Request::delete(true, false).without_preflight();
    let outcome = bring(&world.environment, &opened, &request, Manner::new(&terms, &named)).await.unwrap();
    assert!(!outcome.is_complete(), "{outcome:?}");
    assert!(world.inventory().objects.len() < before, "the rest is deleted");
}

/// Types a name when one is requested.
struct Typing(&'static str);

#[async_trait(?Send)]
impl Decide for Typing {
    fn confirms(&self) -> bool {
        true
    }

    async fn confirm(&self, _plan: &Plan, confirmation: &Confirmation) -> Result<(), Declined> {
        match confirmation.name == self.0 {
            true => Ok(()),
            false => Err(Declined::WrongName(confirmation.name.clone())),
        }
    }

    async fn approve(&self, _plan: &Plan) -> Result<(), Declined> {
        panic!("a name that was typed is the approval")
    }
}

#[tokio::test]
async fn a_loss_is_confirmed_by_its_name_alone() {
    let world = World::new();
    world.applied(1).await;
    let refused = delete(&world, &Typing("yes")).await.unwrap_err();
    assert_eq!(refused.code(), Some("CLI0036"));
    assert!(delete(&world, &Typing(CLUSTER)).await.unwrap().is_complete());
    assert!(world.inventory().objects.is_empty());
}
