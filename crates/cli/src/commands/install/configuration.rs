//! A file of a client's configuration, and what becomes of it: with our entries in it, or without them. Nothing is written here.
//!
//! Which files there are is in the table of clients. How JSON and TOML are changed is for `entries`, `server`, `toml` and `toml_hooks`,
//! and what a file says that is ours alone for `own_file`.

use std::path::{Path, PathBuf};

use super::entries::{self, Hooks};
use super::files::{self, Change, FileKind};
use super::opening::{Opened, Opening};
use super::own_program::Program;
use super::receipt::{Receipt, Receipts};
use super::server::{SERVER, Server, ServerShape};
use super::{ConfigFault, own_file, toml, toml_hooks, unusable};
use crate::clients::{Client, ConfigFile, ConfigPart, Folders, Scope};

/// A file of a client's configuration, and what goes into it.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// Where it is.
    pub path: PathBuf,
    client: &'static Client,
    parts: &'static [ConfigPart],
    /// What is wished of the entry that opens the sandbox, if this is the file that it is in.
    opening: Option<Opening>,
    /// What its receipt is known by.
    receipt: String,
}

/// What is said of entries in a file that somebody else wrote instead of us.
const FOREIGN_SERVER: &str = "has an MCP server 'postrider' that install did not write";
const FOREIGN_FILE: &str = "is a file that install did not write";

/// What becomes of one file of configuration.
pub(crate) struct Planned {
    /// The file itself.
    pub change: Change,
    pub receipts: Vec<Change>,
    /// Folders to remove afterwards, if they are empty.
    pub folders: Vec<PathBuf>,
    /// What in it has our place, is not ours and stays.
    pub foreign: Option<&'static str>,
}

impl Planned {
    /// What becomes of a file, of the receipts, and of the folders that were made for it, the outermost first.
    fn of(
        change: Change,
        receipt: Change,
        made: Vec<PathBuf>,
        opened: Option<Opened>,
        foreign: Option<&'static str>,
    ) -> Self {
        let (also_made, other) = opened.map(|opened| (opened.folders, opened.receipt)).unzip();
        let kept_in = receipt.path.parent().map(Path::to_owned);
        let folders = kept_in.into_iter().chain(made).chain(also_made.unwrap_or_default()).collect();
        Self { change, receipts: [Some(receipt), other].into_iter().flatten().collect(), folders, foreign }
    }

    /// Whether the file will be another one.
    pub(crate) fn changes(&self) -> bool {
        self.change.before != self.change.after
    }
}

/// Everything that has to be written for these files.
pub(crate) fn writes(plan: &[Planned]) -> Vec<Change> {
    let all = plan.iter().flat_map(|planned| planned.receipts.iter().chain([&planned.change]));
    all.filter(|change| change.before != change.after).cloned().collect()
}

/// The files that a client reads.
pub(crate) fn files(client: &'static Client, scope: Scope, folders: &Folders) -> Vec<Configuration> {
    let file = |file: &'static ConfigFile| {
        let path = file.path(scope, folders)?;
        let receipt = path.to_string_lossy().into_owned();
        Some(Configuration { receipt, path, client, parts: file.parts, opening: None })
    };
    client.files.iter().filter_map(file).collect()
}

/// The files with the entry that opens the sandbox in the one that it belongs to, which may be one of them. A sandbox is the user's own
/// affair, so that is the user's file, for whichever project; then it is among them only if something was or is to be written there.
pub(crate) fn with_opening(
    mut files: Vec<Configuration>,
    client: &'static Client,
    folders: &Folders,
    opening: Opening,
    receipts: &Receipts<'_>,
) -> anyhow::Result<Vec<Configuration>> {
    if let Some(file) = files.iter_mut().find(|file| file.path == opening.path) {
        file.opening = Some(opening);
    } else if opening.matters(receipts)? {
        // There are no entries of ours in it, and so no receipt of them.
        let receipt = format!("{} for {}", opening.path.display(), folders.project.display());
        files.push(Configuration { path: opening.path.clone(), client, parts: &[], opening: Some(opening), receipt });
    }
    Ok(files)
}

