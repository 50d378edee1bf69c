//! `postrider completions`: what makes a shell complete our commands. The shell is told; nothing is installed.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde_json::json;

use super::Cli;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  postrider completions bash > ~/.local/share/bash-completion/completions/postrider
  postrider completions zsh > ~/.zfunc/_postrider
  postrider completions fish > ~/.config/fish/completions/postrider.fish";

/// Print what makes a shell complete these commands.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Completions {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints the script for the shell.
    pub fn run(&self, as_json: bool) -> ExitCode {
        let script = script(self.shell);
        let json = json!({ "shell": self.shell.to_string(), "script": script });
        output::answer(as_json, &json, || script.trim_end().to_owned())
    }
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "postrider", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_shell_is_told_of_every_command() {
        for shell in Shell::value_variants() {
            let script = script(*shell);
            for word in ["serve", "mark-unread", "idempotency-key", "completions"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }
}
