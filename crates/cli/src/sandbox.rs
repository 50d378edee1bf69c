//! Whether a sandbox keeps this process from the mail, whose it is, and what lets the mail through.
//!
//! A sandbox is known by what the system refuses, and its client by the environment of its shells. Nothing is tried before something
//! failed: in a shell without a sandbox this costs nothing.

use std::io::{self, ErrorKind};
use std::path::Path;

use store::Location;

use crate::clients::{self, Client, Opening};
use crate::config::{Config, set};
use crate::local_socket;
use crate::post_office::Refused;

/// The code of a refusal that a sandbox is the cause of.
pub const SANDBOXED: &str = "SANDBOXED";

/// Whether an error is one that a sandbox causes.
pub fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

/// Why nothing can be written in the home folder, or the folder that it would be made in, where something forbids it.
pub fn unwritable(home: &Path) -> Option<io::Error> {
    let folder = home.ancestors().find(|folder| folder.is_dir())?;
    // A file without a name: nobody sees it, and it goes by itself.
    tempfile::tempfile_in(folder).err().filter(is_forbidden)
}

/// What is said where the database could not be opened, if a sandbox is why.
pub fn of_home(config: &Config) -> Option<Refused> {
    let Location::File(_) = config.location() else { return None };
    let why = unwritable(&config.home)?;
    let home = config.home.display();
    refusal(config, &format!("'{home}' cannot be written ({}), and no server takes the call", why.kind()), &why)
}

/// What is said where a server is there and connecting to it was forbidden.
pub fn of_server(config: &Config, address: &str, why: &io::Error) -> Option<Refused> {
    refusal(config, &format!("it forbids to connect to the server at '{address}' ({})", why.kind()), why)
}

/// The refusal of the sandbox that this process seems to be in. Without a client that could have made one, only a file system that is
/// read-only is taken for one.
fn refusal(config: &Config, fact: &str, why: &io::Error) -> Option<Refused> {
    let clients = clients_around(set);
    if clients.is_empty() && why.kind() != ErrorKind::ReadOnlyFilesystem {
        return None;
    }
    let titles: Vec<&str> = clients.iter().map(|client| client.title).collect();
    let whose = if titles.is_empty() { String::new() } else { format!(" of {}", titles.join(" or ")) };
    let message = format!("The sandbox{whose} keeps this shell from the mail: {fact}");
    Some(Refused::new(SANDBOXED, &message, &hint(config, &clients)))
}

/// The clients whose sandbox this may be: those that say so, else those whose shell this is.
fn clients_around(variable: impl Fn(&str) -> Option<String>) -> Vec<&'static Client> {
    let having = |names: fn(&Client) -> &'static [&'static str]| -> Vec<&'static Client> {
        clients::ALL.into_iter().filter(|client| names(client).iter().any(|name| variable(name).is_some())).collect()
    };
    let inside = having(|client| client.sandbox.inside);
    if inside.is_empty() { having(|client| client.sandbox.shell) } else { inside }
}

/// The next step: it is the person's, for what a sandbox lets through is not for an agent inside to say.
fn hint(config: &Config, clients: &[&Client]) -> String {
    let home = config.home.display().to_string();
    let socket = local_socket::path(&config.home);
    let step = |client: &&Client| match (&client.sandbox.opening, client.sandbox.setting(&home)) {
        (Opening::WritableHome { .. }, Some(setting)) => {
            format!("run `postrider install {}`, which puts {setting}, and restart {}", client.name, client.name)
        }
        _ => format!("keep `postrider serve` running: the sandbox of {} lets its socket through", client.title),
    };
    let steps: Vec<String> = clients.iter().map(step).collect();
    match steps.is_empty() {
        true => {
            format!("Ask your user to let it write '{home}', or reach the socket '{}' of a server.", socket.display())
        }
        false => format!("Ask your user to {}.", steps.join("; or ")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::SettingsFile;

    fn names(variables: &[&str]) -> Vec<&'static str> {
        let clients = clients_around(|name| variables.contains(&name).then(|| "1".to_owned()));
        clients.iter().map(|client| client.name).collect()
    }

    #[test]
    fn a_sandbox_that_says_whose_it_is_comes_before_a_shell_that_others_started() {
        assert_eq!(names(&["CODEX_SANDBOX_NETWORK_DISABLED", "CLAUDE_CODE_SESSION_ID"]), ["codex"]);
        assert_eq!(names(&["CODEX_THREAD_ID"]), ["codex"]);
        assert_eq!(names(&["CODEX_THREAD_ID", "CLAUDE_CODE_SESSION_ID"]), ["claude", "codex"], "it may be either's");
        assert!(names(&[]).is_empty());
    }

    #[test]
    fn what_opens_a_sandbox_is_named() {
        let config = Config { home: PathBuf::from("/h/.postrider"), source: None, file: SettingsFile::default() };
        let codex = hint(&config, &[&clients::CODEX]);
        assert!(codex.contains("\"/h/.postrider\" in `sandbox_workspace_write.writable_roots`"), "{codex}");
        assert!(hint(&config, &[&clients::GEMINI]).contains("postrider serve"));
        assert!(hint(&config, &[]).contains("'/h/.postrider/postrider.sock'"));
    }

    #[test]
    fn a_home_that_can_be_written_or_made_is_nothing_to_complain_of() {
        let folder = tempfile::tempdir().unwrap();
        assert!(unwritable(folder.path()).is_none() && unwritable(&folder.path().join("to/be/made")).is_none());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
