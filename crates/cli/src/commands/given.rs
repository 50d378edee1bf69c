//! What is given to a command: a text in a file or on standard input, and names of recipients.
//!
//! A text is bounded, and UTF-8 where text is wanted, or refused. What it means is for the command.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail};

use mail::agents;

use super::lines::LONGEST;

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
}
