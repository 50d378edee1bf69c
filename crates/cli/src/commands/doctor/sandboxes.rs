//! How commands in the sandboxes of clients reach the mail: by the server's socket, by the database, by an outbox, or not.
//!
//! The settings say what a sandbox lets through. Only what can be tried from here is tried: the socket, and writing in the home folder.

use std::path::PathBuf;

use serde::Serialize;

use super::Examined;
use crate::client::Client as Server;
use crate::clients;
use crate::commands::install::sandbox_access::{Reach, SandboxAccess};
use crate::commands::small_runtime;
use crate::config::{Config, endpoint_of};
use crate::local_socket;
use crate::sandbox;

/// The socket in the home folder.
#[derive(Serialize)]
pub struct Socket {
    path: PathBuf,
    /// Whether a server takes connections there; none if no server runs.
    answers: bool,
}

/// How commands in the sandbox of a client reach the mail.
#[derive(Serialize)]
pub struct Sandboxed {
    client: &'static str,
    /// What lets the mail through.
    reach: Reach,
    #[serde(skip)]
    how: String,
}

impl Socket {
    /// For people.
    pub fn text(&self) -> String {
        let state = if self.answers { "takes connections" } else { "takes no connections; commands use the port" };
        format!("{} ({state})", self.path.display())
    }
}

impl Sandboxed {
    /// For people.
    pub fn text(&self) -> String {
        format!("{}: {}", self.client, self.how)
    }
}

impl Examined {
    /// Looks whether the socket of the server that runs takes connections, and whether the home folder can be written.
    pub(super) fn look_at_reach(&mut self, config: &Config) -> anyhow::Result<()> {
        if let Some(owner) = &self.owner
            && let Ok(server) = Server::new(&endpoint_of(&owner.address), None)
        {
            let path = local_socket::path(&config.home);
            let answers = small_runtime()?.block_on(server.through(path.clone()).has_socket());
            self.socket = Some(Socket { path, answers });
        }
        if let Some(why) = sandbox::unwritable(&config.home) {
            let what = format!("'{}' cannot be written ({})", config.home.display(), why.kind());
            self.find(what, "In a client's sandbox see the lines 'sandbox' above; else check whose folder it is.");
        }
        let has_socket = self.socket.as_ref().is_some_and(|socket| socket.answers);
        for client in clients::ALL {
            let Some(folders) = client.folders_here() else { continue };
            // Settings that cannot be read are the client's to complain of.
            let Ok(access) = SandboxAccess::of(client, &folders, &config.home) else { continue };
            if let Some((reach, how)) = access.reach(has_socket, config.file.server.start) {
                self.sandboxes.push(Sandboxed { client: client.name, reach, how });
            }
        }
        Ok(())
    }
}
