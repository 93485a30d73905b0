//! Runs the commands of README and guide, and compares the output that the pages show.
//!
//! Each page has a story in `fixtures/documents`: its command blocks in order, with what has to happen before a block. A block
//! without an entry fails, and so does an entry without a block, so that a page and its story stay in step.

mod page;
mod shown;
mod story;

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use slipway_integration::bucket::Bucket;
use slipway_integration::executables::root;
use slipway_integration::place::{Ended, Place, copy};
use slipway_provider_sim::inspect::Tamper;

use crate::PROGRAM;
use page::{Block, blocks};
use story::{Entry, Story};

/// A folder like a fresh clone, with `slipway` on the path.
struct Reader {
    place: Place,
}

impl Reader {
    fn new(story: &Story) -> Result<Self> {
        if story.offline {
            crate::offline::place()?;
        }
        let place = if story.bucket { Place::on_s3(PROGRAM)? } else { Place::new(PROGRAM)? };
        std::fs::create_dir(place.path().join("bin"))?;
        std::os::unix::fs::symlink(PROGRAM, place.path().join("bin/slipway"))?;
        for folder in ["specs", "fixtures/kops", "fixtures/bad-specs"] {
            copy(&root().join(folder), &place.path().join(folder))?;
        }
        Ok(Self { place })
    }

    /// The URL of its bucket; nothing without one.
    fn bucket(&self) -> String {
        self.place.bucket().map(Bucket::url).unwrap_or_default()
    }

    /// Runs a script in the folder, as a reader of the page would.
    fn run(&self, script: &str) -> Result<Ended> {
        let path = std::env::var("PATH").unwrap_or_default();
        // The environment is that of any other test; the program is found by its name.
        let like = self.place.command(&[]);
        let mut shell = Command::new("bash");
        for (name, value) in like.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        // One shell session for the whole page: exported variables are kept. The page tells where the state
        // is.
        let script = format!(
            "if [ -e .session ]; then . ./.session; fi\n{script}\ncode=$?\nexport -p >.session\nexit $code"
        );
        shell
            .args(["-c", &script])
            .current_dir(self.place.path())
            .env_remove("SLIPWAY_STATE")
            .env("PATH", format!("{}:{path}", self.place.path().join("bin").display()))
            .env("HOME", self.place.path())
            .env("BUCKET", self.bucket())
            .stdin(Stdio::null());
        Ended::of(shell.output()?)
    }

    fn block(&self, block: &Block, entry: &Entry) -> Result<()> {
        if !entry.before.is_empty() {
            let ended = self.run(&format!("set -e\n{}", entry.before))?;
            ensure!(ended.code == Some(0), "before the block: {}{}", ended.out, ended.err);
        }
        if entry.unowned {
            let tamper = Tamper::open(self.place.cloud());
            for object in self.place.inventory()?.objects {
                tamper.set_owner(&object.id, None)?;
            }
        }
        let commands = block.commands(entry.whole);
        for (number, command) in commands.iter().enumerate() {
            let script = entry.replaced(&command.script);
            let ended = self.run(&script)?;
            let wanted = entry.exits.get(number).copied().unwrap_or(0);
            ensure!(
                ended.code == Some(wanted),
                "`{script}` ended with {:?}, wanted {wanted}\n--- out\n{}\n--- err\n{}",
                ended.code,
                ended.out,
                ended.err
            );
            let said = format!("{}\n{}", ended.out, ended.err);
            let output = entry.replaced(&command.output).replace("$BUCKET", &self.bucket());
            if let Some(missing) = shown::missing(&output, &said) {
                bail!("`{script}` does not print this line of the page:\n{missing}\n--- it prints\n{said}");
            }
        }
        Ok(())
    }
}

fn tell(story: &Story) -> Result<()> {
    let text = std::fs::read_to_string(root().join(&story.page))?;
    let blocks = blocks(&text);
    let mut entries = story.blocks.iter();
    let reader = Reader::new(story)?;
    for block in &blocks {
        let entry = entries
            .next()
            .with_context(|| format!("no entry for the block in line {}: {}", block.line, block.first()))?;
        ensure!(
            block.first() == entry.begins,
            "line {}: the block begins with\n  {}\nand its entry with\n  {}",
            block.line,
            block.first(),
            entry.begins
        );
        match &entry.run_by {
            Some(proof) => story::exists(&root(), proof)?,
            None => {
                reader.block(block, entry).with_context(|| format!("the block in line {}", block.line))?
            }
        }
    }
    if let Some(entry) = entries.next() {
        bail!("the page has no block that begins with `{}`", entry.begins);
    }
    Ok(())
}

#[test]
fn every_command_of_a_page_runs_and_prints_what_the_page_shows() -> Result<()> {
    let stories = story::all(&root().join("fixtures/documents"))?;
    let mut failed: Vec<String> = stories
        .iter()
        .filter_map(|story| Some(format!("{}: {:#}", story.page, tell(story).err()?)))
        .collect();
    for page in page::with_commands(&root())? {
        if !stories.iter().any(|story| story.page == page) {
            failed.push(format!("{page} has commands and no story in fixtures/documents"));
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n\n"));
    Ok(())
}

#[test]
fn every_whole_spec_document_of_a_page_is_valid() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    // The environment of the guide has the base of the example.
    copy(&root().join("specs/environments/base"), &place.path().join("base"))?;
    let mut checked = 0;
    for page in page::all(&root())? {
        let text = std::fs::read_to_string(root().join(&page))?;
        for (line, document) in page::documents(&text) {
            // A folder with a file of this name is an environment.
            let name =
                if document.contains("\nkind: Environment\n") { "environment.yaml" } else { "spec.yaml" };
            let folder = format!("{checked}");
            place.write(&format!("{folder}/{name}"), &document)?;
            let ended = place.run(&["spec", "check", "-f", &folder])?;
            ensure!(ended.code == Some(0), "{page}, line {line}: {}{}", ended.out, ended.err);
            checked += 1;
        }
    }
    ensure!(checked >= 4, "only {checked} documents were found");
    Ok(())
}
