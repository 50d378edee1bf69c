//! What is given to a command: a text in a file, on standard input or from an editor, and names of recipients.
//!
//! A text is bounded, and UTF-8 where text is wanted, or refused. One that somebody wrote in an editor is not lost when it cannot
//! be sent. What it means is for the command.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use clap::Args;
use mail::agents;
use tempfile::NamedTempFile;

use super::lines::LONGEST;
use crate::config::set;
use crate::output::{self, text};

/// Reads the name of a recipient out of a list with commas.
pub fn recipient(written: &str) -> Result<String, String> {
    match agents::called(written) {
        "" => Err("a name is missing; write names with commas between them, as in 'codex,gemini'".to_owned()),
        name => Ok(name.to_owned()),
    }
}

/// A file, or standard input if there is none or it is `-`.
pub fn open(file: Option<&Path>) -> anyhow::Result<Box<dyn Read>> {
    match file.filter(|file| *file != Path::new("-")) {
        None => Ok(Box::new(io::stdin().lock())),
        Some(path) => {
            let file = File::open(path).with_context(|| format!("cannot read '{}'", path.display()))?;
            Ok(Box::new(file))
        }
    }
}

/// The text of a file, or of standard input if there is none or it is `-`.
pub fn text_of(file: Option<&Path>) -> anyhow::Result<String> {
    let text = String::from_utf8(bytes_of(file)?).map_err(|_| anyhow::anyhow!("it is not UTF-8 text"));
    text.with_context(|| cannot_read(file))
}

/// The bytes of a file, or of standard input if there is none or it is `-`.
pub fn bytes_of(file: Option<&Path>) -> anyhow::Result<Vec<u8>> {
    bounded(open(file)?).with_context(|| cannot_read(file))
}

fn cannot_read(file: Option<&Path>) -> String {
    match file {
        Some(path) if path != Path::new("-") => format!("cannot read '{}'", path.display()),
        _ => "cannot read standard input".to_owned(),
    }
}

fn bounded(input: impl Read) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > LONGEST {
        bail!("it is longer than {LONGEST} bytes");
    }
    Ok(bytes)
}

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
    /// Whether it is given on the command line.
    pub fn is_given(&self) -> bool {
        self.message.is_some()
    }

    /// Reads the text, which may be missing where none was given: nothing is on standard input, or no editor is set.
    pub fn read_if_any(&self) -> anyhow::Result<MessageBody> {
        let is_terminal = io::stdin().is_terminal();
        if self.is_given() || is_terminal && editor().is_some() {
            return self.read();
        }
        let text = if is_terminal { String::new() } else { text_of(None)? };
        match text.trim().is_empty() {
            true => Ok(MessageBody { text: String::new(), file: None }),
            false => MessageBody::of_input(&text).checked(),
        }
    }

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
        _ => MessageBody::of_input(&text_of(None)?),
    };
    if written.text.trim().is_empty() {
        bail!("the message is empty, so nothing was sent; pass its text {how} or on standard input");
    }
    written.checked()
}

impl MessageBody {
    fn of_input(text: &str) -> Self {
        Self { text: text.trim_end_matches(['\r', '\n']).to_owned(), file: None }
    }

    /// The same, if it can be mailed.
    fn checked(self) -> anyhow::Result<Self> {
        if self.text.contains('\0') {
            self.keep();
            bail!("the message holds a zero byte, as binary files do, so nothing was sent; only text can be mailed");
        }
        Ok(self)
    }

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

fn editor() -> Option<String> {
    ["VISUAL", "EDITOR"].into_iter().find_map(set)
}

fn edited(how: &str) -> anyhow::Result<MessageBody> {
    let editor = editor();
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
    fn a_text_is_bounded_and_utf_8() {
        let folder = tempfile::tempdir().unwrap();
        let text = |bytes: &[u8]| {
            let file = folder.path().join("text");
            std::fs::write(&file, bytes).unwrap();
            text_of(Some(&file))
        };
        assert_eq!(text(b"\xc3\xa9").unwrap(), "é");
        assert!(format!("{:#}", text(b"\xff").unwrap_err()).contains("it is not UTF-8 text"));
        assert!(bounded(io::repeat(b'a')).unwrap_err().to_string().contains("longer"));
    }

    #[test]
    fn a_text_on_the_command_line_is_taken_as_it_is_and_has_to_say_something() {
        let read = |message: &str| Body { message: Some(message.to_owned()) }.read();
        assert_eq!(read("- a\n").unwrap().text(), "- a\n");
        for empty in ["", " \n\t"] {
            assert!(read(empty).unwrap_err().to_string().contains("empty"));
        }
    }
}
