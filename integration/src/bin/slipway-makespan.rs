//! How long a run takes in simulated time beside the longest chain of its steps: the benchmark's figure for the
//! ready-queue. Many short chains compete with one long chain of slow steps.

use std::io::Write as _;

use anyhow::{Result, ensure};
use serde_json::json;
use slipway_integration::lab::{Lab, cluster};

const SPEC: &str = include_str!("../../tests/it/rollout.yaml");

fn main() -> Result<()> {
    // The simulated clock does not advance while any task runs, and jumps when all tasks wait.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(async {
        let mut lab = Lab::new()?;
        lab.settings.insert("timeScale".to_owned(), json!(1.0));
        let mut wanted = cluster(SPEC)?;
        let tail = json!({ "length": 600, "sleepMs": 1000 });
        wanted.provider.config =
            json!({ "objects": { "count": 4000, "chain": 4, "sleepMs": 2000, "tail": tail } });
        let begun = tokio::time::Instant::now();
        let (plan, report) = lab.apply(&wanted).await?;
        ensure!(report.is_complete(), "{:?}", report.failures);
        writeln!(std::io::stdout(), "{} {}", begun.elapsed().as_millis(), plan.critical_path_ms)?;
        Ok(())
    })
}
