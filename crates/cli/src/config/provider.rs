//! Who keeps the mail of the terminal and the hooks, as the settings say it.
//!
//! Nothing is guessed: what cannot be meant is an error that names the line to write.

use std::path::PathBuf;

use anyhow::bail;
use serde::Deserialize;

/// Where mail is kept.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mail {
    /// `native`, `beads` or `beadmail`, `exec` with a command, or `exec:PROGRAM`.
    pub provider: Option<String>,
    /// The program of `exec`.
    pub command: Option<String>,
}

/// Who keeps mail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MailProvider {
    /// Our own office.
    #[default]
    Native,
    /// A city, among its work.
    Beads,
    /// A program of the user's.
    Exec(PathBuf),
}

impl Mail {
    /// Who is meant.
    pub fn provider(&self) -> anyhow::Result<MailProvider> {
        let name = self.provider.as_deref().unwrap_or("native");
        if let Some(command) = self.command.as_deref().filter(|_| name != "exec") {
            bail!(
                "command = \"{command}\" under [mail] is for the provider \"exec\", and the provider is '{name}'; set \
                 provider = \"exec\", or take command out"
            );
        }
        match (name, name.strip_prefix("exec:"), self.command.as_deref()) {
            ("native", ..) => Ok(MailProvider::Native),
            ("beads" | "beadmail", ..) => Ok(MailProvider::Beads),
            ("exec", _, Some(program)) | (_, Some(program), _) if !program.trim().is_empty() => {
                Ok(MailProvider::Exec(program.into()))
            }
            ("exec", ..) => bail!(
                "the mail provider 'exec' has no program; add command = \"/path/to/script\" under [mail], beside \
                 provider = \"exec\""
            ),
            _ => bail!(
                "'{name}' is no mail provider; set provider under [mail] to \"native\", \"beadmail\" (the same as \
                 \"beads\"), \"exec\" with command = \"PROGRAM\" below it, or \"exec:PROGRAM\""
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(text: &str) -> anyhow::Result<MailProvider> {
        toml::from_str::<Mail>(text).expect("TOML").provider()
    }

    #[test]
    fn every_provider_is_known_by_its_names() {
        for (text, wanted) in [
            ("", MailProvider::Native),
            ("provider = 'native'", MailProvider::Native),
            ("provider = 'beads'", MailProvider::Beads),
            ("provider = 'beadmail'", MailProvider::Beads),
            ("provider = 'exec:my mail'", MailProvider::Exec("my mail".into())),
            ("provider = 'exec'\ncommand = '/opt/mail.sh'", MailProvider::Exec("/opt/mail.sh".into())),
        ] {
            assert_eq!(provider(text).unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn a_provider_is_one_that_there_is_and_never_a_guess() {
        for wrong in ["", "Native", "exec:", "exec: ", "fake", "beadmails"] {
            let error = provider(&format!("provider = '{wrong}'")).unwrap_err().to_string();
            assert!(error.contains(&format!("'{wrong}'")) && error.contains("\"exec:PROGRAM\""), "{error}");
        }
    }

    #[test]
    fn a_command_and_its_provider_come_together() {
        for alone in ["provider = 'exec'", "provider = 'exec'\ncommand = ' '"] {
            let error = provider(alone).unwrap_err().to_string();
            assert!(error.contains("add command = "), "{error}");
        }
        for other in ["", "provider = 'native'\n", "provider = 'beadmail'\n", "provider = 'exec:a'\n"] {
            let error = provider(&format!("{other}command = '/opt/mail.sh'")).unwrap_err().to_string();
            assert!(error.contains("/opt/mail.sh") && error.contains("set provider = \"exec\""), "{error}");
        }
    }
}
