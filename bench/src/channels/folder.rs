//! A folder of channels with what foreign agents wrote, and the ceiling of writing into one.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::CHANNEL;
use crate::mailboxes::messages;
use crate::setting::Setting;

/// When the first of the foreign messages was said, in seconds; each other one a second after the one before.
const FIRST: i64 = 1_768_089_600;

/// A folder that a project shares.
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// An empty one.
    pub fn make(setting: &Setting) -> anyhow::Result<Self> {
        let folder = Self { root: setting.fresh_folder()? };
        fs::create_dir_all(folder.channel())?;
        Ok(folder)
    }

    /// One with as many messages of foreign agents.
    pub fn filled(setting: &Setting, count: usize) -> anyhow::Result<Self> {
        let folder = Self::make(setting)?;
        for (number, message) in messages(count, count).enumerate() {
            folder.drop_in(number, &message.body)?;
        }
        Ok(folder)
    }

    /// Where the channel's files are.
    pub fn channel(&self) -> PathBuf {
        self.root.join("channels").join(CHANNEL)
    }

    /// The settings of an office that shares it.
    pub fn settings(&self, project: &str) -> String {
        format!("[channels]\n\"{project}\" = \"{}\"\n", self.root.display())
    }

    /// Writes a message as a foreign agent does: beside its name, and then under it.
    pub fn drop_in(&self, number: usize, text: &str) -> anyhow::Result<()> {
        let (name, document) = foreign(number, text)?;
        let hidden = self.channel().join(".new");
        fs::write(&hidden, document)?;
        fs::rename(&hidden, self.channel().join(name)).context("cannot write a message")
    }

    /// How many messages are in it.
    pub fn count(&self) -> anyhow::Result<usize> {
        let mut count = 0;
        for entry in fs::read_dir(self.channel())? {
            count += usize::from(entry?.file_name().as_encoded_bytes().ends_with(b".json"));
        }
        Ok(count)
    }
}

/// The file of a foreign message, and what is in it. It is for nobody in particular.
pub fn foreign(number: usize, text: &str) -> anyhow::Result<(String, String)> {
    let said = Timestamp::from_second(FIRST)?.checked_add(SignedDuration::from_secs(i64::try_from(number)?))?;
    let id = format!("msg-{}-claude-{:04x}", said.strftime("%Y%m%d-%H%M%S"), number % 0x1_0000);
    let document = json!({
        "id": id, "timestamp": said.to_string(), "session_id": CHANNEL, "from": "claude", "to": "all", "type": "chat",
        "content": { "text": text, "code": null, "artifacts": [] }, "metadata": { "mode": "chat" },
    });
    Ok((format!("{id}.json"), format!("{document:#}\n")))
}

/// A ceiling: how many files in a second are made as carefully as ours, each safe on the disk before the next.
pub fn bare_files(setting: &Setting, count: usize) -> anyhow::Result<f64> {
    let place = setting.fresh_folder()?;
    let folder = File::open(&place)?;
    let hidden = place.join(".tmp");
    let mut documents = Vec::with_capacity(count);
    for (number, message) in messages(count, count).enumerate() {
        documents.push(foreign(number, &message.body)?);
    }
    let begun = Instant::now();
    for (name, document) in &documents {
        let mut file = File::create_new(&hidden)?;
        file.write_all(document.as_bytes())?;
        file.sync_all()?;
        fs::hard_link(&hidden, place.join(name))?;
        fs::remove_file(&hidden)?;
        folder.sync_all()?;
    }
    Ok(count as f64 / begun.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use formats::channel::{Place, Verdict, read};

    use super::*;

    #[test]
    fn a_foreign_message_is_named_and_written_without_a_fault() {
        for number in [0, 9_999] {
            let (file, document) = foreign(number, "hello").unwrap();
            let reading = read(document.as_bytes(), Place { file: Some(&file), channel: Some(CHANNEL) });
            assert_eq!(reading.verdict, Verdict::Ok, "{file}: {document}");
        }
    }
}
