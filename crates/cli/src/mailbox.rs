//! The mailbox that a terminal command acts on: a project, who acts, and the backend that keeps the mail.
//!
//! The backend is our own office unless `[mail] provider` names another. What only the office can do (search, several
//! recipients of one message, reservations) is asked of it directly, which other backends do not have.

mod letters;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use mail::provider::{Provider, ProviderError};
use store::{Beads, Exec};

use crate::config::Config;
use crate::post_office::{self, PostOffice};
pub use letters::Letters;

/// Who acts.
#[derive(Clone, Debug)]
pub struct Who {
    /// The name.
    pub name: String,
    /// What proves it, where names have to be proved.
    pub token: Option<String>,
}

/// A mailbox that is open.
pub enum Mailbox {
    /// Kept by the office.
    Native(Letters),
    /// Kept elsewhere.
    Elsewhere(Box<dyn Provider>),
}

/// Opens the mailbox, runs `errand` with it, and closes it, whatever became of the errand. Ctrl-C ends the errand.
pub fn visit(
    config: Config,
    project: String,
    who: Option<Who>,
    errand: impl AsyncFnOnce(&Mailbox) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    post_office::run(async {
        let mailbox = Mailbox::open(config, project, who).await?;
        let ended = post_office::until_interrupted(async {
            if let Some(post_office) = mailbox.post_office() {
                // Who is called in a shared folder has mail.
                post_office.settle_channels().await;
            }
            errand(&mailbox).await
        });
        let ended = ended.await;
        if let Some(post_office) = mailbox.post_office() {
            post_office.write_out().await;
        }
        mailbox.close().await;
        ended
    })
}

impl Mailbox {
    /// Opens the mailbox at the backend that the settings name.
    pub async fn open(config: Config, project: String, who: Option<Who>) -> anyhow::Result<Self> {
        match Backend::of(&config)? {
            Backend::Native => Ok(Self::Native(Letters::open(config, project, who).await?)),
            Backend::Beads => Ok(Self::Elsewhere(Box::new(beads(&project)?))),
            Backend::Exec(program) => {
                let mut environment = vec![("GC_CITY".to_owned(), project)];
                environment.extend(who.map(|who| ("GC_AGENT".to_owned(), who.name)));
                Ok(Self::Elsewhere(Box::new(Exec::new(program, environment))))
            }
        }
    }

    /// What keeps the letters.
    pub fn provider(&self) -> &dyn Provider {
        match self {
            Self::Native(letters) => letters,
            Self::Elsewhere(provider) => &**provider,
        }
    }

    /// The office, if it keeps the letters.
    pub fn post_office(&self) -> Option<&PostOffice> {
        match self {
            Self::Native(letters) => Some(letters.post_office()),
            Self::Elsewhere(_) => None,
        }
    }

    /// The office, for something that only it can do.
    pub fn office(&self, verb: &'static str) -> Result<&PostOffice, ProviderError> {
        self.post_office().ok_or(ProviderError::Unsupported { verb })
    }

    /// Closes it.
    pub async fn close(self) {
        if let Self::Native(letters) = self {
            letters.close().await;
        }
    }
}

/// Who keeps the mail.
#[derive(Debug, PartialEq, Eq)]
enum Backend {
    Native,
    Beads,
    Exec(PathBuf),
}

impl Backend {
    fn of(config: &Config) -> anyhow::Result<Self> {
        let named = config.file.mail.as_ref().and_then(|mail| mail.provider.as_deref());
        Self::parse(named.unwrap_or("native"))
    }

    fn parse(name: &str) -> anyhow::Result<Self> {
        match (name, name.strip_prefix("exec:")) {
            ("native", _) => Ok(Self::Native),
            ("beads", _) => Ok(Self::Beads),
            (_, Some(program)) if !program.is_empty() => Ok(Self::Exec(PathBuf::from(program))),
            _ => bail!(
                "'{name}' is no mail provider; set provider under [mail] to \"native\", \"beads\" or \"exec:PROGRAM\""
            ),
        }
    }
}

fn beads(project: &str) -> anyhow::Result<Beads> {
    Beads::of_city(Path::new(project)).with_context(|| {
        format!(
            "'{project}' keeps no beads: there is neither '.gc' nor '.beads' in it; name another project with --project"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_is_one_that_there_is_and_never_a_guess() {
        assert_eq!(Backend::parse("native").unwrap(), Backend::Native);
        assert_eq!(Backend::parse("beads").unwrap(), Backend::Beads);
        assert_eq!(Backend::parse("exec:/opt/mail").unwrap(), Backend::Exec("/opt/mail".into()));
        for wrong in ["", "Native", "exec", "exec:", "beadmail", "fake"] {
            let error = Backend::parse(wrong).unwrap_err().to_string();
            assert!(error.contains(&format!("'{wrong}'")) && error.contains("exec:PROGRAM"), "{error}");
        }
    }
}
