//! Posts as files of their channel's folder.
//!
//! What a post is called is drawn from what it is, so whoever writes it again, after a crash or in another process, makes
//! the same name and finds it taken by itself. Which posts are written is not told here.

use std::io;

use formats::channel::{ChannelMessage, FileName, read_value};
use mail::channels::{OfficeMark, Post, external_id};

use super::ENDING;
use super::folder::{Folder, FolderEntry};

/// How many names are tried for one post. Each that is taken was drawn by somebody else in the same second.
const MOST_ATTEMPTS: u32 = 1_000;

/// Writes a post of the office `office` below the folder of channels, unless it is there; what it is called, or `None` if
/// it cannot have a name.
pub(super) fn write(channels: &Folder, post: &Post, office: &str) -> io::Result<Option<String>> {
    let said = post.said(office, &post.external_id);
    let Some(mark) = OfficeMark::of(&said) else { return write_foreign(channels, post, &said) };
    let folder = channels.make(&post.channel)?;
    for attempt in 0..MOST_ATTEMPTS {
        let name = external_id(said.timestamp, &said.from, &mark.office, mark.seq, attempt);
        let said = post.said(office, &name);
        let file = format!("{name}{ENDING}");
        if folder.create(&file, said.to_json().as_bytes())? || is_there(&folder, &file, &said)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Writes what no post office said first: it has one name, and where that is taken, it is there already.
fn write_foreign(channels: &Folder, post: &Post, said: &ChannelMessage) -> io::Result<Option<String>> {
    let file = format!("{}{ENDING}", post.external_id);
    if FileName::parse(&file).is_none() {
        return Ok(None);
    }
    let folder = channels.make(&post.channel)?;
    folder.create(&file, said.to_json().as_bytes())?;
    Ok(Some(post.external_id.clone()))
}

/// Whether the file of that name is this very post. Another post office may have written it in other words.
fn is_there(folder: &Folder, file: &str, said: &ChannelMessage) -> io::Result<bool> {
    let bytes = said.to_json().into_bytes();
    // What is longer than twice this post is another one.
    let FolderEntry::Whole(found, _) = folder.read(file, bytes.len().saturating_mul(2))? else { return Ok(false) };
    let is_it = |found: ChannelMessage| {
        OfficeMark::of(&found) == OfficeMark::of(said)
            && (&found.from, &found.text) == (&said.from, &said.text)
            && found.timestamp.as_millisecond() == said.timestamp.as_millisecond()
    };
    Ok(found == bytes || std::str::from_utf8(&found).ok().and_then(read_value).is_some_and(is_it))
}