impl Configuration {
    /// Puts the entries of a client into it. What opens the sandbox is put in before them, and is not in their receipt.
    pub(crate) fn install(
        &self,
        hooks: &Hooks<'_>,
        program: &Program,
        receipts: &Receipts<'_>,
    ) -> anyhow::Result<Planned> {
        let before = files::read(&self.path)?;
        let opened = self.opened(before.as_deref(), receipts)?;
        let text = opened.as_ref().map_or(before.as_deref().unwrap_or_default(), |opened| &opened.text);
        let (kept, mut receipt) = receipts.find::<Receipt>(&self.receipt)?;
        // Without a receipt nothing that is there was written by us.
        let (mut own, _) = self.entries(text)?;
        own.retain(|entry| kept.as_ref().is_none_or(|kept| kept.own.contains(entry)));
        let after = self.with_entries(text, hooks, program, &own)?;
        let (_, foreign) = self.entries(&after)?;
        let is_noted = kept.is_some() || own.is_empty();
        if text != after || !is_noted {
            let former = match &kept {
                Some(kept) => self.former(text, kept, receipts)?,
                None => text.to_owned(),
            };
            let was_ours = self.is_ours(&former);
            let former = if was_ours { String::new() } else { former };
            let kept = kept.unwrap_or_default();
            let missing = files::missing_folders(&self.path);
            let mut new = Receipt::new(&self.path, &former, &after);
            new.own = own;
            new.is_new = before.is_none() || kept.is_new || was_ours;
            new.folders = if missing.is_empty() { kept.folders } else { missing };
            receipt.after = Some(new.written()?);
        }
        let was_new = opened.as_ref().is_some_and(|opened| opened.was_new);
        // Where nothing is written, no file is made.
        let is_nothing = |after: &str| (was_new && self.is_void(after)) || (before.is_none() && after.is_empty());
        let after = Some(after).filter(|after| !is_nothing(after));
        let change = Change { path: self.path.clone(), before, after, kind: self.kind() };
        Ok(Planned::of(change, receipt, Vec::new(), opened, foreign))
    }

    /// Takes everything of ours out of it.
    pub(crate) fn uninstall(&self, receipts: &Receipts<'_>) -> anyhow::Result<Planned> {
        let before = files::read(&self.path)?;
        let (kept, mut receipt) = receipts.find::<Receipt>(&self.receipt)?;
        receipt.after = None;
        let is_noted = kept.is_some();
        let kept = kept.unwrap_or_default();
        let (mut left, mut was_ours) = (None, false);
        if let Some(text) = &before {
            was_ours = !is_noted && self.is_ours(text);
            let text = self.former(text, &kept, receipts)?;
            // Otherwise a second time would take what was there before.
            if !kept.own.is_empty() {
                let mut stays = Receipt::new(&self.path, &text, &text);
                stays.own.clone_from(&kept.own);
                receipt.after = Some(stays.written()?);
            }
            left = Some(text);
        }
        let opened = self.opened(left.as_deref(), receipts)?;
        let after = left.map(|left| opened.as_ref().map_or(left, |opened| opened.text.clone()));
        let foreign = after.as_deref().map(|left| self.entries(left)).transpose()?.and_then(|(_, foreign)| foreign);
        let is_new = kept.is_new || was_ours || opened.as_ref().is_some_and(|opened| opened.was_new);
        let after = after.filter(|left| !(is_new && self.is_void(left)));
        let change = Change { path: self.path.clone(), before, after, kind: self.kind() };
        Ok(Planned::of(change, receipt, kept.folders, opened, foreign))
    }

    /// The text before us, as the receipt has it, else without our entries.
    fn former(&self, text: &str, kept: &Receipt, receipts: &Receipts<'_>) -> anyhow::Result<String> {
        let former = kept.former(text);
        if let Some(former) = former.clone().filter(|_| !receipts.can_be_forged) {
            return Ok(former);
        }
        let left = self.without_entries(text, &kept.own)?;
        // What says nothing may be put back, whoever wrote it.
        Ok(former.filter(|former| self.is_void(former) && self.is_void(&left)).unwrap_or(left))
    }

    /// What comes of the wish about the sandbox, if it is about this file.
    fn opened(&self, text: Option<&str>, receipts: &Receipts<'_>) -> anyhow::Result<Option<Opened>> {
        self.opening.as_ref().map(|opening| opening.apply(text, receipts)).transpose()
    }

    /// Whether a text is a file that is ours alone, written by us.
    fn is_ours(&self, text: &str) -> bool {
        self.parts.iter().any(|part| own_file::is_ours(unmarked(text), *part, self.client))
    }

    /// What the file is when it is made.
    fn kind(&self) -> FileKind {
        let is_script = |part: &ConfigPart| matches!(part, ConfigPart::Script(_));
        if self.parts.iter().any(is_script) { FileKind::Program } else { FileKind::Usual }
    }

    /// The commands of our hooks in a text.
    pub(crate) fn our_hooks(&self, text: &str) -> Vec<String> {
        let text = unmarked(text);
        let hooks = |part: &ConfigPart| match part {
            ConfigPart::Hooks => entries::our_commands(text).unwrap_or_default(),
            ConfigPart::TomlHooks => {
                toml_hooks::hooked(text).unwrap_or_default().into_iter().map(|(_, run)| run).collect()
            }
            part if own_file::is_own(*part) => own_file::commands(text, *part, self.client),
            _ => Vec::new(),
        };
        self.parts.iter().flat_map(hooks).collect()
    }

