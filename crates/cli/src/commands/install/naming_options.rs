//! How sessions come by their names, as install writes it into the hooks.

use anyhow::bail;
use clap::{Args, ValueEnum};
use mail::agents::AgentName;

use crate::commands::hook::Names;

/// What may stand behind a hook of ours, each with a value.
const OPTIONS: [&str; 2] = ["--names", "--as"];

/// How sessions come by their names.
#[derive(Args, Debug)]
pub(crate) struct NamingOptions {
    /// The name of every session
    #[arg(long = "as", value_name = "NAME")]
    name: Option<String>,
    /// How sessions come by their names [default: per-worktree]
    #[arg(long, value_enum)]
    names: Option<Names>,
}

impl NamingOptions {
    /// The words that stand behind each hook, none of them for what is the default; empty if install got no option.
    pub(crate) fn words(&self) -> anyhow::Result<Option<String>> {
        let words = match (&self.name, self.names) {
            (None, None) => return Ok(None),
            (None, Some(Names::PerWorktree)) => String::new(),
            (None, Some(names)) => format!("--names {}", word_of(names)),
            (Some(name), None | Some(Names::Fixed)) => {
                let name = AgentName::parse(name)?;
                let name = shlex::try_quote(name.as_str())?;
                format!("--names {} --as {name}", word_of(Names::Fixed))
            }
            (Some(name), Some(names)) => bail!(
                "--as gives every session the name '{name}', and --names {} gives each its own; pass one of them",
                word_of(names)
            ),
        };
        Ok(Some(words))
    }
}

/// Whether the words behind a hook are ones that install writes.
pub(super) fn are_options(words: &[String]) -> bool {
    words.len() <= 2 * OPTIONS.len()
        && words.chunks(2).all(|pair| pair.len() == 2 && OPTIONS.contains(&pair[0].as_str()))
}

fn word_of(names: Names) -> String {
    names.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: Option<&str>, names: Option<Names>) -> Result<Option<String>, String> {
        let options = NamingOptions { name: name.map(str::to_owned), names };
        options.words().map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_written_is_what_the_hook_reads() {
        assert_eq!(words(None, None).unwrap(), None);
        assert_eq!(words(None, Some(Names::PerWorktree)).unwrap().as_deref(), Some(""));
        assert_eq!(words(None, Some(Names::PerSession)).unwrap().as_deref(), Some("--names per-session"));
        assert_eq!(words(Some("Reviewer"), None).unwrap().as_deref(), Some("--names fixed --as Reviewer"));
        let odd = words(Some("it's me"), Some(Names::Fixed)).unwrap().unwrap();
        assert!(are_options(&shlex::split(&odd).unwrap()), "{odd}");
    }

    #[test]
    fn one_name_for_all_and_one_for_each_do_not_go_together() {
        assert!(words(Some("Reviewer"), Some(Names::PerSession)).unwrap_err().contains("'Reviewer'"));
        assert!(words(Some("all"), None).unwrap_err().contains("'all'"));
    }

    #[test]
    fn other_words_behind_a_hook_are_not_ours() {
        let is_ours = |text: &str| are_options(&shlex::split(text).unwrap());
        assert!(is_ours("") && is_ours("--names fixed") && is_ours("--as 'a b' --names fixed"));
        assert!(!is_ours("--as") && !is_ours("; rm x") && !is_ours("--within 5") && !is_ours("--as a --as b --as c"));
    }
}
