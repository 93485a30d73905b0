//! Adapters against answers in the shapes of the published API descriptions, served on a loopback port, and against a real Gitea.

#[cfg(test)]
mod gitea;
#[cfg(test)]
mod github;
#[cfg(test)]
mod gitlab;
#[cfg(test)]
mod served;
#[cfg(test)]
mod transport;
