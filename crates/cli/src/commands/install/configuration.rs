//! A file of a client's configuration, and what becomes of it: with our entries in it, or without them. Nothing is written here.
//!
//! Which files there are is in the table of clients. How JSON and TOML are changed is for `entries`, `server`, `toml` and `toml_hooks`,
//! and what a file says that is ours alone for `own_file`.

use std::path::{Path, PathBuf};

use super::entries::{self, Hooks};
use super::files::{self, Change, FileKind};
use super::own_program::Program;
use super::receipt::Receipt;
use super::server::{SERVER, Server, ServerShape};
use super::writable::WritableHome;
use super::{ConfigFault, own_file, refused, toml, toml_hooks};
use crate::clients::{Client, ConfigFile, ConfigPart, Folders, Scope};

/// A file of a client's configuration, and what goes into it.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// Where it is.
    pub path: PathBuf,
    client: &'static Client,
    parts: &'static [ConfigPart],
    /// The home folder as what shells in the sandbox may write to, if that goes into this file.
    writable: Option<WritableHome>,
    /// What its receipt is known by.
    receipt: String,
}

/// What is said of things in a file that somebody else wrote in the place of ours.
const FOREIGN_SERVER: &str = "has an MCP server 'postrider' that install did not write";
const FOREIGN_FILE: &str = "is a file that install did not write";

/// What becomes of one file of configuration.
pub(crate) struct Planned {
    /// The file itself.
    pub change: Change,
    pub receipt: Change,
    /// Folders to remove afterwards, if they are empty.
    pub folders: Vec<PathBuf>,
    /// What in it has our place, is not ours and stays.
    pub foreign: Option<&'static str>,
}

impl Planned {
    /// Whether the file will be another one.
    pub(crate) fn changes(&self) -> bool {
        self.change.before != self.change.after
    }
}

/// Everything that has to be written for these files.
pub(crate) fn writes(plan: &[Planned]) -> Vec<Change> {
    let all = plan.iter().flat_map(|planned| [&planned.receipt, &planned.change]);
    all.filter(|change| change.before != change.after).cloned().collect()
}

/// The files that a client reads.
pub(crate) fn files(client: &'static Client, scope: Scope, folders: &Folders) -> Vec<Configuration> {
    let file = |file: &'static ConfigFile| {
        let path = file.path(scope, folders)?;
        let receipt = path.to_string_lossy().into_owned();
        Some(Configuration { receipt, path, client, parts: file.parts, writable: None })
    };
    client.files.iter().filter_map(file).collect()
}

/// The files with the entry that opens the sandbox in the one at `path`, which may be one of them. A sandbox is the user's own affair,
/// so that is the user's file, for whichever project; then it is among them only if something was or is to be written there.
pub(crate) fn opening(
    mut files: Vec<Configuration>,
    client: &'static Client,
    home: &Path,
    folders: &Folders,
    path: PathBuf,
    writable: WritableHome,
) -> anyhow::Result<Vec<Configuration>> {
    if let Some(file) = files.iter_mut().find(|file| file.path == path) {
        file.writable = Some(writable);
        return Ok(files);
    }
    let receipt = format!("{} for {}", path.display(), folders.project.display());
    if writable.is_wanted || Receipt::find(home, &receipt)?.0.is_some() {
        files.push(Configuration { path, client, parts: &[], writable: Some(writable), receipt });
    }
    Ok(files)
}

impl Configuration {
    /// Puts the entries of a client into it.
    pub(crate) fn install(&self, hooks: &Hooks<'_>, program: &Program, home: &Path) -> anyhow::Result<Planned> {
        let before = files::read(&self.path)?;
        let text = before.as_deref().unwrap_or_default();
        let (kept, mut receipt) = Receipt::find(home, &self.receipt)?;
        // Without a receipt nothing that is there was written by us.
        let (mut own, _) = self.entries(text)?;
        own.retain(|entry| kept.as_ref().is_none_or(|kept| kept.own.contains(entry)));
        let after = self.with_entries(text, hooks, program, &own)?;
        let opened = kept.as_ref().is_some_and(|kept| kept.opens);
        let (_, foreign) = self.entries(&after)?;
        let is_noted = kept.is_some() || own.is_empty();
        if before.as_deref() != Some(after.as_str()) || !is_noted {
            let former = match kept.as_ref().map(|kept| kept.former(text)) {
                Some(Some(former)) => former,
                Some(None) => self.without_entries(text, &own, opened)?,
                None => text.to_owned(),
            };
            let was_ours = self.is_ours(&former);
            let former = if was_ours { String::new() } else { former };
            let kept = kept.unwrap_or_default();
            let missing = files::missing_folders(&self.path);
            let mut new = Receipt::new(&self.path, &former, &after);
            new.own = own;
            new.opens = opened || self.opens(text)?;
            new.is_new = before.is_none() || kept.is_new || was_ours;
            new.folders = if missing.is_empty() { kept.folders } else { missing };
            receipt.after = Some(new.written()?);
        }
        let change = Change { path: self.path.clone(), before, after: Some(after), kind: self.kind() };
        Ok(Planned { change, receipt, folders: Vec::new(), foreign })
    }

