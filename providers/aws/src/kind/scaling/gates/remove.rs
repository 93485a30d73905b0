//! The end of an instance.

use slipway_resource::{ErrorClass, ProviderError};

use super::turns::Turns;
use super::view::{self, DETACHED, Machine};
use super::{Gate, warm};
use crate::act::Wait;
use crate::error::invalid;
use crate::kind::scaling::group::Groups;
use crate::owner::of_ec2;
use crate::rate::Class;

/// For how long an instance may take to end: hooks may hold it for two hours.
const LIMIT: std::time::Duration = std::time::Duration::from_secs(7_200);

/// Where an instance belongs.
enum Place {
    /// In its group, which replaces it.
    Group,
    /// In its group, on its way out.
    Leaving,
    /// Between its group and none: AWS waits for its connections to end.
    Detaching,
    /// In no group, since it left for its replacement.
    Nowhere,
    /// In another group or in none that it has ever left: not ours to end.
    Elsewhere,
}

impl Gate<'_> {
    /// Ends an instance. An instance in its group is replaced by the group; one that has left was replaced
    /// before, or is not replaced. With `retire`, no replacement may start: an instance that is in its group
    /// then ends with the group.
    pub(super) async fn remove(&self, member: &str, retire: bool) -> Result<Option<Machine>, ProviderError> {
        let turns = self.act.cloud.shared::<Turns>().of(self.group);
        let mut wait = Wait::for_at_most(LIMIT);
        let mut told = String::new();
        let mut asked = false;
        loop {
            let found = view::by_ids(self.act.cloud, &[member]).await?;
            let Some(instance) = found.into_iter().next().filter(view::is_alive) else {
                turns.done().left.remove(member);
                turns.done().retired.remove(member);
                return Ok(None);
            };
            let left = of_ec2(instance.tags()).get(DETACHED).map(String::as_str) == Some(self.group)
                || turns.done().left.contains_key(member)
                || turns.done().retired.contains(member);
            let place = self.place(member, left).await?;
            if !asked {
                match place {
                    Place::Group if retire && !left => {
                        self.act.progress(format!("{member} ends with its group"));
                        return Ok(None);
                    }
                    // The instance has left the group, and reads do not show it yet.
                    Place::Group if retire => {
                        self.wait(&mut wait, &mut told, &format!("{member} leaves the group")).await?;
                        continue;
                    }
                    Place::Group => {
                        warm::renew(self.act.cloud, self.group).await?;
                        self.end_and_replace(member).await?;
                    }
                    // A target group still drains its connections.
                    Place::Detaching => {
                        let why = format!("{member} leaves the group after its connections");
                        self.wait(&mut wait, &mut told, &why).await?;
                        continue;
                    }
                    Place::Nowhere => self.end(member).await?,
                    Place::Leaving => {}
                    Place::Elsewhere => {
                        return Err(invalid(format!(
                            "instance {member} is not of auto-scaling group {}",
                            self.group
                        )));
                    }
                }
                asked = true;
            }
            self.wait(&mut wait, &mut told, &format!("{member} ends")).await?;
        }
    }

    async fn place(&self, member: &str, left: bool) -> Result<Place, ProviderError> {
        let group = self.act.cloud.get::<Groups>(self.group).await?;
        let instances = group.iter().flat_map(|group| group.instances());
        let mut of_it = instances.filter(|instance| instance.instance_id() == Some(member));
        let state = of_it.next().map(|instance| {
            instance.lifecycle_state().map(|state| state.as_str()).unwrap_or_default().to_owned()
        });
        Ok(match state {
            Some(state) if state.starts_with("Terminat") => Place::Leaving,
            Some(state) if state.starts_with("Detach") => Place::Detaching,
            // Tagged and still inside: the gate that was to take it out was interrupted.
            Some(_) => Place::Group,
            None if left => Place::Nowhere,
            None => Place::Elsewhere,
        })
    }

    async fn end_and_replace(&self, member: &str) -> Result<(), ProviderError> {
        let request = self
            .act
            .cloud
            .autoscaling()
            .terminate_instance_in_auto_scaling_group()
            .instance_id(member)
            .should_decrement_desired_capacity(false);
        let sent = self
            .act
            .cloud
            .write(Class::AutoScaling, "TerminateInstanceInAutoScalingGroup", || request.clone().send())
            .await;
        match sent {
            // The instance is gone by itself.
            Err(error) if matches!(error.class, ErrorClass::Invalid | ErrorClass::NotFound) => Ok(()),
            other => other.map(drop),
        }
    }

    async fn end(&self, member: &str) -> Result<(), ProviderError> {
        let request = self.act.cloud.ec2().terminate_instances().instance_ids(member);
        let sent =
            self.act.cloud.write(Class::Ec2Write, "TerminateInstances", || request.clone().send()).await;
        match sent {
            Err(error) if error.class == ErrorClass::NotFound => Ok(()),
            other => other.map(drop),
        }
    }
}
