//! `postrider man`: the manual pages, made from what the commands say of themselves.
//!
//! Only what no command can say (environment, files, exit codes) is written here.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Command, CommandFactory};
use serde_json::json;

use super::Cli;
use crate::output;

const EXAMPLES: &str = "\
Examples:
  postrider man | man -l -
  postrider man --dir ~/.local/share/man/man1";

/// Where clap_mangen puts what stands below a help.
const EXTRA: &str = ".SH EXTRA\n";

const ENVIRONMENT: [(&str, &str); 18] = [
    ("POSTRIDER_HOME", "Where mail is kept, as --home."),
    ("POSTRIDER_CONFIG", "The settings file, as --config."),
    ("POSTRIDER_DATABASE", "The URL of a PostgreSQL that keeps the mail instead of a file."),
    ("POSTRIDER_PROJECT", "The project, as --project."),
    ("POSTRIDER_AGENT", "Who acts, as --as."),
    ("POSTRIDER_REGISTRATION_TOKEN", "Proves who acts where names are strict, as --token."),
    ("POSTRIDER_URL", "A server elsewhere. AGENT_MAIL_BASE_URL and AGENT_MAIL_PATH say the same in two parts."),
    ("POSTRIDER_HOST", "The address that the server listens on."),
    ("POSTRIDER_PORT", "The port that the server listens on."),
    ("POSTRIDER_IDENTITY", "claimed or strict."),
    ("POSTRIDER_TOOLS", "full or lean."),
    ("POSTRIDER_LOG", "What is logged."),
    ("POSTRIDER_GUARD", "off lets a commit pass."),
    ("AGENT_MAIL_BEARER_TOKEN", "What every call to the server must carry."),
    ("GC_CITY", "The project, for exec-mail; GC_ALIAS, GC_AGENT and GC_SESSION_ID say who calls."),
    ("VISUAL", "The editor for a message without text; else EDITOR."),
    ("COLUMNS", "How wide tables are in a pipe or a file; without it they are not cut."),
    ("NO_COLOR", "No colours if it is not empty."),
];
const FILES: [(&str, &str); 2] = [
    ("~/.postrider/postrider.toml", "The settings. No other folder is searched for them."),
    ("~/.postrider/postrider.db", "All mail, in a SQLite database. Copy it with postrider backup."),
];
const EXIT_STATUS: [(&str, &str); 5] = [
    ("0", "Done."),
    ("1", "Failed or refused, also a command line that cannot be read."),
    ("2", "exec-mail: the operation is unknown."),
    ("3", "mail check: there is no unread mail."),
    ("10", "guard check --hook: another agent has reserved what is staged."),
];

/// Print the manual page, or write a page for each command into a folder.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Man {
    /// Write a page for each command into this folder, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    /// Prints the main page, or writes all of them.
    pub fn run(&self, as_json: bool) -> anyhow::Result<ExitCode> {
        // A page about help would have nothing to say.
        let mut program = Cli::command().disable_help_subcommand(true);
        program.build();
        let Some(dir) = &self.dir else {
            let page = main_page(program)?;
            return output::done(as_json, &json!({ "page": page }), || page.trim_end().to_owned());
        };
        let cannot = || format!("cannot write the pages to '{}'", dir.display());
        std::fs::create_dir_all(dir).with_context(cannot)?;
        for command in program.get_subcommands() {
            write_pages(command, dir).with_context(cannot)?;
        }
        std::fs::write(dir.join("postrider.1"), main_page(program)?).with_context(cannot)?;
        let shown = dir.display().to_string();
        output::done(as_json, &json!({ "dir": shown }), || format!("The pages are written to '{shown}'."))
    }
}

/// Writes the page of a command, and of all that are below it.
fn write_pages(command: &Command, dir: &Path) -> anyhow::Result<()> {
    for below in command.get_subcommands() {
        write_pages(below, dir)?;
    }
    let page = clap_mangen::Man::new(command.clone()).source(concat!("postrider ", env!("CARGO_PKG_VERSION")));
    std::fs::write(dir.join(page.get_filename()), text_of(&page)?)?;
    Ok(())
}

fn main_page(program: Command) -> anyhow::Result<String> {
    let mut page = text_of(&clap_mangen::Man::new(program))?;
    for (head, entries) in [("ENVIRONMENT", &ENVIRONMENT[..]), ("FILES", &FILES), ("EXIT STATUS", &EXIT_STATUS)] {
        let _ = writeln!(page, ".SH \"{head}\"");
        for (name, about) in entries {
            let _ = writeln!(page, ".TP\n\\fB{}\\fR\n{}", plain(name), plain(about));
        }
    }
    Ok(page)
}

/// A page whose examples keep their lines.
fn text_of(page: &clap_mangen::Man) -> anyhow::Result<String> {
    let mut text = Vec::new();
    page.render(&mut text).context("cannot make the page")?;
    let text = String::from_utf8(text).context("the page is no text")?;
    let Some((before, extra)) = text.split_once(EXTRA) else { return Ok(text) };
    let (extra, after) = match extra.find("\n.SH ") {
        Some(end) => extra.split_at(end + 1),
        None => (extra, ""),
    };
    Ok(format!("{before}{}{after}", sections(extra)))
}

/// What stands below a help: words are notes, and lines that are set off are examples.
fn sections(extra: &str) -> String {
    let mut told = String::new();
    let mut is_example = false;
    for line in extra.lines() {
        if line.starts_with("  ") != is_example {
            is_example = !is_example;
            told.push_str(if is_example { ".nf\n" } else { ".fi\n" });
        }
        match line {
            "Examples:" | "Example:" => told.push_str(".SH EXAMPLES\n"),
            "" => told.push_str(".PP\n"),
            line => {
                if told.is_empty() {
                    told.push_str(".SH NOTES\n");
                }
                let _ = writeln!(told, "{}", line.trim_start());
            }
        }
    }
    told + if is_example { ".fi\n" } else { "" }
}

/// Text as roff takes it.
fn plain(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_that_a_command_reads_is_on_the_main_page() {
        fn variables(command: &Command) -> Vec<String> {
            let below = command.get_subcommands().flat_map(variables);
            let own = command.get_arguments().filter_map(|argument| argument.get_env());
            own.map(|name| name.to_string_lossy().into_owned()).chain(below).collect()
        }
        let mut program = Cli::command();
        program.build();
        let variables = variables(&program);
        assert!(variables.len() > 5, "{variables:?}");
        for name in variables {
            assert!(ENVIRONMENT.iter().any(|(known, _)| *known == name), "{name}");
        }
    }

    #[test]
    fn examples_keep_their_lines_and_words_flow() {
        let told = sections("One word.\nAnother.\n\nExamples:\n  a\n  b    c\n\nEnd.\n");
        let wanted = ".SH NOTES\nOne word.\nAnother.\n.PP\n.SH EXAMPLES\n.nf\na\nb    c\n.fi\n.PP\nEnd.\n";
        assert_eq!(told, wanted);
    }
}
