//! A controller against a real Git repository and the simulated cloud.
#![cfg(test)]

mod busy;
mod endless;
mod folder;
mod notified;
mod people;
mod replicas;
mod repository;
mod story;
mod trouble;
mod waves;
mod world;
