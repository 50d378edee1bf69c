//! Which clients have our hooks, here and in the user's own configuration, and how their sessions are named.

use std::path::PathBuf;

use serde::Serialize;

use crate::clients::{self, Client, Folders, Scope};
use crate::commands::install::our_hooks;

/// A file of a client's configuration that has our hooks.
#[derive(Serialize)]
pub struct InstalledHooks {
    client: &'static str,
    path: PathBuf,
    /// The words behind each hook, different ones one after the other; empty for the usual.
    naming: Vec<String>,
}

impl InstalledHooks {
    /// For people.
    pub fn text(&self) -> String {
        let options: Vec<&str> = self.naming.iter().map(String::as_str).filter(|words| !words.is_empty()).collect();
        let naming = if options.is_empty() { "--names per-worktree".to_owned() } else { options.join(", ") };
        format!("{} in {} ({naming})", self.client, self.path.display())
    }
}

/// Every file that has our hooks. One that cannot be read is passed over: the client complains of it.
pub fn installed() -> Vec<InstalledHooks> {
    let mut found: Vec<InstalledHooks> = Vec::new();
    for client in clients::ALL {
        let Some(folders) = client.folders_here() else { continue };
        for scope in [Scope::Project, Scope::User] {
            let hooks = hooks_of(client, scope, &folders);
            found.extend(
                hooks
                    .into_iter()
                    .filter(|hooks| found.iter().all(|known| known.path != hooks.path))
                    .collect::<Vec<_>>(),
            );
        }
    }
    found
}

fn hooks_of(client: &'static Client, scope: Scope, folders: &Folders) -> Vec<InstalledHooks> {
    let hooks = |(path, mut naming): (PathBuf, Vec<String>)| {
        naming.dedup();
        InstalledHooks { client: client.name, path, naming }
    };
    our_hooks(client, scope, folders).into_iter().map(hooks).collect()
}
