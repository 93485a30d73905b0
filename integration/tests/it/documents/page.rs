//! The command blocks of a page in Markdown.

use std::path::Path;

use anyhow::Result;

/// A fenced block with commands: of a shell, or a session with `$ ` before each command and output below.
pub(super) struct Block {
    /// Its first line in the page, from 1.
    pub line: usize,
    lines: Vec<String>,
    is_session: bool,
}

/// A command, and the output that the page shows for it.
pub(super) struct Shown {
    pub script: String,
    pub output: String,
}

impl Block {
    /// The first line, without a comment behind the command.
    pub fn first(&self) -> &str {
        let line = self.lines.first().map_or("", String::as_str);
        line.split_once("  #").map_or(line, |(command, _)| command).trim_end()
    }

    /// Its commands in order; a block of a shell is one script when it is taken whole.
    pub fn commands(&self, whole: bool) -> Vec<Shown> {
        let mut commands: Vec<Shown> = Vec::new();
        if whole {
            return vec![Shown { script: self.lines.join("\n"), output: String::new() }];
        }
        let mut continues = false;
        for line in &self.lines {
            let command = if self.is_session { line.strip_prefix("$ ") } else { Some(line.as_str()) };
            match (command, commands.last_mut()) {
                (Some(more), Some(last)) if continues => {
                    last.script.push('\n');
                    last.script.push_str(more);
                }
                (Some(script), _) if script.trim().is_empty() => {}
                (Some(script), _) => {
                    commands.push(Shown { script: script.to_owned(), output: String::new() });
                }
                (None, Some(last)) => {
                    last.output.push_str(line);
                    last.output.push('\n');
                }
                (None, None) => {}
            }
            continues = !self.is_session && line.ends_with(['\\', '|']);
        }
        commands
    }
}

/// The command blocks of a page.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let commands = fenced(text).into_iter().filter(|(language, block)| language == "sh" || block.is_session);
    commands.map(|(_, block)| block).collect()
}

/// The spec documents that a page shows whole, each with its first line in the page, from 1.
pub(super) fn documents(text: &str) -> Vec<(usize, String)> {
    let documents = fenced(text).into_iter().filter(|(language, block)| {
        language == "yaml" && block.first() == "apiVersion: slipway.dev/v1alpha1"
    });
    documents.map(|(_, block)| (block.line, block.lines.join("\n") + "\n")).collect()
}

/// The fenced blocks of a page, with their languages.
fn fenced(text: &str) -> Vec<(String, Block)> {
    let mut found = Vec::new();
    let mut open: Option<(String, Block)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => {
                let block = Block { line: number + 2, lines: Vec::new(), is_session: false };
                open = Some((language.trim().to_owned(), block));
            }
            (Some(_), Some(_)) => {
                let Some((language, mut block)) = open.take() else { continue };
                block.is_session = block.first().starts_with("$ ");
                found.push((language, block));
            }
            (Some((_, block)), None) => block.lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    found
}

/// README and the pages of the guide, sorted.
pub(super) fn all(repository: &Path) -> Result<Vec<String>> {
    let mut pages = vec!["README.md".to_owned()];
    for entry in std::fs::read_dir(repository.join("docs/guide"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            pages.push(format!("docs/guide/{name}"));
        }
    }
    pages.sort_unstable();
    Ok(pages)
}

/// Those of them that have command blocks.
pub(super) fn with_commands(repository: &Path) -> Result<Vec<String>> {
    let mut pages = all(repository)?;
    pages.retain(|page| {
        std::fs::read_to_string(repository.join(page)).is_ok_and(|text| !blocks(&text).is_empty())
    });
    Ok(pages)
}
