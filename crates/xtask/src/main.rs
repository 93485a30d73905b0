//! Developer tasks.

use clap::{Parser, Subcommand};

mod codegen;

/// Developer tasks of Slipway.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    Codegen(codegen::Codegen),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().task {
        Task::Codegen(codegen) => codegen.run(),
    }
}
