//! A look at a folder for somebody who wonders what is wrong with it. Nothing is taken in, written or made.

use std::path::Path;

use formats::channel::{FileName, Place, Verdict, read};
use mail::Error;
use mail::channels::{ChannelName, ChannelStore};
use mail::projects::Project;

use super::folder::{Folder, FolderEntry};
use super::{CHANNELS, ENDING, SINK, channel_of, channels_of, off_thread, scanner};

/// How many files of a channel are looked at that nobody took in.
const MOST_READ: usize = 200;

/// Something that is wrong with a folder.
#[derive(Debug, PartialEq, Eq)]
pub struct FolderFinding {
    /// What it is.
    pub what: String,
    /// What to do about it.
    pub todo: &'static str,
}

/// What is wrong with the folder of a project, `None` if there is no such project yet. Files of more than `longest` bytes
/// cannot be used.
pub async fn examine(
    store: &dyn mail::Store,
    project: Option<&Project>,
    root: &Path,
    longest: usize,
) -> Result<Vec<FolderFinding>, Error> {
    let cursors = store.cursors().await?;
    let is_of = |project: &Project| cursors.iter().any(|cursor| cursor.sink == SINK && cursor.project == project.slug);
    let is_used = project.is_some_and(is_of);
    let mut complaints = Vec::new();
    let path = root.to_owned();
    let opened = off_thread(move || {
        let all = if is_used { Some(channels_of(&path)?) } else { Folder::open(&path)?.inner(CHANNELS)? };
        let Some(all) = all else { return Ok(None) };
        let names = all.names()?;
        Ok(Some((all, names)))
    });
    let (all, mut names) = match opened.await {
        Ok(Some(opened)) => opened,
        Ok(None) => return Ok(complaints),
        Err(error) => {
            let what = super::named(root, error).to_string();
            return Ok(vec![FolderFinding { what, todo: "Check that it is mounted, and who may use it." }]);
        }
    };
    names.sort();
    for name in names.iter().filter(|name| !name.starts_with('.')) {
        let path = root.join(CHANNELS).join(name);
        match channel_of(name) {
            Some(channel) => match all.inner(name) {
                Ok(Some(folder)) => {
                    complaints.extend(folder.check_access().err().map(|error| unusable(&path, &error)));
                    let known = project.map(|project| (store as &dyn ChannelStore, project));
                    complaints.extend(complaint(&passed_over(folder, channel, known, longest).await?, &path));
                }
                Ok(None) => {}
                Err(error) => complaints.push(unusable(&path, &error)),
            },
            None => complaints.push(FolderFinding {
                what: format!("'{}' cannot be a channel: its name has other characters, or too many", path.display()),
                todo: "Name it with 1 to 64 letters, digits, '-', '_' and '.'.",
            }),
        }
    }
    Ok(complaints)
}

fn unusable(path: &Path, error: &std::io::Error) -> FolderFinding {
    let what = format!("the folder '{}' cannot be used: {error}", path.display());
    FolderFinding { what, todo: "Let whoever runs Postrider read and write there." }
}

/// The files of a channel that nobody took in because they cannot be used.
async fn passed_over(
    folder: Folder,
    channel: ChannelName,
    known: Option<(&dyn ChannelStore, &Project)>,
    longest: usize,
) -> Result<Vec<(String, String)>, Error> {
    let mut found = Vec::new();
    let Ok(mut names) = folder.names() else { return Ok(found) };
    names.retain(|name| !name.starts_with('.') && name.ends_with(ENDING));
    names.sort();
    let (meant, odd): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| FileName::parse(name).is_some());
    for name in odd {
        found.push((name, format!("it is not named {}", FileName::FORM)));
    }
    let mut unknown = Vec::new();
    for chunk in meant.chunks(scanner::NAMES_AT_ONCE) {
        let stems: Vec<&str> = chunk.iter().map(|name| scanner::stem(name)).collect();
        let taken_in = match known {
            Some((store, project)) => store.known_keys(project.id, channel.as_str(), &stems).await?,
            None => Vec::new(),
        };
        let is_new = |name: &&String| !taken_in.iter().any(|key| key == scanner::stem(name));
        unknown.extend(chunk.iter().filter(is_new).cloned());
    }
    for name in unknown.into_iter().take(MOST_READ) {
        let why = match folder.read(&name, longest) {
            Ok(FolderEntry::Gone) => continue,
            Ok(FolderEntry::Unreadable(error, _)) | Err(error) => error.to_string(),
            Ok(FolderEntry::TooLarge(size, _)) => format!("it has {size} bytes; the limit is {longest}"),
            Ok(FolderEntry::Whole(bytes, _)) => {
                let reading = read(&bytes, Place { file: Some(&name), channel: Some(channel.as_str()) });
                match (reading.verdict, reading.problems.first()) {
                    (Verdict::Ok | Verdict::Warn, _) => continue,
                    (_, Some(problem)) => problem.to_string(),
                    (_, None) => "it is not whole".to_owned(),
                }
            }
        };
        found.push((name, why));
    }
    Ok(found)
}

fn complaint(passed_over: &[(String, String)], folder: &Path) -> Option<FolderFinding> {
    let (name, why) = passed_over.first()?;
    let count = if passed_over.len() == 1 { "1 file".to_owned() } else { format!("{} files", passed_over.len()) };
    let what = format!("{count} in '{}' cannot be used, such as '{name}': {why}", folder.display());
    Some(FolderFinding { what, todo: "Run postrider channel check FILE, and tell whoever writes them." })
}