    /// The text with everything in it. What is in `own` was there before us, and stays.
    fn with_entries(&self, text: &str, hooks: &Hooks<'_>, program: &Program, own: &[String]) -> anyhow::Result<String> {
        self.edited(text, |text, part| match (part, ServerShape::of(part)) {
            (_, Some(shape)) => shape.install(text, &program.word),
            (ConfigPart::Hooks, _) => entries::install_hooks(text, hooks, own),
            (ConfigPart::TomlHooks, _) => toml_hooks::install(text, hooks),
            (ConfigPart::TomlServer, _) => toml::install(text, &program.word),
            (part, _) => own_file::install(text, part, hooks),
        })
    }

    /// The text with nothing of ours in it but what is in `own`, and the entry that opens the sandbox.
    fn without_entries(&self, text: &str, own: &[String]) -> anyhow::Result<String> {
        let keeps_server = own.iter().any(|name| name == SERVER);
        self.edited(text, |text, part| match (part, ServerShape::of(part)) {
            (ConfigPart::Hooks, _) => entries::uninstall_hooks(text, own),
            (ConfigPart::TomlHooks, _) => toml_hooks::uninstall(text, own),
            (ConfigPart::TomlServer, _) | (_, Some(_)) if keeps_server => Ok(text.to_owned()),
            (_, Some(shape)) => shape.uninstall(text),
            (ConfigPart::TomlServer, _) => toml::uninstall(text),
            (part, _) => Ok(own_file::uninstall(text, part, self.client)),
        })
    }

    /// What is in the text already: what could be ours (the events that have a hook, the name of the server), and what somebody else
    /// has in our place. A file that is ours alone is known by its mark.
    fn entries(&self, text: &str) -> anyhow::Result<(Vec<String>, Option<&'static str>)> {
        let text = unmarked(text);
        let (mut ours, mut foreign) = (Vec::new(), None);
        for part in self.parts {
            let (events, server) = match (part, ServerShape::of(*part)) {
                (_, Some(shape)) => (Ok(Vec::new()), shape.server(text)),
                (ConfigPart::TomlServer, _) => (Ok(Vec::new()), toml::server(text)),
                (ConfigPart::Hooks, _) => (entries::hooked_events(text), Ok(Server::Missing)),
                (ConfigPart::TomlHooks, _) => {
                    let events = |hooks: Vec<(String, String)>| hooks.into_iter().map(|(event, _)| event).collect();
                    (toml_hooks::hooked(text).map(events), Ok(Server::Missing))
                }
                (part, _) => {
                    foreign = own_file::is_foreign(text, *part, self.client).then_some(FOREIGN_FILE).or(foreign);
                    continue;
                }
            };
            ours.extend(events.map_err(|fault| self.unusable(&fault))?);
            match server.map_err(|fault| self.unusable(&fault))? {
                Server::Ours(_) => ours.push(SERVER.to_owned()),
                Server::Foreign => foreign = Some(FOREIGN_SERVER),
                Server::Missing => {}
            }
        }
        Ok((ours, foreign))
    }

    /// The text after an edit for each part. A byte order mark is no part of what is edited.
    fn edited(
        &self,
        text: &str,
        edit: impl Fn(&str, ConfigPart) -> Result<String, ConfigFault>,
    ) -> anyhow::Result<String> {
        let (mark, body) = text.split_at(text.len() - unmarked(text).len());
        let edited = self.parts.iter().try_fold(body.to_owned(), |text, part| edit(&text, *part));
        Ok(format!("{mark}{}", edited.map_err(|fault| self.unusable(&fault))?))
    }

    /// Whether nothing is left in a text that we began.
    fn is_void(&self, text: &str) -> bool {
        let is_toml = |part: &ConfigPart| matches!(part, ConfigPart::TomlServer | ConfigPart::TomlHooks);
        let opens_toml = self.opening.as_ref().is_some_and(Opening::is_toml);
        let is_json = !opens_toml && !self.parts.iter().any(is_toml);
        text.trim().is_empty() || (is_json && text.split_whitespace().collect::<String>() == "{}")
    }

    fn unusable(&self, fault: &ConfigFault) -> anyhow::Error {
        unusable(&self.path, fault)
    }
}

/// The text without the byte order mark that some editors begin a file with.
fn unmarked(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{CODEX, GEMINI};

    #[test]
    fn a_byte_order_mark_stays_where_it_is() {
        let program = Program { word: "postrider".to_owned(), why: String::new() };
        for (client, text) in [(&GEMINI, "\u{feff}{ \"a\": 1 }"), (&CODEX, "\u{feff}a = 1\n")] {
            let folders = Folders { project: "/p".into(), home: "/h".into(), moved: None };
            let file = files(client, Scope::Project, &folders).pop().unwrap();
            let hooks = Hooks { client, program: program.for_a_shell(), options: None };
            let whole = file.with_entries(text, &hooks, &program, &[]).unwrap();
            assert!(whole.starts_with(text.trim_end_matches([' ', '}'])) && whole.len() > text.len(), "{whole}");
            assert_eq!(file.entries(&whole).unwrap().1, None);
            assert_eq!(file.without_entries(&whole, &[]).unwrap(), text);
        }
    }
}
