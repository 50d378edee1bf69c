//! Text that is given to a command: in a file, or on standard input.
//!
//! It is bounded and UTF-8, or refused. What it means is for the command.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail};

use super::lines::LONGEST;

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
    let name = || match file {
        Some(path) if path != Path::new("-") => format!("cannot read '{}'", path.display()),
        _ => "cannot read standard input".to_owned(),
    };
    bounded(open(file)?).with_context(name)
}

fn bounded(input: impl Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    input.take(LONGEST as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > LONGEST {
        bail!("it is longer than {LONGEST} bytes");
    }
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_bounded_and_utf_8() {
        assert_eq!(bounded(&b"\xc3\xa9"[..]).unwrap(), "é");
        assert!(bounded(&b"\xff"[..]).unwrap_err().to_string().contains("UTF-8"));
        assert!(bounded(io::repeat(b'a')).unwrap_err().to_string().contains("longer"));
    }
}
