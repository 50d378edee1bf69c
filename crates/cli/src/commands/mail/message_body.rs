//! The text of a message: from the command line, from standard input, or from an editor.
//!
//! A text that somebody wrote in an editor is not lost when it cannot be sent.

use std::io::{self, IsTerminal};
use std::process::Command;

use anyhow::{Context, bail};
use clap::Args;
use tempfile::NamedTempFile;

use crate::commands::given::text_of;
use crate::config::set;
use crate::output::{self, text};

/// Where the text comes from.
#[derive(Args, Debug)]
pub struct Body {
    /// The text, or `-` for standard input [default: standard input; at a terminal, what is written in $VISUAL or $EDITOR]
    #[arg(short = 'm', long, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
}

/// A text that was read.
#[derive(Debug)]
pub struct MessageBody {
    text: String,
    /// Where it was written, if that was in an editor.
    file: Option<NamedTempFile>,
}

impl Body {
    /// Reads the text; there has to be some.
    pub fn read(&self) -> anyhow::Result<MessageBody> {
        written(self.message.as_deref(), "with -m TEXT")
    }
}

/// A text that was given, or `-` for standard input, or what is written in an editor; there has to be some. `how` says
/// how it could have been given.
pub fn written(given: Option<&str>, how: &str) -> anyhow::Result<MessageBody> {
    let written = match given {
        Some(text) if text != "-" => MessageBody { text: text.to_owned(), file: None },
        None if io::stdin().is_terminal() => edited(how)?,
        _ => MessageBody { text: text_of(None)?.trim_end_matches(['\r', '\n']).to_owned(), file: None },
    };
    if written.text.trim().is_empty() {
        bail!("the message is empty, so nothing was sent; pass its text {how} or on standard input");
    }
    if written.text.contains('\0') {
        written.keep();
        bail!("the message holds a zero byte, as binary files do, so nothing was sent; only text can be mailed");
    }
    Ok(written)
}

impl MessageBody {
    /// What it says.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Keeps what was written in an editor, and says where.
    pub fn keep(self) {
        let Some(file) = self.file else { return };
        match file.keep() {
            Ok((_, path)) => output::note(&text::lines(&format!("Your text is kept in '{}'.", path.display()))),
            Err(error) => output::note(&format!("Your text could not be kept: {error}")),
        }
    }
}

fn edited(how: &str) -> anyhow::Result<MessageBody> {
    let editor = ["VISUAL", "EDITOR"].into_iter().find_map(set);
    let missing = || format!("the message has no text; pass it {how}, or set EDITOR to write it there");
    let editor = editor.with_context(missing)?;
    let file = tempfile::Builder::new().prefix("postrider-").suffix(".md").tempfile();
    let file = file.context("cannot make a file for the editor")?;
    // The variable may name a program and its options, as in 'code --wait', so a shell reads it, as for other tools.
    let mut command = Command::new("sh");
    let ended = command.arg("-c").arg(format!("{editor} \"$@\"")).arg(&editor).arg(file.path()).status();
    let ended = ended.context("cannot run a shell for the editor")?;
    if !ended.success() {
        bail!("the editor '{editor}' failed ({ended}), so nothing was sent");
    }
    // By its name: an editor may have put another file in its place.
    let text = text_of(Some(file.path()))?.trim_end_matches(['\r', '\n']).to_owned();
    Ok(MessageBody { text, file: Some(file) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_on_the_command_line_is_taken_as_it_is_and_has_to_say_something() {
        let read = |message: &str| Body { message: Some(message.to_owned()) }.read();
        assert_eq!(read("- a\n").unwrap().text(), "- a\n");
        for empty in ["", " \n\t"] {
            assert!(read(empty).unwrap_err().to_string().contains("empty"));
        }
    }
}
