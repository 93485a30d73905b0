//! Renderings of hand-made plans, as snapshots and as laws.

#[cfg(test)]
#[path = "render/browser.rs"]
mod browser;
#[cfg(test)]
#[path = "render/fixture.rs"]
mod fixture;
#[cfg(test)]
#[path = "render/laws.rs"]
mod laws;
#[cfg(test)]
#[path = "render/page.rs"]
mod page;
#[cfg(test)]
#[path = "render/pictures.rs"]
mod pictures;
#[cfg(test)]
#[path = "render/snapshots.rs"]
mod snapshots;
