//! A file of a client's configuration, with our entries in it or without them. Text in, text out.
//!
//! Which files there are is in the table of clients. How JSON and TOML are changed is for `entries` and `toml`.

use std::path::PathBuf;

use super::entries::{self, Hooks, SERVER, Server};
use super::own_program::Program;
use super::{Fault, toml};
use crate::clients::{Client, ConfigPart, Folders, Scope};

/// A file of a client's configuration, and what goes into it.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// Where it is.
    pub path: PathBuf,
    parts: &'static [ConfigPart],
}

/// The files that a client reads.
pub(crate) fn files(client: &Client, scope: Scope, folders: &Folders) -> Vec<Configuration> {
    client.files.iter().map(|file| Configuration { path: file.path(scope, folders), parts: file.parts }).collect()
}

impl Configuration {
    /// The text with everything in it. What is in `own` was there before us, and stays.
    pub(crate) fn install(
        &self,
        text: &str,
        client: &Client,
        program: &Program,
        own: &[String],
    ) -> Result<String, Fault> {
        self.edited(text, |text, part| match part {
            ConfigPart::Hooks => entries::install_hooks(text, &Hooks { client, program: &program.for_a_shell() }, own),
            ConfigPart::Server => entries::install_server(text, &program.word),
            ConfigPart::TomlServer => toml::install(text, &program.word),
        })
    }

    /// The text with nothing of ours in it but what is in `own`.
    pub(crate) fn uninstall(&self, text: &str, own: &[String]) -> Result<String, Fault> {
        self.edited(text, |text, part| match part {
            ConfigPart::Hooks => entries::uninstall_hooks(text, own),
            ConfigPart::Server | ConfigPart::TomlServer if own.iter().any(|name| name == SERVER) => Ok(text.to_owned()),
            ConfigPart::Server => entries::uninstall_server(text),
            ConfigPart::TomlServer => toml::uninstall(text),
        })
    }

    /// What is in the text already and could be ours: the events that have a hook, and the name of the server.
    pub(crate) fn entries(&self, text: &str) -> Result<Vec<String>, Fault> {
        let text = unmarked(text);
        let mut found = Vec::new();
        for part in self.parts {
            let server = match part {
                ConfigPart::Hooks => {
                    found.extend(entries::hooked_events(text)?);
                    continue;
                }
                ConfigPart::Server => entries::server(text)?,
                ConfigPart::TomlServer => toml::server(text)?,
            };
            found.extend(matches!(server, Server::Ours(_)).then(|| SERVER.to_owned()));
        }
        Ok(found)
    }

    /// Whether the text has a server of our name that is somebody else's.
    pub(crate) fn has_foreign_server(&self, text: &str) -> Result<bool, Fault> {
        let text = unmarked(text);
        let is_foreign = |part: &ConfigPart| match part {
            ConfigPart::Hooks => Ok(false),
            ConfigPart::Server => Ok(entries::server(text)? == Server::Foreign),
            ConfigPart::TomlServer => Ok(toml::server(text)? == Server::Foreign),
        };
        self.parts.iter().try_fold(false, |found, part| Ok(found || is_foreign(part)?))
    }

    /// The text after an edit for each part. A byte order mark is no part of what is edited.
    fn edited(&self, text: &str, edit: impl Fn(&str, ConfigPart) -> Result<String, Fault>) -> Result<String, Fault> {
        let (mark, body) = text.split_at(text.len() - unmarked(text).len());
        let edited = self.parts.iter().try_fold(body.to_owned(), |text, part| edit(&text, *part))?;
        Ok(format!("{mark}{edited}"))
    }

    /// Whether nothing is left in a text that we began.
    pub(crate) fn is_void(&self, text: &str) -> bool {
        let is_json = !self.parts.contains(&ConfigPart::TomlServer);
        text.trim().is_empty() || (is_json && text.split_whitespace().collect::<String>() == "{}")
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
        let program = Program { word: "postrider".to_owned(), why: String::new(), is_doubtful: false };
        for (client, text) in [(&GEMINI, "\u{feff}{ \"a\": 1 }"), (&CODEX, "\u{feff}a = 1\n")] {
            let folders = Folders { project: "/p".into(), home: "/h".into(), moved: None };
            let file = files(client, Scope::Project, &folders).pop().unwrap();
            let whole = file.install(text, client, &program, &[]).unwrap();
            assert!(whole.starts_with(text.trim_end_matches([' ', '}'])) && whole.len() > text.len(), "{whole}");
            assert!(!file.has_foreign_server(&whole).unwrap());
            assert_eq!(file.uninstall(&whole, &[]).unwrap(), text);
        }
    }
}
