//! What doctor looks at when somebody else keeps the mail of the terminal.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::Examined;
use crate::config::{Config, MailProvider};

impl Examined {
    /// Says when the settings name no provider that there is, or a program that cannot be run.
    pub(super) fn look_at_provider(&mut self, config: &Config) {
        match config.mail_provider() {
            Ok(MailProvider::Exec(program)) if !is_runnable(&program) => {
                let what = format!("Cannot run the mail program '{}'.", program.display());
                self.find(what, "Check its path under [mail], and make it executable with chmod +x.");
            }
            Ok(_) => {}
            Err(error) => self.find(error.to_string(), "Correct [mail] in postrider.toml."),
        }
    }
}

/// The row that says who keeps the mail, if that is not our own office.
pub(super) fn row(config: &Config) -> Option<(&'static str, String)> {
    match config.mail_provider().ok()? {
        MailProvider::Native => None,
        MailProvider::Beads => Some(("provider", "the beads of each project".to_owned())),
        MailProvider::Exec(program) => Some(("provider", format!("the program {}", program.display()))),
    }
}

/// Whether there is such a program: a bare word is looked up in `PATH`.
fn is_runnable(program: &Path) -> bool {
    let is_program =
        |path: PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    if program.components().count() > 1 || program.is_absolute() {
        return is_program(program.to_owned());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| is_program(folder.join(program)))
}
