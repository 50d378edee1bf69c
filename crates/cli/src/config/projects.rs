//! What projects are known by: the path of their repository, or the URL of its remote.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;

use super::Config;

/// What projects are known by.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Projects {
    /// What a repository is known by, whose project is new.
    #[serde(default)]
    pub by: By,
}

/// What a repository is known by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Its path
    #[default]
    Path,
    /// The URL of its remote, so that two clones are one project
    Remote,
}

/// Whether the settings that were read say that a command names the remote of its repository instead of a folder: where
/// repositories are known by it, and the server is on a machine that does not see the folder.
static NAMES_REMOTES: AtomicBool = AtomicBool::new(false);

pub fn names_remotes() -> bool {
    NAMES_REMOTES.load(Ordering::Relaxed)
}

impl Config {
    /// Notes whether commands name remotes. Said once here, for every command asks which project it is about.
    pub(super) fn note_who_sees_folders(&self) {
        let is_elsewhere = self.url().is_some_and(|url| !is_on_this_machine(&url));
        NAMES_REMOTES.store(is_elsewhere && self.file.projects.by == By::Remote, Ordering::Relaxed);
    }
}

/// Whether the server at a URL is on this machine, and so sees its folders.
fn is_on_this_machine(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_loopback_sees_the_folders_here() {
        for here in ["http://127.0.0.1:8765/mcp", "http://localhost", "http://[::1]:8765/mcp", "http://me:x@127.0.0.2/"]
        {
            assert!(is_on_this_machine(here), "{here}");
        }
        for elsewhere in
            ["https://mail.example/mcp", "http://10.0.0.1:8765", "http://localhost.example", "", "http://[::2]/"]
        {
            assert!(!is_on_this_machine(elsewhere), "{elsewhere}");
        }
    }
}
