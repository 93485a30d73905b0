//! Collects the pages of `docs/errors`, for `slipway explain CODE`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let folder = root.join("docs/errors");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut pages: Vec<PathBuf> =
        fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    let mut list = String::from("&[\n");
    for page in &pages {
        let code = page.file_stem().unwrap_or_default().to_string_lossy();
        // Writing to a string cannot fail.
        let _ = writeln!(list, "    ({code:?}, include_str!({:?})),", page.display().to_string());
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(Path::new(&out).join("error_pages.rs"), list)
}
