//! Settings that are well written and mean nothing that could work.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Once;

use anyhow::bail;
use mail::projects::ProjectKey;

use super::{Config, MailProvider};
use crate::commands::install::sandbox_access;
use crate::output;

impl Config {
    /// A path here would be taken for a file by whoever wrote it, and is none. The URL may hold a password, and is not told.
    pub(super) fn check_location(&self) -> anyhow::Result<()> {
        if let Some(url) = &self.file.database
            && !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme))
        {
            bail!(
                "'database' (POSTRIDER_DATABASE) is not a URL that begins with 'postgres://'; leave it out, also an empty \
                 one, for a file in the home folder"
            )
        }
        Ok(())
    }

    /// Whether the settings name programs, which run outside of every sandbox, or files that are written there.
    pub fn names_programs(&self) -> bool {
        self.file.nudge.is_some() || matches!(self.mail_provider(), Ok(MailProvider::Exec(_)))
    }

    /// What commands in a sandbox may write names no program, which would run outside: those settings count for nothing. One line says so,
    /// once in a process; nothing else is refused, or nobody could mend it.
    pub(super) fn leave_out_programs(&mut self) {
        static SAID: Once = Once::new();
        let Some(complaint) = self.programs_complaint() else { return };
        SAID.call_once(|| output::note(&complaint));
        self.file.nudge = None;
        if matches!(self.mail_provider(), Ok(MailProvider::Exec(_))) {
            self.file.mail = None;
        }
    }

    /// What is wrong with a settings file that names programs where commands in a sandbox may write to it.
    pub fn programs_complaint(&self) -> Option<String> {
        let source = self.source.as_ref().filter(|_| self.names_programs())?;
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if !real(source).starts_with(real(&self.home)) {
            return None;
        }
        let client = sandbox_access::writer_of_settings(&self.home)?;
        Some(format!(
            "'{}' has [nudge], or a program in [mail], which is ignored: commands in the sandbox of {} may write to that file. Put it \
             elsewhere and set POSTRIDER_CONFIG, or run `postrider install {} --no-sandbox-access`.",
            source.display(),
            client.title,
            client.name
        ))
    }

    /// Folders are shared between machines, so that one relative to anything would be a mistake; and what two projects
    /// wrote into one folder could not be told apart.
    pub(super) fn check_channels(&self) -> anyhow::Result<()> {
        let mut folders = HashMap::new();
        for project in self.file.channels.keys() {
            match ProjectKey::parse_path(project) {
                Ok(key) if key.as_str() == project => {}
                _ => bail!("[channels]: '{project}' is not an absolute path of a project, without a slash at its end"),
            }
            let folder = self.channels_folder(project).unwrap_or_else(|| Path::new(""));
            if !folder.is_absolute() {
                bail!("[channels]: the folder '{}' of '{project}' is not an absolute path", folder.display());
            }
            if let Some(other) = folders.insert(folder, project) {
                bail!(
                    "[channels]: '{other}' and '{project}' have one folder, '{}'; give each its own",
                    folder.display()
                );
            }
        }
        Ok(())
    }
}

/// A secret: from the environment, else from the file. An empty one is a mistake, not "none".
pub(super) fn secret(variable: &str, in_file: Option<&String>) -> anyhow::Result<Option<String>> {
    let secret = match std::env::var(variable) {
        Ok(secret) => Some(secret),
        Err(std::env::VarError::NotPresent) => in_file.cloned(),
        Err(std::env::VarError::NotUnicode(_)) => bail!("{variable} is not Unicode text"),
    };
    if let Some(secret) = &secret
        && (secret.trim().is_empty() || !secret.bytes().all(|byte| byte.is_ascii_graphic()))
    {
        bail!("the bearer token must be visible ASCII characters; unset {variable} for none");
    }
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_project_has_one_folder_of_channels_and_that_is_its_own() {
        let config = |text: &str| {
            let file = toml::from_str(text).unwrap();
            Config { home: PathBuf::new(), source: None, file }
        };
        let two = "[channels]\n'/data/app' = '/mnt/a'\n'/data/b' = '/mnt/b'";
        let good = config(two);
        good.check_channels().unwrap();
        assert_eq!(good.channels_folder("/data/app"), Some(Path::new("/mnt/a")));
        assert_eq!(good.channels_folder("/data/c"), None);
        for (project, folders) in [("/data/app", 1), ("/data/app/", 1), ("data-app", 1), ("/data", 0), ("data-c", 0)] {
            assert_eq!(config(two).about(project).file.channels.len(), folders, "{project}");
        }
        for (wrong, told) in [
            ("'/data/app' = 'collab'", "'collab'"),
            ("'app' = '/mnt/a'", "'app'"),
            ("'/data/app/' = '/mnt/a'", "'/data/app/'"),
            ("'/data/app' = '/mnt/a'\n'/data/b' = '/mnt/a'", "'/mnt/a'"),
        ] {
            let error = config(&format!("[channels]\n{wrong}")).check_channels().unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