    /// Takes everything of ours out of it.
    pub(crate) fn uninstall(&self, home: &Path) -> anyhow::Result<Planned> {
        let before = files::read(&self.path)?;
        let (kept, mut receipt) = Receipt::find(home, &self.receipt)?;
        receipt.after = None;
        let is_noted = kept.is_some();
        let kept = kept.unwrap_or_default();
        let (mut after, mut foreign) = (None, None);
        if let Some(text) = &before {
            let is_new = kept.is_new || !is_noted && self.is_ours(text);
            let left = match kept.former(text) {
                Some(former) => former,
                None => self.without_entries(text, &kept.own, kept.opens)?,
            };
            // Otherwise a second time would take what was there before.
            if !kept.own.is_empty() {
                let mut stays = Receipt::new(&self.path, &left, &left);
                stays.own.clone_from(&kept.own);
                receipt.after = Some(stays.written()?);
            }
            (_, foreign) = self.entries(&left)?;
            after = Some(left).filter(|left| !(is_new && self.is_void(left)));
        }
        let change = Change { path: self.path.clone(), before, after, kind: self.kind() };
        let folders = receipt.path.parent().map(Path::to_owned).into_iter().chain(kept.folders).collect();
        Ok(Planned { change, receipt, folders, foreign })
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

    /// Whether a text gets the entry that opens the sandbox.
    fn opens(&self, text: &str) -> anyhow::Result<bool> {
        let Some(writable) = self.writable.as_ref().filter(|writable| writable.is_wanted) else { return Ok(false) };
        Ok(!writable.is_in(unmarked(text)).map_err(|fault| self.unusable(&fault))?)
    }

    /// The text with everything in it. What is in `own` was there before us, and stays.
    fn with_entries(&self, text: &str, hooks: &Hooks<'_>, program: &Program, own: &[String]) -> anyhow::Result<String> {
        let with_parts = self.edited(text, |text, part| match (part, ServerShape::of(part)) {
            (_, Some(shape)) => shape.install(text, &program.word),
            (ConfigPart::Hooks, _) => entries::install_hooks(text, hooks, own),
            (ConfigPart::TomlHooks, _) => toml_hooks::install(text, hooks),
            (ConfigPart::TomlServer, _) => toml::install(text, &program.word),
            (part, _) => own_file::install(text, part, hooks),
        })?;
        match self.writable.as_ref().filter(|writable| writable.is_wanted) {
            Some(writable) => self.edited_once(&with_parts, |text| writable.install(text)),
            None => Ok(with_parts),
        }
    }

    /// The text with nothing of ours in it but what is in `own`. What `opens` the sandbox goes too, if that is ours.
    fn without_entries(&self, text: &str, own: &[String], opens: bool) -> anyhow::Result<String> {
        let text = match self.writable.as_ref().filter(|_| opens) {
            Some(writable) => &self.edited_once(text, |text| writable.uninstall(text))?,
            None => text,
        };
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

    /// The text after an edit for each part.
    fn edited(
        &self,
        text: &str,
        edit: impl Fn(&str, ConfigPart) -> Result<String, ConfigFault>,
    ) -> anyhow::Result<String> {
        self.edited_once(text, |body| self.parts.iter().try_fold(body.to_owned(), |text, part| edit(&text, *part)))
    }

    /// The text after an edit. A byte order mark is no part of what is edited.
    fn edited_once(&self, text: &str, edit: impl Fn(&str) -> Result<String, ConfigFault>) -> anyhow::Result<String> {
        let (mark, body) = text.split_at(text.len() - unmarked(text).len());
        Ok(format!("{mark}{}", edit(body).map_err(|fault| self.unusable(&fault))?))
    }

    /// Whether nothing is left in a text that we began.
    fn is_void(&self, text: &str) -> bool {
        let is_toml = |part: &ConfigPart| matches!(part, ConfigPart::TomlServer | ConfigPart::TomlHooks);
        let opens_toml = self.writable.as_ref().is_some_and(|writable| writable.is_toml);
        let is_json = !opens_toml && !self.parts.iter().any(is_toml);
        text.trim().is_empty() || (is_json && text.split_whitespace().collect::<String>() == "{}")
    }

    fn unusable(&self, ConfigFault { line, column, what }: &ConfigFault) -> anyhow::Error {
        refused(
            "CONFIG_UNUSABLE",
            &format!("'{}', line {line}, column {column}: {what}", self.path.display()),
            "Nothing was changed. Correct the file, then run the command again.",
        )
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
            assert_eq!(file.without_entries(&whole, &[], false).unwrap(), text);
        }
    }
}
